import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { freePort } from "../lib/processes/ports.js";
import { startSubject } from "../lib/processes/run-subject.js";
import { sluiceConfig } from "../lib/sluice-config.js";
import { spread } from "../lib/statistics.js";
import { show } from "../lib/table.js";

/**
 * Waiting times: from the start of the process until the subject's port is open, and for `sluice validate` on a valid
 * file, compared with Node's own start and exit.
 */
export const summary = "time from start to open port, and of `sluice validate`";

const POLL_MS = 1;
const CLI = fileURLToPath(new URL("../../bin/sluice.js", import.meta.url));

/** @param {import("../lib/bench.js").Bench} bench @returns {Promise<import("../lib/bench.js").Outcome>} */
export async function run(bench) {
  const times = bench.options.quick ? 3 : 9;
  const folder = await mkdtemp(join(tmpdir(), "bench-startup-"));
  try {
    const cases = await casesFor(bench, folder);
    /** @type {number[][]} */
    const measured = cases.map(() => []);
    for (let i = 0; i < times; i++) {
      for (const [k, { title, take }] of cases.entries()) {
        bench.progress.say(`startup: ${title}, ${i + 1} of ${times}`);
        measured[k].push(await take());
      }
    }
    return toOutcome(
      cases.map(({ title }) => title),
      measured,
    );
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** @returns {Promise<{ title: string, take(): Promise<number> }[]>} */
async function casesFor(/** @type {import("../lib/bench.js").Bench} */ bench, /** @type {string} */ folder) {
  const setting = { ...bench.setting, signal: bench.options.signal, encoding: /** @type {const} */ ("proto") };
  const cases = [{ title: "node -e 0", take: () => timeOf(["-e", "0"]) }];
  for (const subject of bench.options.subjects) {
    const take = async () => {
      const running = await startSubject(subject, setting, POLL_MS);
      await running.stop();
      return running.readyMs;
    };
    cases.push({ title: `${subject.name}: start to ready`, take });
  }
  if (!existsSync(CLI)) return cases;
  const config = join(folder, "sluice.yaml");
  const ports = { http: await freePort(), grpc: await freePort(), health: await freePort(), sink: setting.sink };
  await writeFile(config, sluiceConfig({ ...setting, ports, folder }));
  return [...cases, { title: "sluice validate", take: () => timeOf([CLI, "validate", "--config", config]) }];
}

/** Milliseconds that a Node process takes from start to exit; its exit code must be 0. */
async function timeOf(/** @type {string[]} */ args) {
  const started = performance.now();
  const child = spawn(process.execPath, args, { stdio: ["ignore", "ignore", "pipe"] });
  let errorOutput = "";
  child.stderr.on("data", (chunk) => (errorOutput += chunk));
  const [code] = await once(child, "close");
  if (code !== 0) throw new Error(`node ${args.join(" ")} ended with ${code}:\n${errorOutput}`);
  return performance.now() - started;
}

/** @returns {import("../lib/bench.js").Outcome} */
function toOutcome(/** @type {string[]} */ titles, /** @type {number[][]} */ measured) {
  const results = titles.map((title, k) => ({ scenario: "startup", title, ms: spread(measured[k]), all: measured[k] }));
  return {
    results,
    failures: [],
    tables: [
      {
        title: `startup: ${measured[0].length} times each, interleaved`,
        columns: ["", "median ms", "min", "max"],
        rows: results.map(({ title, ms }) => [title, show(ms?.median), show(ms?.min), show(ms?.max)]),
      },
    ],
  };
}

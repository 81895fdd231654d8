import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import http from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { CELLS } from "../components/cells.js";
import { DRIVERS } from "../components/drivers.js";
import { PAGE_SAMPLES, page, SCRAPE_SECONDS } from "../components/load.js";
import { freePort } from "../lib/processes/ports.js";
import { startRole } from "../lib/processes/role.js";
import { usageOf } from "../lib/processes/usage.js";
import { median } from "../lib/statistics.js";
import { show } from "../lib/table.js";
import { untilSeconds } from "../lib/until-seconds.js";

/**
 * Components one by one, each in a process of its own: microseconds of CPU a record, all threads counted. What they send
 * to, what scrapes them and what sends to them are other processes. Rounds of a cell are one after another; the best counts,
 * since everything that disturbs makes it longer, and the median is beside it.
 *
 * BENCH_CELLS chooses cells by a part of their names.
 */
export const summary =
  "components one by one: scraping, remote write, span_metrics, jaeger, zipkin, loki, in CPU a record";

/** @typedef {{ scenario: string, name: string, unit: string, usPerRecord: number, medianUs: number, mbPerCpuSecond?: number, longestBlockMs?: number, goal?: number, goalBlockMs?: number }} Row */

/** @param {import("../lib/bench.js").Bench} bench @returns {Promise<import("../lib/bench.js").Outcome>} */
export async function run(bench) {
  const { quick } = bench.options;
  const wanted = process.env["BENCH_CELLS"] ?? "";
  const target = await startTarget();
  /** @type {Row[]} */
  const results = [];
  try {
    for (const name of Object.keys(CELLS).filter((each) => each.includes(wanted))) {
      bench.progress.say(`components: ${name}`);
      results.push(await measure(name, { sink: bench.setting.sink, target: target.port }, quick));
      if (name.startsWith("prometheus receiver") && hasPrometheus()) {
        bench.progress.say("components: Prometheus itself");
        results.push(await measurePrometheus(target.port, quick));
      }
    }
  } finally {
    target.stop();
  }
  const failures = quick ? [] : results.flatMap(failureOf);
  return { results, failures, tables: [toTable(results)] };
}

function failureOf(
  /** @type {Row} */ { name, unit, usPerRecord, goal = Infinity, longestBlockMs = 0, goalBlockMs = Infinity },
) {
  return [
    ...(usPerRecord > goal ? [`components: ${name}: ${show(usPerRecord, 2)} us a ${unit}`] : []),
    ...(longestBlockMs > goalBlockMs ? [`components: ${name}: blocked for ${show(longestBlockMs)} ms`] : []),
  ];
}

/** @param {string} name @param {import("../components/cells.js").CellSetting} setting @param {boolean} quick @returns {Promise<Row>} */
async function measure(name, setting, quick) {
  const { unit, goal, goalBlockMs } = CELLS[name];
  const role = startRole(new URL("../roles/component.js", import.meta.url));
  try {
    const port = await role.call("start", { cell: name, setting });
    const drive = await DRIVERS[name]?.(port);
    const turns = (/** @type {number} */ seconds) =>
      drive === undefined ? role.call("turns", seconds) : untilSeconds(seconds, drive);
    await turns(quick ? 0.2 : 3);
    const rounds = [];
    for (let round = 0; round < (quick ? 1 : 5); round++) {
      const before = await role.call("usage");
      const records = await turns(quick ? 0.2 : 2);
      const after = await role.call("usage");
      rounds.push({ us: (after.cpuUs - before.cpuUs) / records, blockMs: after.longestBlockMs });
    }
    const times = rounds.map(({ us }) => us);
    return {
      scenario: "components",
      name,
      unit,
      usPerRecord: Math.min(...times),
      medianUs: median(times),
      ...(name.startsWith("prometheus receiver") && { mbPerCpuSecond: pageSpeed(Math.min(...times)) }),
      ...(goalBlockMs !== undefined && { longestBlockMs: median(rounds.map(({ blockMs }) => blockMs)), goalBlockMs }),
      ...(goal !== undefined && { goal }),
    };
  } finally {
    await role.stop();
  }
}

const pageSpeed = (/** @type {number} */ usPerSample) => page(PAGE_SAMPLES, 1).length / (usPerSample * PAGE_SAMPLES);

/** The target: its values are others at every scrape. */
async function startTarget() {
  const pages = Array.from({ length: 4 }, (_, turn) => page(PAGE_SAMPLES, turn));
  let scrapes = 0;
  const server = http.createServer((_, response) => {
    response.setHeader("content-type", "text/plain; version=0.0.4");
    response.end(pages[scrapes++ % pages.length]);
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  return {
    port: /** @type {any} */ (server.address()).port,
    stop: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

function hasPrometheus() {
  return spawnSync("prometheus", ["--version"]).error === undefined;
}

/** The real Prometheus, scraping the same target as often. @returns {Promise<Row>} */
async function measurePrometheus(/** @type {number} */ target, /** @type {boolean} */ quick) {
  const folder = mkdtempSync(join(tmpdir(), "sluice-bench-prometheus-"));
  const scrape = { job_name: "bench", static_configs: [{ targets: [`127.0.0.1:${target}`] }] };
  const global = { scrape_interval: `${SCRAPE_SECONDS}s`, scrape_timeout: `${SCRAPE_SECONDS}s` };
  writeFileSync(join(folder, "prometheus.yml"), JSON.stringify({ global, scrape_configs: [scrape] }));
  const listen = `--web.listen-address=127.0.0.1:${await freePort()}`;
  const files = [`--config.file=${folder}/prometheus.yml`, `--storage.tsdb.path=${folder}/data`];
  const child = spawn("prometheus", [...files, listen], { stdio: "ignore" });
  try {
    await wait(SCRAPE_SECONDS * 2000);
    const rounds = [];
    for (let round = 0; round < (quick ? 1 : 3); round++) {
      const before = (await usageOf(child))?.cpuUs ?? 0;
      await wait(SCRAPE_SECONDS * 2000);
      const us = ((await usageOf(child))?.cpuUs ?? 0) - before;
      rounds.push(us / (2 * PAGE_SAMPLES));
    }
    const [usPerRecord, medianUs] = [Math.min(...rounds), median(rounds)];
    return {
      scenario: "components",
      name: "  Prometheus itself, the same page",
      unit: "sample",
      usPerRecord,
      medianUs,
    };
  } finally {
    child.kill("SIGKILL");
    if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
    rmSync(folder, { recursive: true, force: true });
  }
}

/** @param {Row[]} results @returns {import("../lib/table.js").Table} */
function toTable(results) {
  const known = (/** @type {number | undefined} */ value, digits = 0) =>
    value === undefined ? "" : show(value, digits);
  return {
    title: "components: microseconds of CPU a record, all threads counted; and how long the event loop stood still",
    columns: ["component", "of a", "us, best", "median", "goal", "MB a CPU s", "longest block ms"],
    rows: results.map((row) => [
      row.name,
      row.unit,
      show(row.usPerRecord, 2),
      show(row.medianUs, 2),
      known(row.goal, 1),
      known(row.mbPerCpuSecond),
      known(row.longestBlockMs),
    ]),
  };
}

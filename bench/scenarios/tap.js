import { mkdtemp, rm } from "node:fs/promises";
import { get } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { concurrencyFor } from "../lib/cell.js";
import { measure, recordProblems } from "../lib/measure.js";
import { freePort } from "../lib/processes/ports.js";
import { startSubject } from "../lib/processes/run-subject.js";
import { monotonicUs, readProfile, shareOf } from "../lib/profile-share.js";
import { median, spread } from "../lib/statistics.js";
import { sluice } from "../lib/subjects.js";
import { show, showRatio } from "../lib/table.js";

/** The cost of watching: nothing, a tap, a tap with a condition that matches nothing, an open console. */
export const summary = "what an open tap, and an open console, add to passthrough: under 0.02 is the goal";

const TOKEN = "token-of-those-who-look-at-the-bench";
const HEADERS = { authorization: `Bearer ${TOKEN}` };
const GOAL = 0.02;
/** All work for watchers is called from this file of the build. */
const EXTENSION = "bundle/admin-api.js";

/** @type {Record<string, readonly { path: string, everyMs?: number }[]>} paths that are kept open, or asked again and again */
const LOOKS = {
  nobody: [],
  tap: [{ path: "/tap?at=otlp&rate=10&limit=1000000" }],
  "tap, a condition": [
    { path: `/tap?at=otlp&limit=1000000&where=${encodeURIComponent('attributes["is"] == "nowhere"')}` },
  ],
  // The requests of the console's pages: Pipelines keeps a stream of the rates per second open.
  console: [
    { path: "/live" },
    { path: "/exporters", everyMs: 2000 },
    { path: "/agent", everyMs: 5000 },
    { path: "/dead-letters/groups", everyMs: 10_000 },
  ],
};

/** @param {import("../lib/bench.js").Bench} bench @returns {Promise<import("../lib/bench.js").Outcome>} */
export async function run(bench) {
  const { options } = bench;
  const records = options.records.includes(100) ? 100 : options.records[0];
  const load = {
    signal: options.signal,
    encoding: options.encodings[0],
    records,
    concurrency: concurrencyFor(records),
    settle: options.settle,
  };
  /** @type {string[]} */
  const failures = [];
  /** @type {{ name: string, cpuUsPerRecord: number, added: ReturnType<typeof spread>, share: number }[]} */
  const added = [];
  for (const name of Object.keys(LOOKS)) {
    const { pairs, share } = await measurePairs(bench, name, load, failures);
    const seen = pairs.map((pair) => pair.looked.cpuUsPerRecord);
    const ratios = pairs.map(({ looked, alone }) => looked.cpuUsPerRecord / alone.cpuUsPerRecord - 1);
    added.push({ name, cpuUsPerRecord: median(seen), added: spread(ratios), share });
  }
  const table = {
    title: `tap: ${options.rounds} pairs of rounds of ${options.seconds} s, ${records} records a request`,
    columns: ["who looks", "CPU us/rec", "added (min-max)", "share", "goal"],
    rows: added.map((each) => {
      const goal = LOOKS[each.name].length === 0 ? "the noise" : `under ${GOAL}`;
      return [each.name, show(each.cpuUsPerRecord, 2), showRatio(each.added, 3), show(each.share, 4), goal];
    }),
    note: `added: CPU per record of an agent that is looked at, less that of the same agent alone, over that; median of the pairs. It is
worth no more than the row nobody. share: of the busy time of its main thread, while it is looked at, inside ${EXTENSION}.`,
  };
  return { tables: [table], results: added.map((each) => ({ scenario: "tap", goal: GOAL, ...each })), failures };
}

/**
 * Two processes of the same program differ by more than what is measured here, so one agent is watched and left alone
 * in turns. The agent that is not watched in either turn shows how accurate such a figure is on this machine.
 */
async function measurePairs(
  /** @type {import("../lib/bench.js").Bench} */ { roles, options, setting, progress },
  /** @type {string} */ name,
  /** @type {Omit<import("../lib/measure.js").Load, "seconds">} */ load,
  /** @type {string[]} */ failures,
) {
  const port = await freePort();
  const folder = await mkdtemp(join(tmpdir(), "bench-tap-"));
  // A console shows queues, so there is one; without fsync, so that the disk does not matter.
  const place = { ...load, ...setting, profile: folder, queue: { durability: "process" } };
  const running = await startSubject(withAdmin(name, port), /** @type {any} */ (place));
  /** @type {import("../lib/profile-share.js").Stretch[]} */
  const looked = [];
  const turn = async (/** @type {boolean} */ isLooked, /** @type {string} */ when, seconds = options.seconds) => {
    const end = isLooked ? await look(port, LOOKS[name]) : () => {};
    const fromUs = monotonicUs();
    const round = await measure(roles, running, { ...load, seconds });
    if (isLooked) looked.push({ fromUs, toUs: monotonicUs() });
    end();
    failures.push(...recordProblems(`${name}, ${isLooked ? "looked at" : "alone"}, ${when}`, round));
    return round;
  };
  try {
    for (const isLooked of [false, true]) await turn(isLooked, "warm-up", options.warmup);
    looked.length = 0;
    /** @type {Record<"alone" | "looked", import("../lib/measure.js").Round>[]} */
    const pairs = [];
    for (let i = 0; i < options.rounds; i++) {
      progress.say(`tap: ${name}, pair ${i + 1} of ${options.rounds}`);
      const first = await turn(i % 2 === 1, `pair ${i + 1}`);
      const second = await turn(i % 2 === 0, `pair ${i + 1}`);
      pairs.push(i % 2 === 1 ? { looked: first, alone: second } : { looked: second, alone: first });
    }
    await running.stop();
    const share = shareOf(await readProfile(folder), (url) => url.endsWith(EXTENSION), looked);
    return { pairs, share };
  } finally {
    await running.stop();
    await rm(folder, { recursive: true, force: true });
  }
}

/** The agent with its admin API on its own port. @returns {import("../lib/subjects.js").Subject} */
function withAdmin(/** @type {string} */ name, /** @type {number} */ port) {
  return {
    name,
    command(place) {
      const { files = {}, ...command } = sluice.command(place);
      const config = JSON.parse(/** @type {string} */ (files["sluice.yaml"]));
      const tokens = [{ name: "bench", token: TOKEN, roles: ["view", "reveal"] }];
      config.extensions.admin = { endpoint: `127.0.0.1:${port}`, tokens };
      config.service.extensions.push("admin");
      return { ...command, files: { "sluice.yaml": JSON.stringify(config) } };
    },
  };
}

/** Watches until told to end. Rejects when the agent refuses. @returns {Promise<() => void>} */
async function look(/** @type {number} */ port, /** @type {readonly { path: string, everyMs?: number }[]} */ looks) {
  /** @type {import("node:http").ClientRequest[]} */
  const open = [];
  /** @type {NodeJS.Timeout[]} */
  const timers = [];
  for (const { path, everyMs } of looks) {
    const url = `http://127.0.0.1:${port}/api/v1${path}`;
    if (everyMs === undefined) open.push(await keepOpen(url));
    else timers.push(setInterval(() => get(url, { headers: HEADERS }, (answer) => answer.resume()), everyMs));
  }
  return () => {
    for (const timer of timers) clearInterval(timer);
    for (const request of open) request.destroy();
  };
}

/** @returns {Promise<import("node:http").ClientRequest>} */
function keepOpen(/** @type {string} */ url) {
  return new Promise((resolve, reject) => {
    const request = get(url, { headers: HEADERS }, (answer) => {
      if (answer.statusCode !== 200) reject(new Error(`${url} answers ${answer.statusCode}`));
      answer.on("error", () => {}).resume();
      resolve(request);
    });
    request.on("error", reject);
  });
}

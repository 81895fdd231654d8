import { get } from "node:http";
import { concurrencyFor, runCell } from "../lib/cell.js";
import { freePort } from "../lib/processes/ports.js";
import { spread } from "../lib/statistics.js";
import { sluice } from "../lib/subjects.js";
import { show, showRatio } from "../lib/table.js";

/** What those cost who look: nobody, a tap, a tap with a condition that finds nothing, an open console. */
export const summary = "what an open tap, and an open console, add to passthrough: under 0.02 is the goal";

const TOKEN = "token-of-those-who-look-at-the-bench";
const HEADERS = { authorization: `Bearer ${TOKEN}` };
const GOAL = 0.02;

/** @type {Record<string, readonly { path: string, everyMs?: number }[]>} paths that are kept open, or asked again and again */
const LOOKS = {
  nobody: [],
  tap: [{ path: "/tap?at=otlp&rate=10&limit=1000000" }],
  "tap, a condition": [
    { path: `/tap?at=otlp&limit=1000000&where=${encodeURIComponent('attributes["is"] == "nowhere"')}` },
  ],
  // As the pages of the console ask: Pipelines keeps the rates of each second open.
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
  const cell = { encoding: options.encodings[0], records, concurrency: concurrencyFor(records) };
  /** @type {Map<string, number>} */
  const admins = new Map();
  for (const name of Object.keys(LOOKS)) admins.set(name, await freePort());
  const { results, failures } = await runCell(bench, "tap", cell, {
    // A console shows queues, so there is one; it is off the disk's way.
    place: { queue: { durability: "process" } },
    subjects: Object.keys(LOOKS).map((name) => withAdmin(name, /** @type {number} */ (admins.get(name)))),
    baseline: "nobody",
    watch: async ({ name }) => look(/** @type {number} */ (admins.get(name)), LOOKS[name]),
  });
  const [nobody, ...others] = results;
  const added = others.map((each) => ({
    name: each.subject,
    cpuUsPerRecord: each.cpuUsPerRecord,
    added: spread(each.rounds.map((round, i) => round.cpuUsPerRecord / nobody.rounds[i].cpuUsPerRecord - 1)),
  }));
  const table = {
    title: `tap: ${options.rounds} rounds of ${options.seconds} s, ${records} records a request`,
    columns: ["who looks", "CPU us/rec", "added / nobody (min-max)", "goal"],
    rows: [
      ["nobody", show(nobody.cpuUsPerRecord, 2), "", ""],
      ...added.map((each) => [each.name, show(each.cpuUsPerRecord, 2), showRatio(each.added), `under ${GOAL}`]),
    ],
    note: "added: CPU per record of an agent that is looked at, less that of one that is not, over that; median of the rounds.",
  };
  return { tables: [table], results: added.map((each) => ({ scenario: "tap", goal: GOAL, ...each })), failures };
}

/** The agent with its admin API on a port of its own. @returns {import("../lib/subjects.js").Subject} */
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

/** Looks until told to end. Rejects when the agent does not let it. @returns {Promise<() => void>} */
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

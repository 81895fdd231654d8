import { concurrencyFor, runCell } from "../lib/cell.js";
import { spread } from "../lib/statistics.js";
import { sluice, sluiceWith } from "../lib/subjects.js";
import { show, showRatio } from "../lib/table.js";

/**
 * What the processor `pii` adds, all detectors on: the agent with and without it in the same rounds, on records of which
 * none, one in a hundred and all hold something personal.
 */
export const summary = "what the processor pii adds to passthrough: clean records, 1 % and 100 % with a hit";

const LOADS = /** @type {const} */ ([
  { name: "clean", hits: 0, goal: 1.5 },
  { name: "1 % hits", hits: 10, goal: 1.5 },
  { name: "100 % hits", hits: 1000, goal: 3 },
]);

/** @param {import("../lib/bench.js").Bench} bench @returns {Promise<import("../lib/bench.js").Outcome>} */
export async function run(bench) {
  const { options } = bench;
  /** @type {import("../lib/bench.js").Outcome} */
  const outcome = { tables: [], results: [], failures: [] };
  const subjects = [sluice, sluiceWith("pii", { pii: {} })];
  const records = options.records.includes(100) ? 100 : options.records[0];
  for (const { name, hits, goal } of LOADS) {
    const cell = { encoding: options.encodings[0], records, concurrency: concurrencyFor(records), hits };
    const { results, failures } = await runCell(bench, "pii", cell, { subjects, baseline: "sluice" });
    outcome.failures.push(...failures.map((failure) => `${name}: ${failure}`));
    const [without, with_] = results;
    const added = spread(with_.rounds.map((round, i) => round.cpuUsPerRecord / without.rounds[i].cpuUsPerRecord - 1));
    outcome.results.push({ load: name, goal, added, without, with: with_, scenario: "pii" });
  }
  outcome.tables.push(toTable(outcome.results, options));
  return outcome;
}

/** @returns {import("../lib/table.js").Table} */
function toTable(/** @type {any[]} */ results, /** @type {import("../lib/options.js").Options} */ { rounds, seconds }) {
  return {
    title: `pii, logs: ${rounds} rounds of ${seconds} s, all detectors on`,
    columns: ["records", "without, CPU us/rec", "with", "added / without (min-max)", "goal"],
    rows: results.map(({ load, without, with: with_, added, goal }) => [
      load,
      show(without.cpuUsPerRecord, 2),
      show(with_.cpuUsPerRecord, 2),
      showRatio(added),
      `under ${goal}`,
    ]),
    note: "added: CPU per record of the agent with pii, less that of the agent without, over that; median of the rounds.",
  };
}

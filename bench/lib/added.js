import { concurrencyFor, runCell } from "./cell.js";
import { spread } from "./statistics.js";
import { sluice, sluiceWith } from "./subjects.js";
import { show, showRatio } from "./table.js";

/**
 * Measures what processors add to passthrough: the agent with and without them, under the same load in the same rounds.
 *
 * @typedef {{ name: string, signal: import("./load/records.js").Signal, processors: Record<string, object>, goal?: number,
 *   hits?: number }} Case hits: of a thousand records, how many have personal data, `THREE_IN_EACH` or `NUMBER_IN_EACH`; goal: added CPU per record over that of the agent without
 *
 * @param {import("./bench.js").Bench} bench @param {string} scenario @param {Case[]} cases
 * @returns {Promise<import("./bench.js").Outcome>}
 */
export async function measureAdded(bench, scenario, cases) {
  const { options } = bench;
  /** @type {import("./bench.js").Outcome} */
  const outcome = { tables: [], results: [], failures: [] };
  const records = options.records.includes(100) ? 100 : options.records[0];
  for (const { name, signal, processors, goal, hits = 0 } of cases) {
    const cell = { encoding: options.encodings[0], records, concurrency: concurrencyFor(records), hits };
    const subjects = [sluice, sluiceWith(name, processors)];
    const own = { ...bench, options: { ...options, signal } };
    const { results, failures } = await runCell(own, scenario, cell, { subjects, baseline: "sluice" });
    const [without, with_] = results;
    const added = spread(with_.rounds.map((round, i) => round.cpuUsPerRecord / without.rounds[i].cpuUsPerRecord - 1));
    outcome.results.push({ scenario, case: name, signal, goal, added, without, with: with_ });
    outcome.failures.push(...failures);
  }
  outcome.tables.push(toTable(scenario, outcome.results, options));
  return outcome;
}

/** @returns {import("./table.js").Table} */
function toTable(
  /** @type {string} */ scenario,
  /** @type {any[]} */ results,
  /** @type {import("./options.js").Options} */ { rounds, seconds },
) {
  return {
    title: `${scenario}: ${rounds} rounds of ${seconds} s`,
    columns: ["case", "signal", "without, CPU us/rec", "with", "added / without (min-max)", "goal"],
    rows: results.map(({ case: name, signal, without, with: with_, added, goal }) => [
      name,
      signal,
      show(without.cpuUsPerRecord, 2),
      show(with_.cpuUsPerRecord, 2),
      showRatio(added),
      goal === undefined ? "" : `under ${goal}`,
    ]),
    note: "added: CPU per record of the agent with the processor, less that without, over that; median of the rounds.",
  };
}

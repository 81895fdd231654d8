import { concurrencyFor, runCell } from "../lib/cell.js";
import { sluice, sluiceWith } from "../lib/subjects.js";
import { show, showRatio } from "../lib/table.js";

/**
 * What samplers cost: the agent of `passthrough` with a sampler in its pipeline, against the agent without. All keep
 * everything, and all but the first write on every record why: what a sampler drops makes the rest of the way cheaper,
 * and would hide what it costs itself.
 */
export const summary = "passthrough with a sampler that keeps all, against passthrough";

/** By the trace id; log records of the benchmark have none, and are decided by an attribute. */
const SOURCE = { traces: {}, logs: { attribute_source: "record", from_attribute: "bench.record" } };
const ABOVE_ALL = { tiers: [{ above: 1, rate: 1 - 2 ** -53 }] };

/** @returns {import("../lib/subjects.js").Subject[]} */
function subjectsFor(/** @type {"logs" | "traces"} */ signal) {
  const all = { sampling_percentage: 100, ...SOURCE[signal] };
  return [
    sluice,
    sluiceWith("probabilistic", { probabilistic_sampler: all }),
    sluiceWith("adaptive, idle", { adaptive_sampling: { load: { enabled: false } } }),
    sluiceWith("adaptive, loaded", { adaptive_sampling: { load: ABOVE_ALL } }),
  ];
}

/** @param {import("../lib/bench.js").Bench} bench @returns {Promise<import("../lib/bench.js").Outcome>} */
export async function run(bench) {
  /** @type {import("../lib/bench.js").Outcome} */
  const outcome = { tables: [], results: [], failures: [] };
  const { signal } = bench.options;
  if (signal === "metrics") throw new Error("metrics are not sampled: --signal logs or traces");
  const subjects = subjectsFor(signal);
  for (const encoding of bench.options.encodings) {
    for (const records of bench.options.records) {
      const cell = { encoding, records, concurrency: bench.options.concurrency ?? concurrencyFor(records) };
      const { results, failures } = await runCell(bench, "sampling", cell, { baseline: "sluice", subjects });
      outcome.results.push(...results);
      outcome.failures.push(...failures);
    }
  }
  outcome.tables.push(toTable(outcome.results, bench));
  return outcome;
}

/** @returns {import("../lib/table.js").Table} */
function toTable(/** @type {any[]} */ results, /** @type {import("../lib/bench.js").Bench} */ { options }) {
  return {
    title: `sampling, ${options.signal}: ${options.rounds} rounds of ${options.seconds} s`,
    columns: ["subject", "encoding", "rec/req", "records/s", "CPU us/rec", "ratio (min-max)", "delivered"],
    rows: results.map((row) => [
      row.subject,
      row.encoding,
      show(row.records),
      show(row.recordsPerSecond),
      show(row.cpuUsPerRecord, 2),
      showRatio(row.cpuRatio),
      row.delivered === row.acknowledged ? "all" : `${show(row.delivered)} of ${show(row.acknowledged)}`,
    ]),
    note: "ratio: CPU per record over the agent's without a sampler in the same round; median of the rounds.",
  };
}

import { concurrencyFor, runCell } from "../lib/cell.js";
import { mib, show, showRatio } from "../lib/table.js";

/** The cost of moving telemetry: otlp -> batch -> otlphttp, queue off, compared with the bare forwarder. */
export const summary = "otlp -> batch -> otlphttp without a queue, against the bare forwarder";

/** @param {import("../lib/bench.js").Bench} bench @returns {Promise<import("../lib/bench.js").Outcome>} */
export async function run(bench) {
  /** @type {import("../lib/bench.js").Outcome} */
  const outcome = { tables: [], results: [], failures: [] };
  for (const encoding of bench.options.encodings) {
    for (const records of bench.options.records) {
      const cell = { encoding, records, concurrency: bench.options.concurrency ?? concurrencyFor(records) };
      const { results, failures } = await runCell(bench, "passthrough", cell);
      outcome.results.push(...results);
      outcome.failures.push(...failures);
    }
  }
  outcome.tables.push(toTable(outcome.results, bench));
  return outcome;
}

const COLUMNS =
  "subject,encoding,rec/req,records/s,CPU us/rec,ratio (min-max),p50 ms,p99 ms,out/in,RSS MiB,anon MiB,refused,delivered";

/** @returns {import("../lib/table.js").Table} */
function toTable(/** @type {any[]} */ results, /** @type {import("../lib/bench.js").Bench} */ { options }) {
  const { timeout, size } = options.batch;
  return {
    title: `passthrough, ${options.signal}: ${options.rounds} rounds of ${options.seconds} s, batch ${size}/${timeout}`,
    columns: COLUMNS.split(","),
    rows: results.map((row) => [
      row.subject,
      row.encoding,
      show(row.records),
      show(row.recordsPerSecond),
      show(row.cpuUsPerRecord, 2),
      showRatio(row.cpuRatio),
      show(row.p50Ms, 1),
      show(row.p99Ms, 1),
      show(row.requestsOutPerIn, 2),
      mib(row.peakRssBytes),
      mib(row.peakRssAnonBytes),
      show(row.refused + row.failed),
      row.delivered === row.acknowledged ? "all" : `${show(row.delivered)} of ${show(row.acknowledged)}`,
    ]),
    note: "ratio: CPU per record over the bare forwarder's in the same round; median of the rounds.",
  };
}

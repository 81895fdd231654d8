import { concurrencyFor, runCell } from "./cell.js";
import { mib, show, showRatio } from "./table.js";

/**
 * otlp -> batch -> otlphttp with every batch on disk before its client is answered, compared with the bare forwarder
 * that writes to the same kind of store. After the rounds at full load, one at half load measures latencies.
 *
 * @param {import("./bench.js").Bench} bench @param {string} scenario @param {"fsync" | "process"} durability
 * @returns {Promise<import("./bench.js").Outcome>}
 */
export async function runDurable(bench, scenario, durability) {
  /** @type {import("./bench.js").Outcome} */
  const outcome = { tables: [], results: [], failures: [] };
  const encoding = /** @type {const} */ ("proto");
  for (const records of bench.options.records) {
    const cell = { encoding, records, concurrency: bench.options.concurrency ?? concurrencyFor(records) };
    const place = { queue: { durability, exporter: PATIENT } };
    const { results, failures } = await runCell(bench, scenario, cell, { place, halfLoad: true });
    outcome.results.push(...results);
    outcome.failures.push(...failures);
  }
  outcome.tables.push(toTable(outcome.results, bench, scenario, durability));
  return outcome;
}

/** A long timeout, because the generator takes CPU from the sink: a slow response must not cause a second send. */
export const PATIENT = { timeout: "60s" };

const COLUMNS =
  "subject,rec/req,records/s,delivered/s,CPU us/rec,ratio (min-max),p50 ms,p99 ms,half: p50,half: p99,out/in,RSS MiB,anon MiB,refused,delivered";

/** @returns {import("./table.js").Table} */
function toTable(
  /** @type {any[]} */ results,
  /** @type {import("./bench.js").Bench} */ { options },
  /** @type {string} */ scenario,
  /** @type {string} */ durability,
) {
  const { timeout, size } = options.batch;
  return {
    title: `${scenario}, durability ${durability}, ${options.signal}: ${options.rounds} rounds of ${options.seconds} s, batch ${size}/${timeout}`,
    columns: COLUMNS.split(","),
    rows: results.map((row) => [
      row.subject,
      show(row.records),
      show(row.recordsPerSecond),
      show(row.deliveredPerSecond),
      show(row.cpuUsPerRecord, 2),
      showRatio(row.cpuRatio),
      show(row.p50Ms, 1),
      show(row.p99Ms, 1),
      show(row.halfLoad?.p50Ms, 1),
      show(row.halfLoad?.p99Ms, 1),
      show(row.requestsOutPerIn, 2),
      mib(row.peakRssBytes),
      mib(row.peakRssAnonBytes),
      show(row.refused + row.failed),
      row.delivered === row.acknowledged ? "all" : `${show(row.delivered)} of ${show(row.acknowledged)}`,
    ]),
    note: "ratio: CPU per record, delivery included, over the bare forwarder's with the same store in the same round.",
  };
}

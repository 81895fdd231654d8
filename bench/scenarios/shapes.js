import { runCell } from "../lib/cell.js";
import { PATIENT } from "../lib/durable.js";
import { spread } from "../lib/statistics.js";
import { withBatching } from "../lib/subjects.js";
import { show, showRatio } from "../lib/table.js";

/**
 * Typical shapes of load: few connections with one request at a time each, small and large requests, with and without
 * `batch: {}` in the config, fsynced before the answer or not. All forms of all subjects alternate within a shape. Each
 * has two ratios: to the bare forwarder of the same form (one to one, or merging), and to itself without `batch`.
 */
export const summary = "the shapes users have: clients x records, with and without batch, durable and not";

const BATCH = "+batch";

/** @param {import("../lib/bench.js").Bench} bench @returns {Promise<import("../lib/bench.js").Outcome>} */
export async function run(bench) {
  const { options } = bench;
  /** @type {import("../lib/bench.js").Outcome} */
  const outcome = { tables: [], results: [], failures: [] };
  const shapes = options.queues.flatMap((queue) =>
    options.clients.flatMap((clients) => options.records.map((records) => ({ queue, clients, records }))),
  );
  const subjects = subjectsOf(options);
  for (const [i, { queue, clients, records }] of shapes.entries()) {
    const cell = { encoding: /** @type {const} */ ("proto"), records, concurrency: clients };
    const place = { client: options.client, ...(queue === "durable" ? { queue: DURABLE } : {}) };
    const variation = { place, subjects, baseline: bareOf };
    const title = `shapes, ${i + 1} of ${shapes.length}, queue ${queue}`;
    const { results, failures } = await runCell(bench, title, cell, variation);
    outcome.failures.push(...failures.map((failure) => `queue ${queue}, ${failure}`));
    outcome.results.push(
      ...results.map((row) => ({ ...row, scenario: "shapes", clients, queue, ...againstWithout(row, results) })),
    );
  }
  outcome.tables.push(toTable(outcome.results, options));
  return outcome;
}

const DURABLE = { durability: /** @type {const} */ ("fsync"), exporter: PATIENT };

/** Every subject without and with batch, if it has both forms and they were requested. */
function subjectsOf(/** @type {import("../lib/options.js").Options} */ { batching, subjects }) {
  return batching.flatMap((form, i) =>
    subjects.filter(({ ignoresBatching }) => i === 0 || !ignoresBatching).map((one) => withForm(one, form)),
  );
}

function withForm(
  /** @type {import("../lib/subjects.js").Subject} */ subject,
  /** @type {import("../lib/subjects.js").Batching} */ form,
) {
  return subject.ignoresBatching ? subject : withBatching(subject, form);
}

/** The bare forwarder of the same form as the subject: merging, or one to one. */
function bareOf(/** @type {string} */ name) {
  return name.endsWith(BATCH) ? `bare${BATCH}` : "bare";
}

/** The cost of `batch` in the config: ratios to the same subject without it, round by round. */
function againstWithout(/** @type {any} */ row, /** @type {any[]} */ results) {
  const without = results.find(({ subject }) => `${subject}${BATCH}` === row.subject);
  const ratio = (/** @type {string} */ key) =>
    without === undefined
      ? null
      : spread(
          row.rounds.map((/** @type {any} */ round, /** @type {number} */ i) => round[key] / without.rounds[i][key]),
        );
  return { batchThroughputRatio: ratio("recordsPerSecond"), batchP50Ratio: ratio("p50Ms") };
}

const COLUMNS =
  "clients x records,queue,subject,records/s,p50 ms,p99 ms,CPU us/rec,us/req,CPU / bare (min-max),rec/s / bare,batch: rec/s / without,p50 / without,out/in,refused,delivered";

/** @returns {import("../lib/table.js").Table} */
function toTable(/** @type {any[]} */ results, /** @type {import("../lib/options.js").Options} */ options) {
  return {
    title: `shapes, ${options.signal}: ${options.rounds} rounds of ${options.seconds} s, protobuf, bare forwarder with ${options.client}`,
    columns: COLUMNS.split(","),
    rows: results.map((row) => [
      `${row.clients} x ${row.records}`,
      row.queue,
      row.subject,
      show(row.recordsPerSecond),
      show(row.p50Ms, 2),
      show(row.p99Ms, 1),
      show(row.cpuUsPerRecord, 2),
      show(row.cpuUsPerRecord * row.records),
      showRatio(row.cpuRatio),
      show(row.throughputRatio?.median, 2),
      show(row.batchThroughputRatio?.median, 2),
      show(row.batchP50Ratio?.median, 2),
      show(row.requestsOutPerIn, 2),
      show(row.refused + row.failed),
      row.delivered === row.acknowledged ? "all" : `${show(row.delivered)} of ${show(row.acknowledged)}`,
    ]),
    note: "bare: one to one for subjects without batch, bare+batch (merging) for those with it; ratios of the same round, medians.",
  };
}

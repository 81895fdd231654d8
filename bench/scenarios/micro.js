import { median } from "../lib/statistics.js";
import { show } from "../lib/table.js";
import { BASELINE, cases } from "../micro.js";

/**
 * Work on the bytes of batches, in this process: nanoseconds per record, and as a ratio to copying the batch.
 *
 * Cases alternate many times; the best time of each counts, because every disturbance makes it longer.
 */
export const summary = "the telemetry room in nanoseconds per record, against copying the batch";

const RECORDS = 100;
const SAMPLE_MS = 2;

/** @param {import("../lib/bench.js").Bench} bench @returns {Promise<import("../lib/bench.js").Outcome>} */
export async function run(bench) {
  const turns = bench.options.quick ? 10 : 150;
  const all = cases(RECORDS);
  const failures = all
    .filter(({ run, expect }) => expect?.(run()) === false)
    .map(({ name }) => `micro: ${name}: wrong result`);
  const times = all.map(({ run }) => timesFor(run));
  /** @type {number[][]} */
  const samples = all.map(() => []);
  for (let turn = 0; turn < turns; turn++) {
    bench.progress.say(`micro: turn ${turn + 1} of ${turns}`);
    for (const [i, { run }] of all.entries()) samples[i].push(timeOf(run, times[i]) / RECORDS);
  }
  const best = samples.map((list) => Math.min(...list));
  const baseline = best[all.findIndex(({ name }) => name === BASELINE)];
  const results = all.map(({ name }, i) => ({
    scenario: "micro",
    name,
    nsPerRecord: best[i],
    medianNsPerRecord: median(samples[i]),
    ratio: best[i] / baseline,
  }));
  return { results, failures, tables: [toTable(results, turns)] };
}

/** @type {unknown} */
let answer;

/** Duration of one call in nanoseconds. */
function timeOf(/** @type {() => unknown} */ run, /** @type {number} */ times) {
  const start = process.hrtime.bigint();
  for (let i = 0; i < times; i++) answer = run();
  const took = Number(process.hrtime.bigint() - start);
  if (answer === null) throw new Error("a case answers something");
  return took / times;
}

/** How many calls fill a sample, once the code is warm. */
function timesFor(/** @type {() => unknown} */ run) {
  for (let i = 0; i < 20; i++) timeOf(run, 10);
  return Math.max(1, Math.round((SAMPLE_MS * 1e6) / timeOf(run, 20)));
}

/** @returns {import("../lib/table.js").Table} */
function toTable(
  /** @type {{ name: string, nsPerRecord: number, medianNsPerRecord: number, ratio: number }[]} */ results,
  /** @type {number} */ turns,
) {
  return {
    title: `micro: a batch of ${RECORDS} log records of 343 bytes with 10 attributes, best of ${turns}`,
    columns: ["", "ns/record", "median", "ratio to copy"],
    rows: results.map((row) => [row.name, show(row.nsPerRecord), show(row.medianNsPerRecord), show(row.ratio, 1)]),
  };
}

import { measure, recordProblems } from "../lib/measure.js";
import { startSubject } from "../lib/run-subject.js";
import { median, spread } from "../lib/statistics.js";
import { mib, show, showRatio } from "../lib/table.js";

/**
 * What moving telemetry costs: otlp -> batch -> otlphttp, queue off, against the bare forwarder.
 *
 * A cell is an encoding and a number of records a request. All subjects of a cell run at the same time, and take turns
 * under load round by round, in changing order, so that what happens to the machine happens to all of them.
 */
export const summary = "otlp -> batch -> otlphttp without a queue, against the bare forwarder";

/** Enough requests under way to keep a subject busy; small requests need more of them. */
const CONCURRENCY = (/** @type {number} */ records) => (records < 10 ? 64 : records < 500 ? 32 : 8);

/** @param {import("../lib/bench.js").Bench} bench @returns {Promise<import("../lib/bench.js").Outcome>} */
export async function run(bench) {
  /** @type {import("../lib/bench.js").Outcome} */
  const outcome = { tables: [], results: [], failures: [] };
  for (const encoding of bench.options.encodings) {
    for (const records of bench.options.records) {
      const cell = { encoding, records, concurrency: bench.options.concurrency ?? CONCURRENCY(records) };
      const { results, failures } = await runCell(bench, cell);
      outcome.results.push(...results);
      outcome.failures.push(...failures);
    }
  }
  outcome.tables.push(toTable(outcome.results, bench));
  return outcome;
}

/** @typedef {{ encoding: import("../lib/supply.js").Encoding, records: number, concurrency: number }} Cell */

async function runCell(/** @type {import("../lib/bench.js").Bench} */ bench, /** @type {Cell} */ cell) {
  const { options } = bench;
  const load = { ...cell, signal: options.signal, settle: options.settle };
  /** @type {import("../lib/run-subject.js").Running[]} */
  const running = [];
  /** @type {Map<string, import("../lib/measure.js").Round[]>} */
  const rounds = new Map();
  const failures = [];
  try {
    for (const subject of options.subjects.filter((one) => !one.skips?.(cell.encoding))) {
      const one = await startSubject(subject, { ...load, ...bench.setting });
      running.push(one);
      rounds.set(one.name, []);
      const warmup = await measure(bench.roles, one, { ...load, seconds: options.warmup });
      failures.push(...recordProblems(titleOf(one.name, cell, "warm-up"), warmup));
    }
    for (let i = 0; i < options.rounds; i++) {
      for (const one of i % 2 === 0 ? running : [...running].reverse()) {
        bench.progress.say(`passthrough: ${titleOf(one.name, cell, `round ${i + 1} of ${options.rounds}`)}`);
        const round = await measure(bench.roles, one, { ...load, seconds: options.seconds });
        failures.push(...recordProblems(titleOf(one.name, cell, `round ${i + 1}`), round));
        rounds.get(one.name)?.push(round);
      }
    }
  } finally {
    for (const one of running) await one.stop();
  }
  return { results: [...rounds].map(([name, list]) => summarise(name, list, rounds, cell, options.signal)), failures };
}

/** One subject in one cell: medians of its rounds, and ratios to the baseline round by round. */
function summarise(
  /** @type {string} */ subject,
  /** @type {import("../lib/measure.js").Round[]} */ rounds,
  /** @type {Map<string, import("../lib/measure.js").Round[]>} */ all,
  /** @type {Cell} */ cell,
  /** @type {string} */ signal,
) {
  const of = (/** @type {string} */ key) => spread(rounds.map((round) => round[key]))?.median ?? null;
  const ratio = (/** @type {string} */ key) =>
    spread(rounds.map((round, i) => round[key] / (all.get("bare")?.[i]?.[key] ?? Number.NaN)));
  const total = (/** @type {string} */ key) => rounds.reduce((sum, round) => sum + round[key], 0);
  return {
    scenario: "passthrough",
    subject,
    signal,
    ...cell,
    recordsPerSecond: of("recordsPerSecond"),
    cpuUsPerRecord: of("cpuUsPerRecord"),
    cpuRatio: ratio("cpuUsPerRecord"),
    throughputRatio: ratio("recordsPerSecond"),
    p50Ms: of("p50Ms"),
    p99Ms: of("p99Ms"),
    requestsOutPerIn: median(rounds.map((round) => round.requestsOut / round.requests)),
    peakRssBytes: spread(rounds.map((round) => round.peakRssBytes))?.max ?? null,
    peakRssAnonBytes: spread(rounds.map((round) => round.peakRssAnonBytes))?.max ?? null,
    acknowledged: total("acknowledged"),
    delivered: total("delivered"),
    lost: total("lost"),
    refused: total("refused"),
    failed: total("failed"),
    rounds: rounds.map(({ samples, ...round }) => round),
  };
}

function titleOf(/** @type {string} */ subject, /** @type {Cell} */ cell, /** @type {string} */ when) {
  return `${subject}, ${cell.encoding}, ${cell.records} records a request, ${when}`;
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

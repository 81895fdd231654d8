import { measure, recordProblems } from "./measure.js";
import { startSubject } from "./processes/run-subject.js";
import { median, spread } from "./statistics.js";

/**
 * A cell is an encoding and a number of records per request. All subjects of a cell run at the same time and take turns
 * under load, in changing order, so that disturbances of the machine affect all of them.
 *
 * @typedef {{ encoding: import("./load/supply.js").Encoding, records: number, concurrency: number, hits?: number }} Cell
 * @typedef {import("./measure.js").Round} Round
 * @typedef {Map<string, Round[]>} Rounds by name of the subject
 * @typedef {{ place?: Pick<import("./subjects.js").Place, "queue" | "client">, baseline?: string | ((name: string) => string),
 *   subjects?: import("./subjects.js").Subject[], halfLoad?: boolean }} Variation what differs from
 *   passthrough; halfLoad: latencies at half of what was reached are measured too; a baseline may be another one for each
 *   subject
 */

/** Enough concurrent requests to keep a subject busy; small requests need more. */
export function concurrencyFor(/** @type {number} */ records) {
  return records < 10 ? 64 : records < 500 ? 32 : 8;
}

/** With fewer clients the code would not get hot during the warm-up, and Node's interpreter would be measured. */
const MIN_WARMUP_CLIENTS = 16;

/** The load of a warm-up. @template {{ concurrency: number }} T @param {T} load @returns {T} */
export function warmingUp(load) {
  return { ...load, concurrency: Math.max(load.concurrency, MIN_WARMUP_CLIENTS) };
}

/**
 * Returns the results, one per subject, and failures.
 *
 * @param {import("./bench.js").Bench} bench @param {string} scenario @param {Cell} cell @param {Variation} variation
 */
export async function runCell(bench, scenario, cell, variation = {}) {
  const { options } = bench;
  const { place = {}, baseline = "bare", subjects, halfLoad = false } = variation;
  const load = { ...cell, signal: options.signal, settle: options.settle };
  /** @type {import("./processes/run-subject.js").Running[]} */
  const running = [];
  /** @type {Rounds} */
  const rounds = new Map();
  /** @type {Rounds} */
  const halves = new Map();
  const failures = [];
  try {
    for (const subject of (subjects ?? options.subjects).filter((one) => !one.skips?.(cell.encoding))) {
      const one = await startSubject(subject, { ...load, ...bench.setting, ...place });
      running.push(one);
      rounds.set(one.name, []);
      const warmup = await measure(bench.roles, one, { ...warmingUp(load), seconds: options.warmup });
      failures.push(...recordProblems(titleOf(one.name, cell, "warm-up"), warmup));
    }
    for (let i = 0; i < options.rounds; i++) {
      for (const one of i % 2 === 0 ? running : [...running].reverse()) {
        const title = titleOf(one.name, cell, `round ${i + 1}`);
        bench.progress.say(`${scenario}: ${title} of ${options.rounds}`);
        const round = await measure(bench.roles, one, { ...load, seconds: options.seconds });
        failures.push(...recordProblems(title, round));
        rounds.get(one.name)?.push(round);
      }
    }
    if (halfLoad) {
      for (const one of running) {
        const title = titleOf(one.name, cell, "half load");
        bench.progress.say(`${scenario}: ${title}`);
        const rate = median((rounds.get(one.name) ?? []).map((round) => round.recordsPerSecond)) / cell.records / 2;
        const round = await measure(bench.roles, one, { ...load, rate, seconds: options.seconds * 2 });
        failures.push(...recordProblems(title, round));
        halves.set(one.name, [round]);
      }
    }
  } finally {
    for (const one of running) await one.stop();
  }
  const results = [...rounds].map(([name, list]) => ({
    scenario,
    subject: name,
    signal: options.signal,
    ...cell,
    ...summarise(list, rounds.get(typeof baseline === "string" ? baseline : baseline(name))),
    ...atHalfLoad(halves.get(name)?.[0]),
  }));
  return { results, failures };
}

/** Medians of a subject's rounds, and its ratios to the baseline in each round. */
function summarise(/** @type {Round[]} */ rounds, /** @type {Round[] | undefined} */ baseline) {
  const of = (/** @type {string} */ key) => spread(rounds.map((round) => round[key]))?.median ?? null;
  const ratio = (/** @type {string} */ key) =>
    spread(rounds.map((round, i) => round[key] / (baseline?.[i]?.[key] ?? Number.NaN)));
  const total = (/** @type {string} */ key) => rounds.reduce((sum, round) => sum + round[key], 0);
  return {
    recordsPerSecond: of("recordsPerSecond"),
    deliveredPerSecond: of("deliveredPerSecond"),
    behindMs: of("behindMs"),
    cpuUsPerRecord: of("cpuUsPerRecord"),
    cpuRatio: ratio("cpuUsPerRecord"),
    throughputRatio: ratio("recordsPerSecond"),
    deliveryRatio: ratio("deliveredPerSecond"),
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

function atHalfLoad(/** @type {Round | undefined} */ round) {
  if (round === undefined) return {};
  const { p50Ms, p99Ms, recordsPerSecond, withheld } = round;
  return { halfLoad: { p50Ms, p99Ms, recordsPerSecond, withheld } };
}

function titleOf(/** @type {string} */ subject, /** @type {Cell} */ cell, /** @type {string} */ when) {
  return `${subject}, ${cell.encoding}, ${cell.concurrency} clients, ${cell.records} records a request, ${when}`;
}

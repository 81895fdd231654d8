import { median } from "../lib/statistics.js";
import { formatTable, show } from "../lib/table.js";
import { HELP, listing, parseOptions, UsageError } from "./options.js";
import { PARTS } from "./parts.js";
import { leastOfEachCycle, MIN_POINTS, slopeOf, verdictOf } from "./slope.js";
import { soak } from "./soak.js";

/** @type {Record<string, (sample: import("./soak.js").Sample) => number>} */
const MEASURES = {
  live: ({ heap, external }) => heap + external,
  heap: ({ heap }) => heap,
  arrayBuffers: ({ arrayBuffers }) => arrayBuffers,
  rssAnon: ({ rssAnon }) => rssAnon ?? Number.NaN,
};
/** The measurement is shown in this many parts of equal length. */
const PARTS_OF_TIME = 4;

const ALL = Object.keys(PARTS).length;
/**
 * Samples count only when at most this much waits in queues, because a backlog is kept in memory up to its own limits.
 */
const CALM_BYTES = 1024 * 1024;

/**
 * Exit codes: 0 if everything measured is flat; 1 if something grows, or the result is unclear; 2 for an invalid
 * command line.
 */
try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  const isUsage = error instanceof UsageError;
  console.error(isUsage ? `${error.message}\n\n${HELP}` : error);
  process.exitCode = isUsage ? 2 : 1;
}

/**
 * @typedef {import("./slope.js").Verdict} Verdict
 * @typedef {{ parts: string, verdict: Verdict, resident: Verdict, lastHalf: import("./slope.js").Slope,
 *   slopes: Record<string, import("./slope.js").Slope>, calmCycles: number, from: number, to: number,
 *   medians: Record<string, number>[] } & import("./soak.js").Run} Result
 *   resident: whether RssAnon grows in the last half of the measurement; lastHalf: how fast
 */

async function main(/** @type {string[]} */ argv) {
  const options = parseOptions(argv);
  if (options.help) return print(HELP);
  if (options.list) return print(listing());
  /** @type {Result[]} */
  const results = [];
  for (const parts of options.groups) results.push(await runOne(parts, options));
  if (options.json)
    print(`${JSON.stringify({ maxGrowthPerHour: options.maxGrowth, node: process.version, results }, null, 2)}\n`);
  else for (const table of [toTable(results, options), toTimeTable(results)]) print(formatTable(table));
  return results.every(({ verdict, resident }) => verdict === "flat" && resident !== "grows") ? 0 : 1;
}

/** @param {readonly string[]} parts @param {import("./options.js").Options} options @returns {Promise<Result>} */
async function runOne(parts, options) {
  const { plan } = options;
  const name = parts.length === 0 ? "queues alone" : parts.length === ALL ? "all parts" : parts.join(", ");
  say(`${name}: ${plan.seconds / 60} min, of which ${plan.warmupSeconds / 60} for warm-up, ${plan.rate} records/s\n`);
  let saidAt = 0;
  const run = await soak({ ...plan, parts }, (sample) => {
    if (sample.at - saidAt < options.progressSeconds) return;
    saidAt = sample.at;
    const { at, mood, waiting, heap, external, arrayBuffers, rssAnon } = sample;
    say(
      `${clock(at)}  live ${mib(heap + external)} MiB: heap ${mib(heap)}, external ${mib(external)} (array buffers ${mib(arrayBuffers)}); RssAnon ${mib(rssAnon)}; backends ${mood}, ${mib(waiting)} MiB wait\n`,
    );
  });
  const measured = run.samples.filter(({ at, waiting }) => at > plan.warmupSeconds && waiting <= CALM_BYTES);
  const slopes = Object.fromEntries(
    Object.entries(MEASURES).map(([key, value]) => {
      const points = measured.map((sample) => ({ at: sample.at, value: value(sample) }));
      return [key, slopeOf(leastOfEachCycle(points, plan.cycleSeconds))];
    }),
  );
  const lastHalf = residentSlope(run.samples, plan);
  const resident = verdictOf(lastHalf, options.maxResidentGrowth);
  const medians = mediansOverTime(run.samples, plan);
  const live = measured.map(MEASURES.live);
  const verdict = verdictOf(slopes["live"], options.maxGrowth);
  const calmCycles = new Set(measured.map(({ at }) => Math.floor(at / plan.cycleSeconds))).size;
  const found = { verdict, resident, lastHalf, slopes, medians };
  return { parts: name, ...found, calmCycles, from: Math.min(...live), to: Math.max(...live), ...run };
}

/**
 * Resident memory rises for longer than live bytes, until the allocator and LevelDB's write buffers have what they need
 * at most. So only the last half counts, with all samples: a backlog takes little of it.
 *
 * @param {import("./soak.js").Sample[]} samples @param {Omit<import("./soak.js").Plan, "parts">} plan
 */
function residentSlope(samples, { seconds, warmupSeconds, cycleSeconds }) {
  const points = samples
    .filter(({ at }) => at > (seconds + warmupSeconds) / 2)
    .map((sample) => ({ at: sample.at, value: MEASURES.rssAnon(sample) }));
  return slopeOf(leastOfEachCycle(points, cycleSeconds));
}

/** @param {import("./soak.js").Sample[]} samples @param {Omit<import("./soak.js").Plan, "parts">} plan */
function mediansOverTime(samples, { seconds, warmupSeconds }) {
  const length = (seconds - warmupSeconds) / PARTS_OF_TIME;
  return Array.from({ length: PARTS_OF_TIME }, (_, i) => {
    const from = warmupSeconds + i * length;
    const within = samples.filter(({ at }) => at > from && at <= from + length);
    const medianOf = (/** @type {(sample: import("./soak.js").Sample) => number} */ value) => median(within.map(value));
    return Object.fromEntries(Object.entries(MEASURES).map(([key, value]) => [key, medianOf(value)]));
  });
}

/** @returns {import("../lib/table.js").Table} */
function toTable(/** @type {Result[]} */ results, /** @type {import("./options.js").Options} */ { maxGrowth, plan }) {
  return {
    title: `soak: growth in MiB an hour after ${plan.warmupSeconds / 60} of ${plan.seconds / 60} min; bound ${mib(maxGrowth)}`,
    columns: [
      "parts",
      "live",
      "99 %",
      "heap",
      "array buffers",
      "RssAnon, last half",
      "99 %",
      "live MiB",
      "cycles",
      "records",
      "reloads",
      "CPU",
      "verdict",
      "RssAnon",
    ],
    rows: results.map(({ parts, slopes, lastHalf, calmCycles, from, to, sent, reloads, cpu, verdict, resident }) => [
      parts,
      mib(slopes["live"].perHour),
      `${mib(slopes["live"].low)} to ${mib(slopes["live"].high)}`,
      mib(slopes["heap"].perHour),
      mib(slopes["arrayBuffers"].perHour),
      mib(lastHalf.perHour),
      `${mib(lastHalf.low)} to ${mib(lastHalf.high)}`,
      `${mib(from)} to ${mib(to)}`,
      show(calmCycles),
      show(sent),
      show(reloads),
      show(cpu, 2),
      verdict,
      resident,
    ]),
    note: `live: heap and external memory after a collection, the least of each cycle of outages in which the queues were drained. undecided: run it longer, or with fewer records (${MIN_POINTS} cycles at least).`,
  };
}

/** @returns {import("../lib/table.js").Table} */
function toTimeTable(/** @type {Result[]} */ results) {
  return {
    title: "memory in MiB after a collection, the median of each quarter after the warm-up",
    columns: ["parts", "of", ...["first", "second", "third", "last"]],
    rows: results.flatMap(({ parts, medians }) =>
      Object.keys(MEASURES).map((key) => [parts, key, ...medians.map((quarter) => mib(quarter[key]))]),
    ),
    note: "RssAnon also has garbage, freed memory that the allocator keeps, and LevelDB's write buffers.",
  };
}

function mib(/** @type {number | null} */ bytes) {
  return show(bytes === null ? null : bytes / 1024 / 1024, 2);
}

function clock(/** @type {number} */ seconds) {
  const whole = Math.round(seconds);
  return `${Math.floor(whole / 60)}:${String(whole % 60).padStart(2, "0")}`.padStart(7);
}

function say(/** @type {string} */ text) {
  process.stderr.write(text);
}

function print(/** @type {string} */ text) {
  process.stdout.write(text);
  return 0;
}

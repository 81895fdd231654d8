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

/** @typedef {{ parts: string, verdict: import("./slope.js").Verdict, slopes: Record<string, import("./slope.js").Slope>,
 *   calmCycles: number, from: number, to: number } & import("./soak.js").Run} Result */

async function main(/** @type {string[]} */ argv) {
  const options = parseOptions(argv);
  if (options.help) return print(HELP);
  if (options.list) return print(listing());
  /** @type {Result[]} */
  const results = [];
  for (const parts of options.groups) results.push(await runOne(parts, options));
  if (options.json)
    print(`${JSON.stringify({ maxGrowthPerHour: options.maxGrowth, node: process.version, results }, null, 2)}\n`);
  else print(formatTable(toTable(results, options)));
  return results.every(({ verdict }) => verdict === "flat") ? 0 : 1;
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
  const live = measured.map(MEASURES.live);
  const verdict = verdictOf(slopes["live"], options.maxGrowth);
  const calmCycles = new Set(measured.map(({ at }) => Math.floor(at / plan.cycleSeconds))).size;
  return { parts: name, verdict, slopes, calmCycles, from: Math.min(...live), to: Math.max(...live), ...run };
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
      "RssAnon",
      "live MiB",
      "cycles",
      "records",
      "CPU",
      "verdict",
    ],
    rows: results.map(({ parts, slopes, calmCycles, from, to, sent, cpu, verdict }) => [
      parts,
      mib(slopes["live"].perHour),
      `${mib(slopes["live"].low)} to ${mib(slopes["live"].high)}`,
      mib(slopes["heap"].perHour),
      mib(slopes["arrayBuffers"].perHour),
      mib(slopes["rssAnon"].perHour),
      `${mib(from)} to ${mib(to)}`,
      show(calmCycles),
      show(sent),
      show(cpu, 2),
      verdict,
    ]),
    note: `live: heap and external memory after a collection, the least of each cycle of outages in which the queues were drained. undecided: run it longer, or with fewer records (${MIN_POINTS} cycles at least).`,
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

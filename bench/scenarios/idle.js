import { setTimeout as delay } from "node:timers/promises";
import { startSubject } from "../lib/processes/run-subject.js";
import { spread } from "../lib/statistics.js";
import { show } from "../lib/table.js";

/**
 * Resident memory of an agent that has a durable queue and has received nothing yet: what each worker of
 * `service.workers` costs at least.
 */
export const summary = "resident memory of an agent that does nothing, a few seconds after its start";

const MIB = 1024 * 1024;
/** The figures that docs/reference/performance.md states, in MiB. */
const MAX_RSS = 125;
const MAX_ANON = 70;

/** @param {import("../lib/bench.js").Bench} bench @returns {Promise<import("../lib/bench.js").Outcome>} */
export async function run(bench) {
  const { options, progress } = bench;
  const [times, seconds] = options.quick ? [1, 1] : [3, 5];
  const queue = { durability: /** @type {const} */ ("fsync"), exporter: {} };
  const setting = { ...bench.setting, signal: options.signal, encoding: /** @type {const} */ ("proto"), queue };
  /** @type {import("../lib/bench.js").Outcome} */
  const outcome = { tables: [], results: [], failures: [] };
  for (const subject of options.subjects) {
    /** @type {import("../lib/processes/usage.js").Usage[]} */
    const usages = [];
    for (let i = 0; i < times; i++) {
      progress.say(`idle: ${subject.name}, ${i + 1} of ${times}`);
      const running = await startSubject(subject, setting);
      await delay(seconds * 1000);
      const usage = await running.usage();
      if (usage !== undefined) usages.push(usage);
      await running.stop();
    }
    const rss = spread(usages.map(({ rssBytes }) => rssBytes / MIB));
    const anon = spread(usages.map(({ rssAnonBytes }) => (rssAnonBytes ?? 0) / MIB));
    outcome.results.push({ scenario: "idle", subject: subject.name, rssMiB: rss, anonMiB: anon });
    if (subject.name !== "sluice") continue;
    if ((rss?.median ?? 0) > MAX_RSS) outcome.failures.push(`idle: RSS is ${show(rss?.median)} MiB, over ${MAX_RSS}`);
    if ((anon?.median ?? 0) > MAX_ANON)
      outcome.failures.push(`idle: RssAnon is ${show(anon?.median)} MiB, over ${MAX_ANON}`);
  }
  outcome.tables.push(toTable(outcome.results, seconds));
  return outcome;
}

/** @returns {import("../lib/table.js").Table} */
function toTable(/** @type {any[]} */ results, /** @type {number} */ seconds) {
  return {
    title: `idle: ${seconds} s after the start, nothing received`,
    columns: ["subject", "RSS MiB", "anon MiB", "limits"],
    rows: results.map(({ subject, rssMiB, anonMiB }) => [
      subject,
      show(rssMiB?.median),
      show(anonMiB?.median),
      subject === "sluice" ? `${MAX_RSS}, ${MAX_ANON}` : "",
    ]),
  };
}

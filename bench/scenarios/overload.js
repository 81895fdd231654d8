import { measure, recordProblems } from "../lib/measure.js";
import { startSubject } from "../lib/processes/run-subject.js";
import { mib, show } from "../lib/table.js";

/**
 * Overload: requests come at a fixed rate, a multiple of what the throttled sink accepts, whatever happens to earlier
 * ones. The agent must stay within its memory limit, refuse the rest so that clients can retry (429 or 503 with
 * Retry-After), and lose nothing that it acknowledged.
 *
 * A refusal without Retry-After is a failure only for the agent; for others it is reported.
 */
export const summary = "three times what the sink takes: memory, refusals, nothing acknowledged lost";

/** Large requests, so that a few hundred connections hold more than the agent's limit. */
const RECORDS = 500;
const CONNECTIONS = 800;
const SECONDS = 12;

/** @param {import("../lib/bench.js").Bench} bench @returns {Promise<import("../lib/bench.js").Outcome>} */
export async function run(bench) {
  const { options } = bench;
  /** @type {import("../lib/bench.js").Outcome} */
  const outcome = { tables: [], results: [], failures: [] };
  const load = {
    signal: options.signal,
    settle: options.settle,
    encoding: /** @type {const} */ ("proto"),
    records: RECORDS,
    concurrency: options.concurrency ?? CONNECTIONS,
    rate: (options.overload * options.sinkRate) / RECORDS,
    sinkRate: options.sinkRate,
    seconds: options.quick ? options.seconds : SECONDS,
  };
  for (const subject of options.subjects) {
    bench.progress.say(`overload: ${subject.name}`);
    const running = await startSubject(subject, { ...load, ...bench.setting });
    try {
      const round = await measure(bench.roles, running, load);
      outcome.results.push(toResult(subject.name, load, round));
      outcome.failures.push(...problems(subject.name, round));
    } finally {
      await running.stop();
    }
  }
  outcome.tables.push(toTable(outcome.results, load));
  return outcome;
}

function problems(/** @type {string} */ subject, /** @type {import("../lib/measure.js").Round} */ round) {
  const found = recordProblems(`${subject}, overload`, round);
  const bad = round.refused - round.refusedWithRetryAfter;
  if (subject === "sluice" && bad > 0) found.push(`${subject}, overload: ${bad} refusals without Retry-After`);
  if (subject === "sluice" && round.failed > 0)
    found.push(`${subject}, overload: ${round.failed} requests without an answer ${JSON.stringify(round.statuses)}`);
  return found;
}

/** @typedef {{ rate: number, records: number, sinkRate: number, seconds: number }} Offer */

function toResult(
  /** @type {string} */ subject,
  /** @type {Offer} */ { rate, records, sinkRate, seconds },
  /** @type {import("../lib/measure.js").Round} */ round,
) {
  const { samples, ...counts } = round;
  return {
    scenario: "overload",
    subject,
    seconds,
    records,
    sinkRate,
    offered: rate * records,
    ...counts,
    refusedWithoutRetryAfter: counts.refused - counts.refusedWithRetryAfter,
    sampledPeakRssBytes: Math.max(0, ...samples.map(({ rssBytes }) => rssBytes)),
    memory: samples,
  };
}

const COLUMNS =
  "subject,requests,acknowledged,refused,with Retry-After,failed,withheld,p99 ms,RSS MiB,anon MiB,lost,of acknowledged";

/** @returns {import("../lib/table.js").Table} */
function toTable(/** @type {any[]} */ results, /** @type {Offer} */ { rate, records, sinkRate, seconds }) {
  return {
    title: `overload: ${show(rate * records)} records/s offered for ${seconds} s, the sink takes ${show(sinkRate)}/s`,
    columns: COLUMNS.split(","),
    rows: results.map((row) => [
      row.subject,
      show(row.requests),
      show(row.acknowledged / records),
      show(row.refused),
      show(row.refusedWithRetryAfter),
      show(row.failed),
      show(row.withheld),
      show(row.p99Ms),
      mib(row.peakRssBytes),
      mib(row.peakRssAnonBytes),
      show(row.lost),
      show(row.acknowledged),
    ]),
    note: "requests of 500 records; withheld: not sent, because every connection was waiting for an answer.",
  };
}

import { setTimeout as delay } from "node:timers/promises";

/**
 * One measured run of one subject: sends load through it for a while, waits until the sink has everything acknowledged,
 * and reports the cost and whether all records arrived.
 *
 * @typedef {{ generator: import("./processes/role.js").Role, sink: import("./processes/role.js").Role }} Roles
 * @typedef {{ signal: import("./load/records.js").Signal, encoding: import("./load/supply.js").Encoding, records: number,
 *   concurrency: number, seconds: number, settle: number, rate?: number, sinkRate?: number, hits?: number, hasTraceIds?: boolean }} Load
 * @typedef {{ atMs: number, rssBytes: number, rssAnonBytes: number | null }} Sample
 * @typedef {Record<string, any> & { samples: Sample[] }} Round what the clients, the sink and the system say of it
 */
const SAMPLE_MS = 100;

let lastRun = 0;

/** A number for a run; the sink and the generator must get it too. */
export function nextRun() {
  return ++lastRun;
}

/** @param {Roles} roles @param {import("./processes/run-subject.js").Running} subject @param {Load} load @returns {Promise<Round>} */
export async function measure({ generator, sink }, subject, { seconds, settle, sinkRate, ...load }) {
  const run = nextRun();
  await sink.call("begin", { run, perRequest: load.records, rate: sinkRate });
  await generator.call("prepare", { ...load, run, port: subject.port });
  const memory = watchMemory(subject);
  const before = await subject.usage();
  const { acknowledgements, ...sent } = await generator.call("run", { seconds });
  const answered = performance.now();
  await caughtUp(sink, sent.acknowledged, settle * 1000);
  const behindMs = performance.now() - answered;
  const after = await subject.usage();
  const samples = await memory.stop();
  const arrived = await sink.call("compare", acknowledgements);
  return {
    ...sent,
    ...arrived,
    requestsOut: arrived.requests,
    requests: sent.requests,
    recordsPerSecond: (sent.acknowledged / sent.elapsedMs) * 1000,
    deliveredPerSecond: (arrived.delivered / (sent.elapsedMs + behindMs)) * 1000,
    behindMs,
    cpuUsPerRecord: before && after ? (after.cpuUs - before.cpuUs) / sent.acknowledged : null,
    peakRssBytes: after?.peakRssBytes ?? null,
    peakRssAnonBytes: peak(samples, after),
    samples,
  };
}

/** Waits until the sink has as many records as were acknowledged, or nothing has arrived for a while. */
export async function caughtUp(
  /** @type {import("./processes/role.js").Role} */ sink,
  /** @type {number} */ acknowledged,
  /** @type {number} */ patienceMs,
) {
  let { delivered } = await sink.call("progress");
  for (let since = performance.now(); delivered < acknowledged && performance.now() - since < patienceMs; ) {
    await delay(20);
    const now = (await sink.call("progress")).delivered;
    if (now > delivered) since = performance.now();
    delivered = now;
  }
}

/** @param {{ usage: import("./processes/run-subject.js").Running["usage"] }} subject */
function watchMemory(subject) {
  const start = performance.now();
  /** @type {Sample[]} */
  const samples = [];
  const stopped = new AbortController();
  const loop = (async () => {
    while (!stopped.signal.aborted) {
      const usage = await subject.usage();
      if (usage === undefined) return;
      const { rssBytes, rssAnonBytes } = usage;
      samples.push({ atMs: Math.round(performance.now() - start), rssBytes, rssAnonBytes });
      await delay(SAMPLE_MS, undefined, { signal: stopped.signal }).catch(() => {});
    }
  })();
  return {
    stop: async () => {
      stopped.abort();
      await loop;
      return samples;
    },
  };
}

function peak(
  /** @type {{ rssAnonBytes: number | null }[]} */ samples,
  /** @type {{ rssAnonBytes: number | null } | undefined} */ after,
) {
  if (after === undefined || after.rssAnonBytes === null) return null;
  return Math.max(after.rssAnonBytes, ...samples.map(({ rssAnonBytes }) => rssAnonBytes ?? 0));
}

/**
 * Problems with the records of a run. Lost: acknowledged and never delivered. If every request was acknowledged,
 * nothing else may have arrived either.
 *
 * @param {string} title @param {Round} round @returns {string[]}
 */
export function recordProblems(title, round) {
  const problems = [];
  if (round.acknowledged === 0) problems.push(`${title}: nothing was acknowledged ${JSON.stringify(round.statuses)}`);
  if (round.lost > 0) problems.push(`${title}: ${round.lost} of ${round.acknowledged} acknowledged records were lost`);
  const unanswered = round.refused + round.failed > 0;
  if (round.extra > 0 && !unanswered) problems.push(`${title}: ${round.extra} records arrived more often than sent`);
  if (round.stray > 0) problems.push(`${title}: ${round.stray} records arrived that were not sent in this run`);
  return problems;
}

import { setTimeout as delay } from "node:timers/promises";
import { caughtUp, nextRun, recordProblems } from "../lib/measure.js";
import { startSubject } from "../lib/processes/run-subject.js";
import { show } from "../lib/table.js";
import { peakRate, rateBetween } from "../lib/timeline.js";

/**
 * The sink goes away under steady load and comes back. The agent runs with its defaults for retries, breaker and ramp.
 * Measures how long it takes until the agent sends again and until the queue is empty, how hard it hits the sink that
 * has just come back, and whether everything arrives without dead letters.
 */
export const summary = "the sink is down for a while, then back: when draining starts, how hard, and when it is done";

const RECORDS = 100;
const RATE = 150; // requests per second
const BUCKETS_A_SECOND = 10;
/** Shorter intervals for the short form of the scenario. */
const HASTY = {
  retry_on_failure: { initial_interval: "50ms", max_interval: "200ms" },
  circuit_breaker: { reset_timeout: "200ms" },
  replay: { ramp: "500ms" },
};

/** @param {import("../lib/bench.js").Bench} bench @returns {Promise<import("../lib/bench.js").Outcome>} */
export async function run(bench) {
  const { options, roles, setting } = bench;
  const { quick } = options;
  const phases = quick
    ? { before: 0.3, down: 0.6, after: 1, patience: 20 }
    : { before: 5, down: 15, after: 50, patience: 90 };
  const load = { signal: options.signal, encoding: /** @type {const} */ ("proto"), records: RECORDS };
  /** @type {import("../lib/bench.js").Outcome} */
  const outcome = { tables: [], results: [], failures: [] };
  for (const subject of options.subjects) {
    bench.progress.say(`outage: ${subject.name}`);
    const queue = { durability: /** @type {const} */ ("fsync"), ...(quick ? { exporter: HASTY } : {}) };
    const running = await startSubject(subject, { ...load, ...setting, queue });
    try {
      const row = await outage(roles, running, load, phases);
      const deadLetters = subject.name === "sluice" ? await deadLettersOf(running.ports.health) : null;
      outcome.results.push({ scenario: "outage", subject: subject.name, ...phases, ...row, deadLetters });
      if (deadLetters) outcome.failures.push(`${subject.name}, outage: ${deadLetters} batches were dead-lettered`);
      outcome.failures.push(...recordProblems(`${subject.name}, outage`, { ...row, extra: 0 }));
    } finally {
      await roles.sink.call("mood", "ok");
      await running.stop();
    }
  }
  outcome.tables.push(toTable(outcome.results, phases));
  return outcome;
}

/** @typedef {{ before: number, down: number, after: number, patience: number }} Phases seconds */

async function outage(
  /** @type {import("../lib/measure.js").Roles} */ { generator, sink },
  /** @type {import("../lib/processes/run-subject.js").Running} */ subject,
  /** @type {{ signal: any, encoding: any, records: number }} */ load,
  /** @type {Phases} */ { before, down, after, patience },
) {
  const run = nextRun();
  await sink.call("begin", { run, perRequest: load.records });
  await generator.call("prepare", { ...load, run, port: subject.port, rate: RATE, concurrency: 64 });
  const sending = generator.call("run", { seconds: before + down + after });
  await delay(before * 1000);
  const downAt = await sink.call("mood", "down");
  await delay(down * 1000);
  const upAt = await sink.call("mood", "ok");
  const emptyMs = await untilEmpty(generator, sink, (after + patience) * 1000);
  const { acknowledgements, timeline, ...sent } = await sending;
  await caughtUp(sink, sent.acknowledged, patience * 1000);
  const arrived = await sink.call("compare", acknowledgements);
  const { firstMs, requests, records, bucketMs } = await sink.call("history");
  const up = Math.floor(upAt / bucketMs);
  return {
    ...sent,
    ...arrived,
    firstMs,
    emptyMs,
    requestsPerSecondBefore: rateBetween(requests, bucketMs, 0, Math.floor(downAt / bucketMs)),
    peakRequestsPerSecondAfter: peakRate(requests, bucketMs, 1000, up),
    requestsEachSecondAfter: perSecond(requests, up),
    peakRecordsPerSecondAfter: peakRate(records, bucketMs, 1000, up),
  };
}

/** Read from the agent's health check. @param {number} port @returns {Promise<number>} */
async function deadLettersOf(port) {
  const response = await fetch(`http://127.0.0.1:${port}/healthz/exporters`);
  const { exporters } = /** @type {{ exporters: Record<string, { deadLetters: number }> }} */ (await response.json());
  return Object.values(exporters).reduce((sum, { deadLetters }) => sum + deadLetters, 0);
}

/** Milliseconds until the sink has everything that was acknowledged; null if it takes too long. */
async function untilEmpty(
  /** @type {import("../lib/processes/role.js").Role} */ generator,
  /** @type {import("../lib/processes/role.js").Role} */ sink,
  /** @type {number} */ patienceMs,
) {
  const start = performance.now();
  while (performance.now() - start < patienceMs) {
    const { acknowledged } = await generator.call("progress");
    await delay(100);
    if ((await sink.call("progress")).delivered >= acknowledged) return performance.now() - start;
  }
  return null;
}

function perSecond(/** @type {number[]} */ buckets, /** @type {number} */ from) {
  const seconds = [];
  for (let i = from; i < buckets.length && seconds.length < 60; i += BUCKETS_A_SECOND)
    seconds.push(buckets.slice(i, i + BUCKETS_A_SECOND).reduce((a, b) => a + b, 0));
  return seconds;
}

const COLUMNS =
  "subject,acknowledged,refused,first after ms,empty after ms,req/s before,peak req/s after,peak rec/s after,p99 ms,dead letters,lost,duplicates";

/** @returns {import("../lib/table.js").Table} */
function toTable(/** @type {any[]} */ results, /** @type {Phases} */ { down }) {
  return {
    title: `outage: ${show(RATE * RECORDS)} records/s, the sink is down for ${down} s`,
    columns: COLUMNS.split(","),
    rows: results.map((row) => [
      row.subject,
      show(row.acknowledged),
      show(row.refused + row.failed),
      show(row.firstMs),
      show(row.emptyMs),
      show(row.requestsPerSecondBefore),
      show(row.peakRequestsPerSecondAfter),
      show(row.peakRecordsPerSecondAfter),
      show(row.p99Ms, 1),
      show(row.deadLetters),
      show(row.lost),
      show(row.extra),
    ]),
    note: "after: counted from the moment the sink is back. Records of dead letters count as lost.",
  };
}

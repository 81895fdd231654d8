import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { diskUse, watch } from "../lib/disk.js";
import { caughtUp, nextRun, recordProblems } from "../lib/measure.js";
import { startSubject } from "../lib/processes/run-subject.js";
import { mib, show } from "../lib/table.js";
import { BUCKET_MS } from "../lib/tally.js";
import { bucketOf, rateBetween } from "../lib/timeline.js";

/**
 * A large backlog: the sink is down while records are enqueued (--backlog), the agent is killed and restarted with all
 * of them, and then the sink comes back.
 *
 * Enqueueing at the end is compared with the first tenth, when the queue was nearly empty; draining the first half,
 * when the backlog is large, with draining the second.
 */
export const summary = "a million records wait: speed of enqueueing and draining, memory, disk, time to restart";

const RECORDS = 100;
const RECORD_BYTES = 343;
const MIB = 1024 * 1024;
const LIMITS = { enqueueRatio: 0.8, drainRatio: 0.8, diskOverLive: 256 * MIB, restartMs: 3000 };
const EXPORTER = {
  timeout: "60s",
  sending_queue: { max_bytes: "16GiB" },
  retry_on_failure: { initial_interval: "100ms", max_interval: "1s" },
  circuit_breaker: { reset_timeout: "500ms" },
  replay: { ramp: "1s" },
};

/** @param {import("../lib/bench.js").Bench} bench @returns {Promise<import("../lib/bench.js").Outcome>} */
export async function run(bench) {
  const { options } = bench;
  /** @type {import("../lib/bench.js").Outcome} */
  const outcome = { tables: [], results: [], failures: [] };
  for (const subject of options.subjects.filter(({ name }) => name !== "bare")) {
    const folder = await mkdtemp(join(tmpdir(), `bench-${subject.name}-`));
    try {
      const row = await backlog(bench, subject, folder);
      outcome.results.push({ scenario: "backlog", subject: subject.name, ...row });
      outcome.failures.push(...recordProblems(`${subject.name}, backlog`, { ...row, extra: 0 }));
    } finally {
      await bench.roles.sink.call("mood", "ok");
      await rm(folder, { recursive: true, force: true });
    }
  }
  outcome.tables.push(toTable(outcome.results, options.backlog));
  return outcome;
}

async function backlog(
  /** @type {import("../lib/bench.js").Bench} */ bench,
  /** @type {import("../lib/subjects.js").Subject} */ subject,
  /** @type {string} */ folder,
) {
  const { options, roles, setting, progress } = bench;
  const load = { signal: options.signal, encoding: /** @type {const} */ ("proto"), records: RECORDS };
  const queue = { durability: /** @type {const} */ ("fsync"), exporter: EXPORTER };
  const start = () => startSubject(subject, { ...load, ...setting, queue, folder });
  const requests = Math.ceil(options.backlog / RECORDS);
  const run = nextRun();
  let running = await start();
  try {
    await roles.sink.call("begin", { run, perRequest: RECORDS });
    await roles.sink.call("mood", "down");
    progress.say(`backlog: ${subject.name}, filling`);
    await roles.generator.call("prepare", { ...load, run, port: running.port, concurrency: options.concurrency ?? 32 });
    const filling = watchUse(running, folder);
    const { acknowledgements, timeline, ...sent } = await roles.generator.call("run", { seconds: 600, requests });
    const full = await filling.stop();
    progress.say(`backlog: ${subject.name}, restarting`);
    await running.kill();
    running = await start();
    const restartMs = running.readyMs;
    progress.say(`backlog: ${subject.name}, draining`);
    const drain = await draining(roles, running, folder, sent.acknowledged, options.settle);
    const arrived = await roles.sink.call("compare", acknowledgements);
    const given = await givenBack(join(folder, "queue"));
    return {
      ...sent,
      ...arrived,
      ...enqueueing(timeline, requests),
      ...drain,
      restartMs,
      fillPeakRssAnonBytes: peakOf(full, "rssAnonBytes"),
      fillDiskBytes: full.at(-1)?.diskBytes ?? null,
      ...given,
      limits: LIMITS,
    };
  } finally {
    await running.stop();
  }
}

/** Records per second when the queue was nearly empty, and when it was nearly full. */
function enqueueing(/** @type {number[]} */ timeline, /** @type {number} */ requests) {
  const at = (/** @type {number} */ share) => bucketOf(timeline, requests * share);
  const first = rateBetween(timeline, BUCKET_MS, at(0.02), at(0.12)) * RECORDS;
  const last = rateBetween(timeline, BUCKET_MS, at(0.9), at(0.99)) * RECORDS;
  return { enqueueFirst: first, enqueueLast: last, enqueueRatio: last / first };
}

async function draining(
  /** @type {import("../lib/measure.js").Roles} */ { sink },
  /** @type {import("../lib/processes/run-subject.js").Running} */ running,
  /** @type {string} */ folder,
  /** @type {number} */ acknowledged,
  /** @type {number} */ settle,
) {
  const watching = watchUse(running, folder, sink);
  const start = performance.now();
  await sink.call("mood", "ok");
  await caughtUp(sink, acknowledged, Math.max(settle, 10) * 1000);
  const drainMs = performance.now() - start;
  const samples = await watching.stop();
  const { firstMs, records, bucketMs } = await sink.call("history");
  const at = (/** @type {number} */ share) => bucketOf(records, acknowledged * share);
  const early = rateBetween(records, bucketMs, at(0.05), at(0.5));
  const late = rateBetween(records, bucketMs, at(0.5), at(0.98));
  const over = samples.map(({ diskBytes, delivered }) => diskBytes - (acknowledged - delivered) * RECORD_BYTES);
  return {
    drainMs,
    firstMs,
    drainEarly: early,
    drainLate: late,
    drainRatio: early / late,
    drainPeakRssAnonBytes: peakOf(samples, "rssAnonBytes"),
    drainPeakRssBytes: peakOf(samples, "rssBytes"),
    diskOverLiveBytes: Math.max(...over),
  };
}

/**
 * Measures what stays on disk after everything has drained, and how long that took. Watches for at most ten seconds.
 */
async function givenBack(/** @type {string} */ folder) {
  const start = performance.now();
  let diskAfterBytes = await diskUse(folder);
  while (diskAfterBytes > LIMITS.diskOverLive && performance.now() - start < 10_000) {
    await delay(100);
    diskAfterBytes = await diskUse(folder);
  }
  return { diskAfterBytes, givenBackMs: performance.now() - start };
}

function watchUse(
  /** @type {import("../lib/processes/run-subject.js").Running} */ running,
  /** @type {string} */ folder,
  /** @type {import("../lib/processes/role.js").Role | undefined} */ sink = undefined,
) {
  return watch(250, async () => {
    const usage = await running.usage();
    const diskBytes = await diskUse(join(folder, "queue"));
    const delivered = sink === undefined ? 0 : (await sink.call("progress")).delivered;
    return { rssAnonBytes: usage?.rssAnonBytes ?? 0, rssBytes: usage?.rssBytes ?? 0, diskBytes, delivered };
  });
}

function peakOf(/** @type {Record<string, number>[]} */ samples, /** @type {string} */ key) {
  return Math.max(0, ...samples.map((sample) => sample[key]));
}

/** @returns {import("../lib/table.js").Table} */
function toTable(/** @type {any[]} */ results, /** @type {number} */ records) {
  return {
    title: `backlog: ${show(records)} records wait (${mib(records * RECORD_BYTES)} MiB)`,
    columns: ["", ...results.map(({ subject }) => subject), "goal"],
    rows: [
      ["enqueue, first tenth, records/s", ...results.map((row) => show(row.enqueueFirst)), ""],
      ["enqueue, last tenth, records/s", ...results.map((row) => show(row.enqueueLast)), ""],
      ["  ratio", ...results.map((row) => show(row.enqueueRatio, 2)), `>= ${LIMITS.enqueueRatio}`],
      ["enqueue p99 ms", ...results.map((row) => show(row.p99Ms, 1)), ""],
      ["restart with all of it, ms", ...results.map((row) => show(row.restartMs)), `< ${show(LIMITS.restartMs)}`],
      ["first delivery after the sink is back, ms", ...results.map((row) => show(row.firstMs)), ""],
      ["drain, first half, records/s", ...results.map((row) => show(row.drainEarly)), ""],
      ["drain, second half, records/s", ...results.map((row) => show(row.drainLate)), ""],
      ["  ratio", ...results.map((row) => show(row.drainRatio, 2)), `>= ${LIMITS.drainRatio}`],
      ["drained after ms", ...results.map((row) => show(row.drainMs)), ""],
      ["anon MiB while filling", ...results.map((row) => mib(row.fillPeakRssAnonBytes)), "bounded"],
      ["anon MiB while draining", ...results.map((row) => mib(row.drainPeakRssAnonBytes)), "bounded"],
      ["disk MiB when full", ...results.map((row) => mib(row.fillDiskBytes)), ""],
      ["disk MiB over what is live, most", ...results.map((row) => mib(row.diskOverLiveBytes)), "<= 256"],
      ["disk MiB afterwards", ...results.map((row) => mib(row.diskAfterBytes)), "<= 256"],
      ["  after ms", ...results.map((row) => show(row.givenBackMs)), ""],
      ["refused", ...results.map((row) => show(row.refused + row.failed)), "0"],
      ["lost", ...results.map((row) => show(row.lost)), "0"],
      ["duplicates", ...results.map((row) => show(row.extra)), ""],
    ],
    note: "killed with SIGKILL and started again before it drains.",
  };
}

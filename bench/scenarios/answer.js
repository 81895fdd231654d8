import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ClassicLevel } from "classic-level";
import { warmingUp } from "../lib/cell.js";
import { PATIENT } from "../lib/durable.js";
import { protoRequest } from "../lib/load/records.js";
import { measure, recordProblems } from "../lib/measure.js";
import { startSubject } from "../lib/processes/run-subject.js";
import { median, spread } from "../lib/statistics.js";
import { withBatching } from "../lib/subjects.js";
import { show, showRatio } from "../lib/table.js";

/**
 * How long a single client waits for a durable answer, compared with one fsynced LevelDB put of the same bytes: the
 * cost when the fsync is not shared. Puts and subjects alternate, round by round.
 */
export const summary = "one client, one record: the durable answer beside one bare fsynced LevelDB put";

const GOAL = 1.3;

/** @param {import("../lib/bench.js").Bench} bench @returns {Promise<import("../lib/bench.js").Outcome>} */
export async function run(bench) {
  const { options, roles, setting, progress } = bench;
  const load = { signal: options.signal, encoding: /** @type {const} */ ("proto"), records: 1, concurrency: 1 };
  /** @type {import("../lib/bench.js").Outcome} */
  const outcome = { tables: [], results: [], failures: [] };
  const puts = await openPuts(protoRequest(options.signal, 1, 0, 0));
  /** @type {import("../lib/processes/run-subject.js").Running[]} */
  const running = [];
  /** @type {Map<string, any[]>} */
  const rounds = new Map();
  const putP50s = [];
  try {
    for (const subject of options.subjects) {
      const place = { ...load, ...setting, client: options.client, queue: DURABLE };
      running.push(await startSubject(withBatching(subject, "without"), place));
      rounds.set(subject.name, []);
    }
    for (let i = -1; i < options.rounds; i++) {
      const seconds = i < 0 ? options.warmup : options.seconds;
      progress.say(`answer: ${i < 0 ? "warm-up" : `round ${i + 1} of ${options.rounds}`}`);
      const putP50 = await puts.run(seconds);
      if (i >= 0) putP50s.push(putP50);
      for (const one of running) {
        const round = await measure(roles, one, {
          ...(i < 0 ? warmingUp(load) : load),
          seconds,
          settle: options.settle,
        });
        outcome.failures.push(...recordProblems(`${one.name}, answer`, round));
        if (i >= 0) rounds.get(one.name)?.push({ ...round, putRatio: round.p50Ms / putP50 });
      }
    }
  } finally {
    for (const one of running) await one.stop();
    await puts.close();
  }
  for (const [subject, list] of rounds)
    outcome.results.push({
      scenario: "answer",
      subject,
      p50Ms: median(list.map((round) => round.p50Ms)),
      p99Ms: median(list.map((round) => round.p99Ms)),
      cpuUsPerRequest: median(list.map((round) => round.cpuUsPerRecord)),
      putP50Ms: median(putP50s),
      putRatio: spread(list.map((round) => round.putRatio)),
    });
  outcome.tables.push(toTable(outcome.results, options));
  return outcome;
}

const DURABLE = { durability: /** @type {const} */ ("fsync"), exporter: PATIENT };

/** Makes one put after the other into a database with the agent's settings. */
async function openPuts(/** @type {Buffer} */ value) {
  const folder = await mkdtemp(join(tmpdir(), "bench-puts-"));
  const db = new ClassicLevel(folder, {
    keyEncoding: "view",
    valueEncoding: "view",
    compression: false,
    writeBufferSize: 32 * 1024 * 1024,
  });
  await db.open();
  let last = 0;
  return {
    async run(/** @type {number} */ seconds) {
      const took = [];
      for (const start = performance.now(); performance.now() - start < seconds * 1000; ) {
        const key = Buffer.alloc(9);
        key.writeUInt32BE(++last, 5);
        const began = performance.now();
        await db.put(key, value, { sync: true });
        took.push(performance.now() - began);
      }
      return median(took);
    },
    async close() {
      await db.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** @returns {import("../lib/table.js").Table} */
function toTable(/** @type {any[]} */ results, /** @type {import("../lib/options.js").Options} */ { rounds, seconds }) {
  return {
    title: `answer: 1 client, 1 record, fsync: ${rounds} rounds of ${seconds} s`,
    columns: ["subject", "p50 ms", "p99 ms", "CPU us/req", "one put, p50 ms", "p50 / put (min-max)", "goal"],
    rows: results.map((row) => [
      row.subject,
      show(row.p50Ms, 3),
      show(row.p99Ms, 2),
      show(row.cpuUsPerRequest),
      show(row.putP50Ms, 3),
      showRatio(row.putRatio),
      row.subject === "sluice" ? `<= ${GOAL}` : "",
    ]),
    note: "the answer's time has a request over loopback and its parsing in it; the put has neither.",
  };
}

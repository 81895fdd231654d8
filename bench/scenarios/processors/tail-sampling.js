import { randomFillSync } from "node:crypto";
import { Agent, request } from "node:http";
import { setTimeout as delay } from "node:timers/promises";
import { protoRequest } from "../../lib/load/records.js";
import { stamp, tokenOffsets } from "../../lib/load/token.js";
import { caughtUp, nextRun } from "../../lib/measure.js";
import { startSubject } from "../../lib/processes/run-subject.js";
import { median, spread } from "../../lib/statistics.js";
import { sluice, sluiceWith } from "../../lib/subjects.js";
import { show, showRatio } from "../../lib/table.js";

/**
 * tail_sampling that keeps everything, behind its journal, compared with the same agent without it: both have every
 * span on disk before its client is answered, the sampler twice. Requests contain traces of ten spans with unique ids,
 * so the load is made here: the generator's spans all belong to one trace.
 */
export const summary = "tail_sampling behind its journal, fsynced, against the durable agent without it";

const TRACE_SPANS = 10;
const CONNECTIONS = 16;
const SAMPLING = { tail_sampling: { decision_wait: "1s", policies: [{ name: "all", type: "always_sample" }] } };
const TRACE_ID = Buffer.from("5b8efff798038103d269b633813fc60c", "hex");
const SPAN_ID = Buffer.from("eee19b7ec3c1b174", "hex");

/** @param {import("../../lib/bench.js").Bench} bench @returns {Promise<import("../../lib/bench.js").Outcome>} */
export async function run(bench) {
  const { options } = bench;
  const records = options.records.includes(100) ? 100 : options.records[0];
  const place = { signal: /** @type {const} */ ("traces"), encoding: /** @type {const} */ ("proto"), queue: QUEUE };
  /** @type {any[]} */
  const results = [];
  /** @type {string[]} */
  const failures = [];
  const running = [];
  try {
    for (const subject of [sluice, sluiceWith("tail_sampling", SAMPLING)]) {
      const one = await startSubject(subject, { ...bench.setting, ...place });
      running.push(one);
      results.push({ scenario: "tail-sampling", subject: one.name, records, rounds: [] });
      await measure(bench, one, records, options.warmup);
    }
    for (let i = 0; i < options.rounds; i++) {
      for (const [k, one] of running.entries()) {
        bench.progress.say(`tail-sampling: ${one.name}, round ${i + 1} of ${options.rounds}`);
        results[k].rounds.push(await measure(bench, one, records, options.seconds));
      }
    }
    for (const [k, one] of running.entries()) {
      const rate = median(results[k].rounds.map((/** @type {Round} */ r) => r.recordsPerSecond)) / records / 2;
      results[k].half = await measure(bench, one, records, options.seconds * 2, rate);
    }
  } finally {
    for (const one of running) await one.stop();
  }
  for (const { subject, rounds, half } of results) {
    const missing = [...rounds, half].reduce((sum, { acknowledged, delivered }) => sum + acknowledged - delivered, 0);
    if (missing > 0) failures.push(`${subject}: ${missing} acknowledged spans did not arrive`);
  }
  return { tables: [toTable(results, records)], results, failures };
}

/** A long timeout, because the generator takes CPU from the sink: a slow response must not cause a second send. */
const QUEUE = { durability: /** @type {const} */ ("fsync"), exporter: { timeout: "60s" } };

/** @typedef {{ acknowledged: number, delivered: number, refused: number, recordsPerSecond: number, cpuUsPerRecord: number,
 *   p50Ms: number, p99Ms: number }} Round */

/** @returns {Promise<Round>} */
async function measure(
  /** @type {import("../../lib/bench.js").Bench} */ { roles, options },
  /** @type {import("../../lib/processes/run-subject.js").Running} */ subject,
  /** @type {number} */ records,
  /** @type {number} */ seconds,
  rate = Number.POSITIVE_INFINITY,
) {
  const run = nextRun();
  await roles.sink.call("begin", { run, perRequest: records });
  const before = await subject.usage();
  const started = performance.now();
  const { latencies, refused } = await send(subject.port, records, run, seconds * 1000, rate);
  const elapsedMs = performance.now() - started;
  const acknowledged = latencies.length * records;
  await caughtUp(roles.sink, acknowledged, options.settle * 1000 + 2000);
  const after = await subject.usage();
  const { delivered } = await roles.sink.call("progress");
  latencies.sort((a, b) => a - b);
  return {
    ...{ acknowledged, delivered, refused },
    recordsPerSecond: (acknowledged / elapsedMs) * 1000,
    cpuUsPerRecord: before && after ? (after.cpuUs - before.cpuUs) / acknowledged : Number.NaN,
    p50Ms: latencies[Math.floor(latencies.length * 0.5)] ?? Number.NaN,
    p99Ms: latencies[Math.floor(latencies.length * 0.99)] ?? Number.NaN,
  };
}

/** Every connection sends its next request when the previous one was answered, and not before it is due. */
async function send(
  /** @type {number} */ port,
  /** @type {number} */ records,
  /** @type {number} */ run,
  /** @type {number} */ ms,
  /** @type {number} */ rate,
) {
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS });
  const end = performance.now() + ms;
  const begun = performance.now();
  /** @type {number[]} */
  const latencies = [];
  let refused = 0;
  let last = -1;
  const client = async () => {
    const next = traceRequests(records, run);
    while (performance.now() < end) {
      const number = ++last;
      const due = begun + (number / rate) * 1000;
      if (due > performance.now()) await delay(due - performance.now());
      const body = next(number);
      const sentAt = performance.now();
      if (await post(port, agent, body)) latencies.push(performance.now() - sentAt);
      else refused++;
    }
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, client));
  agent.destroy();
  return { latencies, refused };
}

/** Requests whose spans have new ids each time. @returns {(number: number) => Buffer} */
function traceRequests(/** @type {number} */ records, /** @type {number} */ run) {
  const body = protoRequest("traces", records);
  const [tokens, traces, spans] = [tokenOffsets(body), offsetsOf(body, TRACE_ID), offsetsOf(body, SPAN_ID)];
  const id = Buffer.alloc(TRACE_ID.length);
  return (number) => {
    stamp(body, tokens, run, number);
    for (const [i, at] of traces.entries()) {
      if (i % TRACE_SPANS === 0) randomFillSync(id);
      id.copy(body, at);
    }
    for (const at of spans) randomFillSync(body, at, SPAN_ID.length);
    return body;
  };
}

/** @returns {number[]} */
function offsetsOf(/** @type {Buffer} */ body, /** @type {Buffer} */ part) {
  const offsets = [];
  for (let at = body.indexOf(part); at >= 0; at = body.indexOf(part, at + 1)) offsets.push(at);
  return offsets;
}

/** @returns {Promise<boolean>} */
function post(/** @type {number} */ port, /** @type {Agent} */ agent, /** @type {Buffer} */ body) {
  return new Promise((resolve) => {
    const headers = { "content-type": "application/x-protobuf", "content-length": body.length };
    const outgoing = request(
      { host: "127.0.0.1", port, path: "/v1/traces", method: "POST", headers, agent },
      (answer) => answer.resume().on("end", () => resolve(answer.statusCode === 200)),
    );
    outgoing.on("error", () => resolve(false)).end(body);
  });
}

/** @returns {import("../../lib/table.js").Table} */
function toTable(/** @type {any[]} */ results, /** @type {number} */ records) {
  const of = (/** @type {any} */ result, /** @type {keyof Round} */ key) =>
    median(result.rounds.map((/** @type {Round} */ round) => round[key]));
  const ratio = (/** @type {any} */ result) =>
    spread(
      result.rounds.map(
        (/** @type {Round} */ r, /** @type {number} */ i) => r.cpuUsPerRecord / results[0].rounds[i].cpuUsPerRecord,
      ),
    );
  return {
    title: `tail-sampling: ${records} spans a request, traces of ${TRACE_SPANS}, ${CONNECTIONS} connections, fsync`,
    columns: "subject,spans/s,CPU us/span,ratio (min-max),p50 ms,p99 ms,half: p50,half: p99,refused".split(","),
    rows: results.map((result) => [
      result.subject,
      show(of(result, "recordsPerSecond")),
      show(of(result, "cpuUsPerRecord"), 2),
      showRatio(ratio(result)),
      show(of(result, "p50Ms"), 1),
      show(of(result, "p99Ms"), 1),
      show(result.half.p50Ms, 1),
      show(result.half.p99Ms, 1),
      show(result.rounds.reduce((/** @type {number} */ sum, /** @type {Round} */ r) => sum + r.refused, 0)),
    ]),
    note: "ratio: CPU per span, delivery included, over that of the durable agent without tail_sampling in the same round.",
  };
}

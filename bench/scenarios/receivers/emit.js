import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate as turn } from "node:timers/promises";
import { createSluice } from "../../../dist/index.js";
import { silentLogger } from "../../../dist/runtime/contract/observability.js";
import { show } from "../../lib/table.js";

/**
 * How long a program waits in `logs.emit`: every call is timed by itself, minus the cost of reading the clock. It is
 * compared with a function call that only stores the record. Records come in bursts of one turn of the event loop; the
 * queue, its fsyncs and the sink are real, and work in the same process between the calls.
 */
export const summary = "how long logs.emit takes in a program that embeds Sluice, against a plain function call";

const BURST = 20;
const GOAL_US = 10;

const ATTRIBUTES = { "http.method": "GET", "http.route": "/orders/:id", "http.status": 200, "user.id": "u-00481516" };
const MORE = { region: "eu-1", tenant: "t-12", retry: false, "duration.ms": 12.5, "order.id": 4711, cart: "c-99" };
const SIZES = [
  { name: "a body", record: { body: "order paid" } },
  { name: "a body and 4 attributes", record: { body: "order paid", severity: "info", attributes: ATTRIBUTES } },
  {
    name: "a body and 10 attributes",
    record: { body: "order paid", severity: "info", attributes: { ...ATTRIBUTES, ...MORE } },
  },
];

/** @param {import("../../lib/bench.js").Bench} bench @returns {Promise<import("../../lib/bench.js").Outcome>} */
export async function run(bench) {
  const bursts = bench.options.quick ? 100 : 2500;
  const results = [];
  for (const { name, record } of SIZES) {
    bench.progress.say(`emit: ${name}`);
    results.push({ scenario: "emit", name, ...(await measure(bench.setting.sink, record, bursts)) });
  }
  const slow = results.filter(({ p50 }) => p50 >= GOAL_US);
  const lost = results.filter(({ calls, accepted }) => calls !== accepted);
  const failures = [
    ...lost.map(({ name, calls, accepted }) => `emit: ${name}: ${calls} emitted, ${accepted} accepted`),
    ...(bench.options.quick ? [] : slow.map(({ name, p50 }) => `emit: ${name}: p50 is ${show(p50, 1)} us`)),
  ];
  return { results, failures, tables: [toTable(results)] };
}

async function measure(
  /** @type {number} */ sink,
  /** @type {import("../../../dist/index.js").LogInput} */ record,
  /** @type {number} */ bursts,
) {
  const queueDirectory = mkdtempSync(join(tmpdir(), "sluice-bench-emit-"));
  const config = {
    exporters: { otlp_http: { endpoint: `http://127.0.0.1:${sink}`, compression: "none" } },
    service: { pipelines: { logs: { receivers: ["app"], exporters: ["otlp_http"] } } },
  };
  const sluice = await createSluice({ config, queueDirectory, logger: silentLogger });
  await sluice.start();
  try {
    const emit = () => void sluice.logs.emit(record);
    const warmUp = Math.ceil(bursts / 5);
    await timed(emit, warmUp);
    const took = await timed(emit, bursts);
    const plain = plainCall(record);
    await sluice.flush();
    const calls = (bursts + warmUp) * BURST;
    return { calls, accepted: accepted(sluice), ...took, plain, ratio: (took.p50 * 1000) / plain };
  } finally {
    await sluice.stop();
    rmSync(queueDirectory, { recursive: true, force: true });
  }
}

/** Duration of a call in microseconds: the median, the 99th percentile and the mean. */
async function timed(/** @type {() => void} */ call, /** @type {number} */ bursts) {
  const times = [];
  for (let burst = 0; burst < bursts; burst++) {
    for (let i = 0; i < BURST; i++) {
      const start = process.hrtime.bigint();
      call();
      const end = process.hrtime.bigint();
      times.push(Number(end - start) - Number(process.hrtime.bigint() - end));
    }
    await turn();
  }
  times.sort((a, b) => a - b);
  const at = (/** @type {number} */ share) => Math.max(times[Math.floor(times.length * share)], 0) / 1000;
  return { p50: at(0.5), p99: at(0.99), mean: times.reduce((sum, time) => sum + time, 0) / times.length / 1000 };
}

/** Duration in nanoseconds of a call that only stores the record. */
function plainCall(/** @type {unknown} */ record) {
  /** @type {unknown[]} */
  const noted = [];
  const note = (/** @type {unknown} */ each) => {
    noted[noted.length % 1024] = each;
  };
  const times = 300_000;
  const rounds = Array.from({ length: 8 }, () => {
    const start = process.hrtime.bigint();
    for (let i = 0; i < times; i++) note(record);
    return Number(process.hrtime.bigint() - start) / times;
  });
  return Math.min(...rounds);
}

function accepted(/** @type {import("../../../dist/index.js").Sluice} */ sluice) {
  const found = sluice.metrics().find(({ name }) => name === "otelcol_receiver_accepted_log_records");
  return found === undefined || found.kind === "histogram" ? 0 : found.value;
}

/** @param {any[]} results @returns {import("../../lib/table.js").Table} */
function toTable(results) {
  return {
    title: `emit: microseconds in logs.emit, ${BURST} calls a turn of the event loop, fsynced queue; goal: p50 under ${GOAL_US}`,
    columns: ["record", "calls", "p50 us", "p99 us", "mean us", "plain call ns", "ratio"],
    rows: results.map(({ name, calls, p50, p99, mean, plain, ratio }) => [
      name,
      show(calls),
      show(p50, 2),
      show(p99, 2),
      show(mean, 2),
      show(plain, 1),
      show(ratio),
    ]),
  };
}

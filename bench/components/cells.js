import { EventEmitter, once } from "node:events";
import { Subject } from "rxjs";
import { spanMetrics } from "../../dist/connectors/spans/span-metrics/span-metrics.js";
import { lokiExporter } from "../../dist/exporters/loki/loki.js";
import { prometheusExporter } from "../../dist/exporters/prometheus/prometheus.js";
import { remoteWriteExporter } from "../../dist/exporters/prometheus/remote-write/remote-write.js";
import { Batch } from "../../dist/plugin.js";
import { metricsTransform } from "../../dist/processors/metrics-transform/metrics-transform.js";
import { jaegerReceiver } from "../../dist/receivers/otlp/jaeger/jaeger.js";
import { prometheusReceiver } from "../../dist/receivers/prometheus/prometheus.js";
import { zipkinReceiver } from "../../dist/receivers/zipkin/zipkin.js";
import { systemClock } from "../../dist/runtime/contract/clock.js";
import { noMetrics, silentLogger } from "../../dist/runtime/contract/observability.js";
import { Debt, Delivery } from "../../dist/testing.js";
import { logs, PAGE_SAMPLES, RENDERED_SERIES, SCRAPE_SECONDS, seeded, spans, sums } from "./load.js";

/**
 * The components that are measured, each started in a process of its own (see roles/component.js).
 *
 * `turn` does some of its work and gives how many records that were. A component without one is driven from outside, over
 * its port: see drivers.js. `goal` is the most microseconds of CPU that a record may take, `goalBlockMs` how long a turn
 * of the event loop may take.
 *
 * @typedef {{ port?: number, turn?(): Promise<number>, stop(): Promise<void> }} Running
 * @typedef {{ sink: number, target: number }} CellSetting
 * @typedef {{ unit: string, goal?: number, goalBlockMs?: number, start(setting: CellSetting): Promise<Running> }} Cell
 * @type {Record<string, Cell>}
 */
export const CELLS = {
  "prometheus receiver, a page of text": { unit: "sample", start: ({ target }) => startScraping(target) },
  "prometheus exporter, 100,000 series taken in": { unit: "sample", start: () => startRendering(true) },
  "prometheus exporter, 100,000 series shown": { unit: "sample", goalBlockMs: 20, start: () => startRendering(false) },
  "prometheus_remote_write 1.0, 10,000 series": {
    unit: "sample",
    goal: 1.5,
    start: ({ sink }) => startRemoteWrite(sink),
  },
  "span_metrics, 10,000 series": { unit: "span", goal: 1.5, start: startSpanMetrics },
  "metrics_transform, no metric of its rules": { unit: "sample", start: () => startTransform("nothing.of.that.name") },
  "metrics_transform, every metric renamed": { unit: "sample", start: () => startTransform("^http\\.(.*)$$") },
  "jaeger, thrift over HTTP": { unit: "span", start: () => startJaeger("thrift_http") },
  "jaeger, gRPC": { unit: "span", start: () => startJaeger("grpc") },
  "zipkin, JSON": { unit: "span", start: startZipkin },
  "loki, twenty streams": { unit: "record", start: ({ sink }) => startLoki(sink) },
};

const services = { logger: silentLogger, metrics: noMetrics, clock: systemClock, random: Math.random };

/** @returns {any} */
function context(/** @type {string} */ kind, more = {}) {
  return { id: "bench", kind, ...services, extension: () => undefined, ...more };
}

/** An intake that accepts at once, and tells of what it has got. */
function openIntake(/** @type {(batch: Batch) => void} */ told = () => {}) {
  const accept = async (/** @type {Batch} */ batch) => {
    told(batch);
    return /** @type {const} */ ({ ok: true, rejected: 0, message: "" });
  };
  return { accept, reserve: () => true, release() {} };
}

async function startScraping(/** @type {number} */ target) {
  const came = new EventEmitter();
  let samples = 0;
  const intake = openIntake((batch) => {
    samples += batch.count;
    if (samples >= PAGE_SAMPLES) came.emit("page");
  });
  const job = {
    job_name: "bench",
    scrape_interval: `${SCRAPE_SECONDS}s`,
    static_configs: [{ targets: [`127.0.0.1:${target}`] }],
  };
  const config = prometheusReceiver.schema.parse({ config: { scrape_configs: [job] } });
  const receiver = prometheusReceiver.create(config, context("receiver", { intakes: { metrics: intake } }));
  await receiver.start();
  return {
    turn: async () => {
      samples = 0;
      await once(came, "page", { signal: AbortSignal.timeout(MAX_SCRAPE_MS) });
      return PAGE_SAMPLES;
    },
    stop: () => receiver.stop(),
  };
}

/** A machine that has no whole scrape in this time is too busy to measure anything. */
const MAX_SCRAPE_MS = 60_000;

async function startRendering(/** @type {boolean} */ isTakingIn) {
  const config = prometheusExporter.schema.parse({ endpoint: "127.0.0.1:0" });
  let port = 0;
  const logger = {
    ...silentLogger,
    info: (/** @type {{ endpoint: string }} */ { endpoint }) => {
      port = Number(endpoint.split(":").at(-1));
    },
  };
  const exporter = prometheusExporter.create(config, context("exporter", { logger }));
  await exporter.start?.();
  let at = 0;
  const batches = parts(RENDERED_SERIES, 10_000).map((from) => Batch.admit("metrics", sums(10_000, 1, from)));
  for (const batch of batches) await exporter.send(batch, new AbortController().signal);
  const turn = async () => {
    const batch = batches[at++ % batches.length];
    await exporter.send(batch, new AbortController().signal);
    return batch.count;
  };
  return { port, ...(isTakingIn && { turn }), stop: async () => exporter.stop?.() };
}

async function startRemoteWrite(/** @type {number} */ sink) {
  const config = remoteWriteExporter.schema.parse({ endpoint: `http://127.0.0.1:${sink}/api/v1/write` });
  const exporter = remoteWriteExporter.create(config, context("exporter"));
  return sending(exporter, (turn) => Batch.admit("metrics", sums(1000, turn, (turn % 10) * 1000)));
}

async function startLoki(/** @type {number} */ sink) {
  const config = lokiExporter.schema.parse({
    endpoint: `http://127.0.0.1:${sink}/loki/api/v1/push`,
    labels: { attributes: { "http.route": "route" } },
  });
  const batch = Batch.admit("logs", logs(1000));
  return sending(lokiExporter.create(config, context("exporter")), () => batch);
}

/** An exporter that is given one batch after another, forty different ones in turn. */
async function sending(/** @type {any} */ exporter, /** @type {(turn: number) => Batch} */ batchOf) {
  await exporter.start?.();
  const batches = Array.from({ length: 40 }, (_, turn) => batchOf(turn));
  let at = 0;
  return {
    turn: async () => {
      const batch = batches[at++ % batches.length];
      await exporter.send(batch, new AbortController().signal);
      return batch.count;
    },
    stop: async () => exporter.stop?.(),
  };
}

async function startSpanMetrics() {
  const config = spanMetrics.schema.parse({ metrics_flush_interval: "1h" });
  const random = seeded();
  const batches = Array.from({ length: 40 }, () => Batch.admit("traces", spans(1000, 10_000, random)));
  return passing(spanMetrics.create(config, context("connector")), batches);
}

async function startTransform(/** @type {string} */ include) {
  const rule = { include, match_type: "regexp", action: "update", new_name: "web.$${1}" };
  const config = metricsTransform.schema.parse({ transforms: [rule] });
  const batches = [1, 2, 3].map((turn) => Batch.admit("metrics", sums(1000, turn)));
  return passing(metricsTransform.create(config, context("processor")), batches);
}

/** A processor that is given one delivery after another. */
function passing(/** @type {any} */ processor, /** @type {Batch[]} */ batches) {
  const source = new Subject();
  const subscription = processor(source).subscribe({});
  let at = 0;
  return {
    turn: async () => {
      const batch = batches[at++ % batches.length];
      source.next(new Delivery(batch, { receiver: "bench", transport: "" }, new Debt(undefined)));
      return batch.count;
    },
    stop: async () => subscription.unsubscribe(),
  };
}

async function startJaeger(/** @type {"thrift_http" | "grpc"} */ protocol) {
  const config = jaegerReceiver.schema.parse({ protocols: { [protocol]: { endpoint: "127.0.0.1:0" } } });
  const receiver = /** @type {any} */ (
    jaegerReceiver.create(config, context("receiver", { intakes: { traces: openIntake() } }))
  );
  await receiver.start();
  return { port: receiver.ports[protocol], stop: () => receiver.stop() };
}

async function startZipkin() {
  const config = zipkinReceiver.schema.parse({ endpoint: "127.0.0.1:0" });
  const receiver = /** @type {any} */ (
    zipkinReceiver.create(config, context("receiver", { intakes: { traces: openIntake() } }))
  );
  await receiver.start();
  return { port: receiver.port, stop: () => receiver.stop() };
}

function parts(/** @type {number} */ total, /** @type {number} */ size) {
  return Array.from({ length: Math.ceil(total / size) }, (_, i) => i * size);
}

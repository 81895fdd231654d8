import { ROOT_CONTEXT, SpanKind, SpanStatusCode, trace } from "@opentelemetry/api";
import { SeverityNumber } from "@opentelemetry/api-logs";
import { OTLPLogExporter as JsonLogExporter } from "@opentelemetry/exporter-logs-otlp-http";
import { OTLPLogExporter as ProtoLogExporter } from "@opentelemetry/exporter-logs-otlp-proto";
import { OTLPMetricExporter } from "@opentelemetry/exporter-metrics-otlp-proto";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-proto";
import { resourceFromAttributes } from "@opentelemetry/resources";
import { BatchLogRecordProcessor, LoggerProvider } from "@opentelemetry/sdk-logs";
import { MeterProvider, PeriodicExportingMetricReader } from "@opentelemetry/sdk-metrics";
import { BasicTracerProvider, BatchSpanProcessor } from "@opentelemetry/sdk-trace-base";
import { GrpcConnection } from "../lib/load/grpc-connection.js";
import { protoRequest } from "../lib/load/records.js";
import { serve } from "../lib/processes/role.js";

/**
 * The clients of a soak, in their own process: the OpenTelemetry SDK with logs (as protobuf and as JSON), traces and
 * metrics, one gRPC client, and one that opens a new connection for every request. Names, users and trace ids are
 * always new, so that any state kept per name or id grows large.
 *
 * @typedef {{ http: number, grpc: number, rate: number }} Plan ports of the agent; records a second
 */
const TICK_MS = 100;
const SPANS_PER_TRACE = 4;
const ROUTES = 40;
const GRPC_RECORDS = 20;
const BATCHING = { scheduledDelayMillis: 500, maxExportBatchSize: 200, maxQueueSize: 4000 };

let sent = 0;

/** @param {Plan} plan */
function start({ http, grpc, rate }) {
  const url = (/** @type {string} */ signal) => ({
    url: `http://127.0.0.1:${http}/v1/${signal}`,
    timeoutMillis: 10_000,
  });
  const logs = [new ProtoLogExporter(url("logs")), new JsonLogExporter(url("logs"))].map((exporter, i) =>
    new LoggerProvider({
      resource: resource(`shop-${i}`),
      processors: [new BatchLogRecordProcessor({ exporter, ...BATCHING })],
    }).getLogger("soak"),
  );
  const tracers = ["shop", "payment"].map((name) =>
    new BasicTracerProvider({
      resource: resource(name),
      spanProcessors: [new BatchSpanProcessor(new OTLPTraceExporter(url("traces")), BATCHING)],
    }).getTracer("soak"),
  );
  const meter = new MeterProvider({
    resource: resource("shop"),
    readers: [
      new PeriodicExportingMetricReader({
        exporter: new OTLPMetricExporter(url("metrics")),
        exportIntervalMillis: 2000,
        exportTimeoutMillis: 2000,
      }),
    ],
  }).getMeter("soak");
  const requests = meter.createCounter("requests");
  const durations = meter.createHistogram("durations");
  const raw = rawClients(http, grpc);

  let due = 0;
  let tick = 0;
  setInterval(() => {
    tick++;
    due += (rate * TICK_MS) / 1000;
    // Each round has three log records, a trace, and metric points that are exported later.
    for (; due >= 3 + SPANS_PER_TRACE; due -= 3 + SPANS_PER_TRACE) {
      for (let i = 0; i < 3; i++) emitLog(logs[i % logs.length]);
      emitTrace(tracers);
      const attributes = { route: `/route/${number(ROUTES)}`, pod: `pod-${number(20)}` };
      requests.add(1, attributes);
      durations.record(number(1000), attributes);
      sent += 3 + SPANS_PER_TRACE;
    }
    if (tick % 10 === 0) raw.grpc();
    if (tick % 20 === 0) raw.newConnection();
  }, TICK_MS);
}

function resource(/** @type {string} */ name) {
  return resourceFromAttributes({ "service.name": name, "service.version": "1.4.2", "host.name": "host-17" });
}

function emitLog(/** @type {import("@opentelemetry/api-logs").Logger} */ logger) {
  const user = number(1e9);
  const isError = number(20) === 0;
  const isBad = number(400) === 0;
  logger.emit({
    eventName: `order.${["paid", "sent", "returned"][number(3)]}`,
    severityNumber: isError ? SeverityNumber.ERROR : SeverityNumber.INFO,
    severityText: isError ? "ERROR" : "INFO",
    body: isBad ? "a record that nobody wants" : `order of user-${user} (anna.${user}@mail.example.com) was handled`,
    attributes: { "user.id": `u-${user}`, "http.route": `/route/${number(ROUTES)}`, tries: number(5), note: NOTE },
  });
}

const NOTE = "a text of some length, as they stand in the records of most programs ".repeat(2);

function emitTrace(/** @type {import("@opentelemetry/api").Tracer[]} */ [shop, payment]) {
  const isNew = number(10) === 0;
  const route = isNew ? `/item/${number(1e9)}` : `/route/${number(ROUTES)}`;
  const attributes = { "http.route": route, "http.request.method": "GET", "user.id": `u-${number(1e9)}` };
  const root = shop.startSpan(`GET ${route}`, { kind: SpanKind.SERVER, attributes, root: true });
  const parent = contextWith(root);
  const call = shop.startSpan("pay", { kind: SpanKind.CLIENT, attributes }, parent);
  const served = payment.startSpan("POST /pay", { kind: SpanKind.SERVER, attributes }, contextWith(call));
  const query = shop.startSpan("SELECT orders", { kind: SpanKind.CLIENT, attributes }, parent);
  if (number(10) === 0) served.setStatus({ code: SpanStatusCode.ERROR, message: "declined" });
  for (const span of [query, served, call, root]) span.end();
}

function contextWith(/** @type {import("@opentelemetry/api").Span} */ span) {
  return trace.setSpan(ROOT_CONTEXT, span);
}

function number(/** @type {number} */ below) {
  return Math.floor(Math.random() * below);
}

/** Clients without the SDK: their data is sometimes refused, which they ignore. */
function rawClients(/** @type {number} */ http, /** @type {number} */ grpc) {
  const connection = new GrpcConnection(grpc, () => {}, "logs");
  const body = protoRequest("logs", GRPC_RECORDS);
  const message = Buffer.concat([Buffer.alloc(5), body]);
  message.writeUInt32BE(body.length, 1);
  return {
    async grpc() {
      try {
        if (connection.session === undefined || connection.session.closed) await connection.open();
        connection.send(message);
        sent += GRPC_RECORDS;
      } catch {
        // the agent is busy: the next request follows in a second
      }
    },
    async newConnection() {
      const headers = { "content-type": "application/x-protobuf", connection: "close" };
      const url = `http://127.0.0.1:${http}/v1/logs`;
      try {
        await (await fetch(url, { method: "POST", headers, body, signal: AbortSignal.timeout(10_000) })).arrayBuffer();
        sent += GRPC_RECORDS;
      } catch {
        // as above
      }
    },
  };
}

serve({ start, sent: () => sent });

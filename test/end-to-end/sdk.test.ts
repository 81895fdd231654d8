import { SpanStatusCode } from "@opentelemetry/api";
import { SeverityNumber } from "@opentelemetry/api-logs";
import { OTLPLogExporter as LogJson } from "@opentelemetry/exporter-logs-otlp-http";
import { OTLPLogExporter as LogProto } from "@opentelemetry/exporter-logs-otlp-proto";
import { OTLPMetricExporter as MetricJson } from "@opentelemetry/exporter-metrics-otlp-http";
import { OTLPMetricExporter as MetricProto } from "@opentelemetry/exporter-metrics-otlp-proto";
import { OTLPTraceExporter as TraceJson } from "@opentelemetry/exporter-trace-otlp-http";
import { OTLPTraceExporter as TraceProto } from "@opentelemetry/exporter-trace-otlp-proto";
import { resourceFromAttributes } from "@opentelemetry/resources";
import { BatchLogRecordProcessor, LoggerProvider } from "@opentelemetry/sdk-logs";
import { MeterProvider, PeriodicExportingMetricReader } from "@opentelemetry/sdk-metrics";
import { BasicTracerProvider, BatchSpanProcessor } from "@opentelemetry/sdk-trace-base";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type AnyRecordView, readRecords, type Signal } from "../../src/plugin.js";
import { type AgentProcess, startAgentProcess } from "../support/agent-process.js";
import { type OtlpSink, startSink } from "../support/otlp-sink.js";

let sink: OtlpSink;
let agent: AgentProcess;

beforeAll(async () => {
  sink = await startSink();
  agent = await startAgentProcess({
    yaml: `
receivers: {otlp: {protocols: {http: {endpoint: "127.0.0.1:0"}, grpc: {endpoint: "127.0.0.1:0"}}}}
processors: {batch: {timeout: 5ms}}
exporters: {otlp_http: {endpoint: "${sink.url}", sending_queue: {enabled: false}}}
service:
  telemetry: {metrics: {level: none}}
  pipelines:
    logs: {receivers: [otlp], processors: [batch], exporters: [otlp_http]}
    traces: {receivers: [otlp], processors: [batch], exporters: [otlp_http]}
    metrics: {receivers: [otlp], processors: [batch], exporters: [otlp_http]}
`,
  });
});

afterAll(async () => {
  agent.child.kill("SIGTERM");
  expect(await agent.exited).toBe(0);
  await sink.close();
});

beforeEach(() => {
  sink.batches.length = 0;
});

const resource = resourceFromAttributes({ "service.name": "shop" });
const url = (signal: Signal) => `http://127.0.0.1:${agent.ports.http}/v1/${signal}`;

/** All records that arrived, each with what `pick` reads of it. */
function arrived<T>(pick: (record: AnyRecordView) => T): T[] {
  const found: T[] = [];
  for (const batch of sink.batches) readRecords(batch, (record) => found.push(pick(record)));
  return found;
}

describe.each([
  ["protobuf", LogProto, TraceProto, MetricProto],
  ["JSON", LogJson, TraceJson, MetricJson],
] as const)("the OpenTelemetry SDK over %s", (_name, LogExporter, TraceExporter, MetricExporter) => {
  it("delivers log records through the agent to the backend", async () => {
    const processors = [new BatchLogRecordProcessor({ exporter: new LogExporter({ url: url("logs") }) })];
    const provider = new LoggerProvider({ resource, processors });
    const logger = provider.getLogger("checkout", "1.2.3");
    for (let i = 0; i < 50; i++) {
      logger.emit({
        severityNumber: SeverityNumber.WARN,
        body: { order: i, total: 9.5, tags: ["a", "b"] },
        attributes: { "order.id": i, ok: true },
      });
    }
    await provider.shutdown();
    const records = arrived((record) => ({
      order: record.signal === "logs" && (record.body as { order: number }).order,
      id: record.attributes.get("order.id"),
      service: record.resource.attributes.get("service.name"),
      scope: record.scope.name,
    }));
    expect(records).toEqual(
      Array.from({ length: 50 }, (_, i) => ({ order: i, id: i, service: "shop", scope: "checkout" })),
    );
  });

  it("delivers spans with events, links and status", async () => {
    const spanProcessors = [new BatchSpanProcessor(new TraceExporter({ url: url("traces") }))];
    const provider = new BasicTracerProvider({ resource, spanProcessors });
    const tracer = provider.getTracer("checkout");
    const first = tracer.startSpan("first");
    const second = tracer.startSpan("second", {
      links: [{ context: first.spanContext(), attributes: { why: "retry" } }],
    });
    second.addEvent("charged", { amount: 5 });
    second.setStatus({ code: SpanStatusCode.ERROR, message: "declined" });
    first.end();
    second.end();
    await provider.shutdown();
    const spans = arrived((record) => {
      if (record.signal !== "traces") throw new Error("not a span");
      const { name, traceId, status } = record;
      const links = record.links.map((link) => [link.spanId, link.attributes.get("why")]);
      return { name, traceId, status, events: record.events.map((e) => [e.name, e.attributes.get("amount")]), links };
    });
    expect(spans).toEqual([
      { name: "first", traceId: first.spanContext().traceId, status: { code: 0, message: "" }, events: [], links: [] },
      {
        name: "second",
        traceId: second.spanContext().traceId,
        status: { code: 2, message: "declined" },
        events: [["charged", 5]],
        links: [[first.spanContext().spanId, "retry"]],
      },
    ]);
  });

  it("delivers counters, gauges and histograms", async () => {
    const exporter = new MetricExporter({ url: url("metrics") });
    const provider = new MeterProvider({ resource, readers: [new PeriodicExportingMetricReader({ exporter })] });
    const meter = provider.getMeter("checkout");
    meter.createCounter("orders", { unit: "1" }).add(3, { kind: "new" });
    meter.createGauge("stock").record(1.5);
    meter.createHistogram("latency").record(12);
    await provider.shutdown();
    const points = arrived((record) => {
      if (record.signal !== "metrics") throw new Error("not a data point");
      const { name, type, value, count, sum } = record;
      return { name, type, value: value === undefined ? undefined : Number(value), count, sum };
    });
    expect(points).toEqual([
      { name: "orders", type: "sum", value: 3, count: undefined, sum: undefined },
      { name: "stock", type: "gauge", value: 1.5, count: undefined, sum: undefined },
      { name: "latency", type: "histogram", value: undefined, count: 1n, sum: 12 },
    ]);
  });
});

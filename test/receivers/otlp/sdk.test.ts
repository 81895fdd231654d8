import { OTLPLogExporter as JsonLogs } from "@opentelemetry/exporter-logs-otlp-http";
import { OTLPLogExporter as ProtoLogs } from "@opentelemetry/exporter-logs-otlp-proto";
import { OTLPMetricExporter as JsonMetrics } from "@opentelemetry/exporter-metrics-otlp-http";
import { OTLPMetricExporter as ProtoMetrics } from "@opentelemetry/exporter-metrics-otlp-proto";
import { OTLPTraceExporter as JsonTraces } from "@opentelemetry/exporter-trace-otlp-http";
import { OTLPTraceExporter as ProtoTraces } from "@opentelemetry/exporter-trace-otlp-proto";
import { BatchLogRecordProcessor, LoggerProvider } from "@opentelemetry/sdk-logs";
import { MeterProvider, PeriodicExportingMetricReader } from "@opentelemetry/sdk-metrics";
import { BasicTracerProvider, SimpleSpanProcessor } from "@opentelemetry/sdk-trace-base";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { decodeTree } from "../../../src/plugin.js";
import type { Signal } from "../../../src/runtime/otlp/signals/signal.js";
import { type Running, startReceiver } from "./harness.js";

describe.each(["json", "proto"])("the OpenTelemetry SDK exporting %s", (encoding) => {
  let running: Running;
  beforeEach(async () => {
    running = await startReceiver({ http: { endpoint: "127.0.0.1:0" } });
  });
  afterEach(() => running.receiver.stop());
  const at = (signal: Signal, compression?: "gzip") =>
    ({ url: `http://127.0.0.1:${running.http}/v1/${signal}`, ...(compression && { compression }) }) as never;
  const received = (signal: Signal) => JSON.stringify(running.intakes[signal].batches.map(decodeTree), plain);

  it("delivers logs", async () => {
    const exporter = encoding === "json" ? new JsonLogs(at("logs")) : new ProtoLogs(at("logs", "gzip"));
    const provider = new LoggerProvider({ processors: [new BatchLogRecordProcessor({ exporter } as never)] });
    for (let i = 0; i < 10; i++) provider.getLogger("test").emit({ body: `line ${i}`, attributes: { i } });
    await provider.forceFlush();
    await provider.shutdown();
    expect(running.intakes.logs.records).toBe(10);
    expect(received("logs")).toContain("line 9");
  });

  it("delivers traces", async () => {
    const exporter = encoding === "json" ? new JsonTraces(at("traces")) : new ProtoTraces(at("traces"));
    const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
    const span = provider.getTracer("test").startSpan("checkout", { attributes: { total: 12.5 } });
    span.addEvent("paid");
    span.end();
    await provider.forceFlush();
    await provider.shutdown();
    expect(running.intakes.traces.records).toBe(1);
    const tree = received("traces");
    expect(tree).toContain("checkout");
    expect(tree).toContain(span.spanContext().traceId);
  });

  it("delivers metrics", async () => {
    const exporter = encoding === "json" ? new JsonMetrics(at("metrics")) : new ProtoMetrics(at("metrics"));
    const reader = new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 60_000 });
    const provider = new MeterProvider({ readers: [reader] });
    provider.getMeter("test").createCounter("orders").add(3, { shop: "a" });
    provider.getMeter("test").createHistogram("latency").record(12);
    await provider.forceFlush();
    await provider.shutdown();
    expect(running.intakes.metrics.records).toBeGreaterThanOrEqual(2);
    expect(received("metrics")).toMatch(/orders.*latency/);
  });
});

function plain(_: string, value: unknown): unknown {
  if (typeof value === "bigint") return value.toString();
  return value instanceof Uint8Array ? Buffer.from(value).toString("hex") : value;
}

import { SpanStatusCode } from "@opentelemetry/api";
import { SeverityNumber } from "@opentelemetry/api-logs";
import { resourceFromAttributes } from "@opentelemetry/resources";
import { BatchLogRecordProcessor, LoggerProvider, SimpleLogRecordProcessor } from "@opentelemetry/sdk-logs";
import {
  AggregationTemporality,
  AggregationType,
  MeterProvider,
  PeriodicExportingMetricReader,
} from "@opentelemetry/sdk-metrics";
import {
  BasicTracerProvider,
  BatchSpanProcessor,
  InMemorySpanExporter,
  SimpleSpanProcessor,
  type SpanExporter,
} from "@opentelemetry/sdk-trace-base";
import { afterEach, describe, expect, it, vi } from "vitest";
import { Refusal } from "../../../../src/index.js";
import type { Batch, Outcome, Signal, Tree } from "../../../../src/plugin.js";
import { SluiceLogRecordExporter, SluiceMetricExporter, SluiceSpanExporter } from "../../../../src/sdk.js";
import { bodies } from "../../../support/telemetry/batches.js";
import { referenceDecode } from "../../../support/telemetry/otlp-reference.js";
import { ACCEPTED, cleanUp, keeper, keptLog, metric, REFUSED, started } from "../support.js";

afterEach(cleanUp);

const resource = resourceFromAttributes({ "service.name": "shop" });
const SERVICE = [{ key: "service.name", value: { stringValue: "shop" } }];
const ALL = { receivers: ["app"], exporters: ["kept"] };
const CONFIG = { exporters: { kept: {} }, service: { pipelines: { logs: ALL, traces: ALL, metrics: ALL } } };

/** Returns the output, read by the reference decoder. */
function decoded(signal: Signal, batches: readonly Batch[]): Tree {
  expect(batches.map((batch) => batch.signal)).toEqual([signal]);
  return referenceDecode(signal, batches[0]!.bytes);
}

/** A Sluice whose answers are given by hand. */
function answering() {
  const answers: ((outcome: Outcome) => void)[] = [];
  const sluice = { accept: (_batch: Batch) => new Promise<Outcome>((resolve) => void answers.push(resolve)) };
  return { sluice, answers };
}

const OK: Outcome = { ok: true, rejected: 0, message: "" };

describe("SluiceLogRecordExporter", () => {
  it("hands the SDK's records in", async () => {
    const { batches, components } = keeper();
    const sluice = await started({ config: CONFIG, components });
    const exporter = new SluiceLogRecordExporter(sluice);
    const provider = new LoggerProvider({ resource, processors: [new BatchLogRecordProcessor({ exporter } as never)] });
    const logger = provider.getLogger("checkout", "1.0");
    logger.emit({
      body: "paid",
      severityNumber: SeverityNumber.INFO,
      attributes: { "order.id": 42, nested: { a: [1] } },
      timestamp: 1_700_000_000_000,
    });
    await provider.shutdown();
    expect(decoded("logs", batches)).toMatchObject({
      resourceLogs: [
        {
          resource: { attributes: expect.arrayContaining(SERVICE) },
          scopeLogs: [
            {
              scope: { name: "checkout", version: "1.0" },
              logRecords: [
                {
                  body: { stringValue: "paid" },
                  severityNumber: 9,
                  timeUnixNano: 1_700_000_000_000_000_000n,
                  attributes: [{ key: "order.id", value: { intValue: 42n } }, { key: "nested" }],
                },
              ],
            },
          ],
        },
      ],
    });
    expect(metric(sluice, "otelcol_receiver_accepted_log_records")).toBe(1);
  });

  it("tells of a success only when the batch is settled, and waits for it in forceFlush and shutdown", async () => {
    const { sluice, answers } = answering();
    const exporter = new SluiceLogRecordExporter(sluice);
    const provider = new LoggerProvider({ processors: [new SimpleLogRecordProcessor({ exporter } as never)] });
    const told: unknown[] = [];
    const original = exporter.export.bind(exporter);
    exporter.export = (records, tell) =>
      original(records, (result) => {
        told.push(result.code);
        tell(result);
      });
    provider.getLogger("x").emit({ body: 1 });
    await expect.poll(() => answers.length).toBe(1);
    let isFlushed = false;
    const flushing = exporter.forceFlush().then(() => {
      isFlushed = true;
    });
    await Promise.resolve();
    expect([told, isFlushed]).toEqual([[], false]);
    answers[0]!(OK);
    await flushing;
    await expect.poll(() => told).toEqual([0]);
    await exporter.shutdown();
    const late = new Promise((resolve) => exporter.export([], resolve));
    expect(await late).toMatchObject({ code: 1 });
  });

  it("tells of the refusal", async () => {
    const { sluice, answers } = answering();
    const exporter = new SluiceLogRecordExporter(sluice);
    const provider = new LoggerProvider({
      processors: [{ onEmit, forceFlush: async () => {}, shutdown: async () => {} }],
    });
    const records: never[] = [];
    function onEmit(record: unknown) {
      records.push(record as never);
    }
    provider.getLogger("x").emit({ body: 1 });
    const told = new Promise((resolve) => exporter.export(records, resolve));
    const refusal = new Refusal("throttled", "later");
    answers[0]!({ ok: false, refusal });
    expect(await told).toEqual({ code: 1, error: refusal });
    const bad = new Promise((resolve) => exporter.export([{} as never], resolve));
    expect(await bad).toMatchObject({ code: 1, error: expect.any(Error) });
  });
});

describe("exporters of the SDK", () => {
  it("lose only the records that cannot be written, and count and report these", async () => {
    const { batches, components } = keeper();
    const { lines, logger } = keptLog();
    const sluice = await started({ config: CONFIG, components, logger });
    const exporter = new SluiceLogRecordExporter(sluice);
    const provider = new LoggerProvider({ processors: [new BatchLogRecordProcessor({ exporter } as never)] });
    let deep: unknown = "bottom";
    for (let i = 0; i < 100; i++) deep = { deep };
    for (let i = 0; i < 9; i++) provider.getLogger("x").emit({ body: (i === 4 ? deep : `line ${i}`) as never });
    await provider.shutdown();
    expect(batches.flatMap(bodies).sort()).toEqual([0, 1, 2, 3, 5, 6, 7, 8].map((i) => `line ${i}`));
    expect([metric(sluice, ACCEPTED), metric(sluice, REFUSED)]).toEqual([8, 1]);
    expect(lines.join()).toContain("SLUICE_BAD_RECORD");
  });

  it("do not wait without end for what is stuck", async () => {
    vi.useFakeTimers();
    try {
      const exporter = new SluiceSpanExporter(answering().sluice);
      const spans = new InMemorySpanExporter();
      const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(spans)] });
      provider.getTracer("x").startSpan("stuck").end();
      exporter.export(spans.getFinishedSpans(), () => {});
      const flushing = exporter.forceFlush().catch((error: Error) => error.message);
      const shutting = exporter.shutdown();
      await vi.advanceTimersByTimeAsync(10_000);
      expect(await flushing).toContain("has not settled everything");
      await shutting;
    } finally {
      vi.useRealTimers();
    }
  });
});

describe("SluiceSpanExporter", () => {
  it("hands the SDK's spans in", async () => {
    const { batches, components } = keeper();
    const sluice = await started({ config: CONFIG, components });
    const exporter: SpanExporter = new SluiceSpanExporter(sluice);
    const provider = new BasicTracerProvider({ resource, spanProcessors: [new BatchSpanProcessor(exporter)] });
    const span = provider.getTracer("checkout").startSpan("pay", { attributes: { total: 12.5 } });
    span.addEvent("authorised", { by: "bank" });
    span.setStatus({ code: SpanStatusCode.ERROR, message: "declined" });
    span.end();
    await provider.shutdown();
    const { traceId, spanId } = span.spanContext();
    expect(decoded("traces", batches)).toMatchObject({
      resourceSpans: [
        {
          resource: { attributes: expect.arrayContaining(SERVICE) },
          scopeSpans: [
            {
              scope: { name: "checkout" },
              spans: [
                {
                  traceId: new Uint8Array(Buffer.from(traceId, "hex")),
                  spanId: new Uint8Array(Buffer.from(spanId, "hex")),
                  name: "pay",
                  attributes: [{ key: "total", value: { doubleValue: 12.5 } }],
                  events: [{ name: "authorised" }],
                  status: { code: 2, message: "declined" },
                },
              ],
            },
          ],
        },
      ],
    });
  });
});

describe("SluiceMetricExporter", () => {
  const exported = async (options?: ConstructorParameters<typeof SluiceMetricExporter>[1]) => {
    const { batches, components } = keeper();
    const sluice = await started({ config: CONFIG, components });
    const exporter = new SluiceMetricExporter(sluice, options);
    const reader = new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 60_000 });
    const provider = new MeterProvider({ resource, readers: [reader] });
    const meter = provider.getMeter("checkout");
    meter.createCounter("orders").add(3, { shop: "eu" });
    meter.createHistogram("seconds").record(0.2);
    await provider.shutdown();
    const tree = decoded("metrics", batches);
    return ((tree["resourceMetrics"] as Tree[])[0]!["scopeMetrics"] as Tree[])[0]!["metrics"] as Tree[];
  };

  it("hands the SDK's metrics in, as totals", async () => {
    expect(await exported()).toMatchObject([
      { name: "orders", sum: { isMonotonic: true, aggregationTemporality: 2, dataPoints: [{ asDouble: 3 }] } },
      { name: "seconds", histogram: { dataPoints: [{ count: 1n, sum: 0.2 }] } },
    ]);
  });

  it("takes another temporality", async () => {
    const metrics = await exported({ temporality: () => AggregationTemporality.DELTA });
    expect(metrics).toMatchObject([{ sum: { aggregationTemporality: 1 } }, {}]);
  });

  it("takes another aggregation", async () => {
    const aggregation = () => ({ type: AggregationType.EXPONENTIAL_HISTOGRAM }) as const;
    expect(await exported({ aggregation })).toMatchObject([
      {},
      { exponentialHistogram: { dataPoints: [{ count: 1n }] } },
    ]);
  });
});

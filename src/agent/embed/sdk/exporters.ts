import {
  ProtobufLogsSerializer,
  ProtobufMetricsSerializer,
  ProtobufTraceSerializer,
} from "@opentelemetry/otlp-transformer";
import type { LogRecordExporter, ReadableLogRecord } from "@opentelemetry/sdk-logs";
import type {
  AggregationOption,
  AggregationTemporality,
  InstrumentType,
  PushMetricExporter,
  ResourceMetrics,
} from "@opentelemetry/sdk-metrics";
import { type BatchAcceptor, InProcessExport } from "./in-process-export.js";

/** Only the types' shape is used, so that programs without tracing need not install the SDK for traces. */
type Spans = Parameters<typeof ProtobufTraceSerializer.serializeRequest>[0];
type ExportCallback = Parameters<LogRecordExporter["export"]>[1];

/**
 * An exporter for a LoggerProvider of @opentelemetry/sdk-logs: passes its records to this Sluice without a network in
 * between.
 */
export class SluiceLogRecordExporter implements LogRecordExporter {
  private readonly inner: InProcessExport<ReadableLogRecord[]>;

  constructor(sluice: BatchAcceptor) {
    this.inner = new InProcessExport(sluice, "logs", ProtobufLogsSerializer.serializeRequest);
  }

  export(records: ReadableLogRecord[], done: ExportCallback): void {
    this.inner.export(records, done);
  }

  forceFlush(): Promise<void> {
    return this.inner.forceFlush();
  }

  shutdown(): Promise<void> {
    return this.inner.shutdown();
  }
}

/** An exporter for a TracerProvider of @opentelemetry/sdk-trace-base. */
export class SluiceSpanExporter {
  private readonly inner: InProcessExport<Spans>;

  constructor(sluice: BatchAcceptor) {
    this.inner = new InProcessExport(sluice, "traces", ProtobufTraceSerializer.serializeRequest);
  }

  export(spans: Spans, done: ExportCallback): void {
    this.inner.export(spans, done);
  }

  forceFlush(): Promise<void> {
    return this.inner.forceFlush();
  }

  shutdown(): Promise<void> {
    return this.inner.shutdown();
  }
}

/** Settings of metric export. */
export interface SluiceMetricExporterOptions {
  /** Temporality by instrument type; default: cumulative for all. */
  readonly temporality?: (instrument: InstrumentType) => AggregationTemporality;
  /** Aggregation by instrument type, such as exponential histograms; a view takes precedence. */
  readonly aggregation?: (instrument: InstrumentType) => AggregationOption;
}

/** An exporter for a PeriodicExportingMetricReader of @opentelemetry/sdk-metrics. */
export class SluiceMetricExporter implements PushMetricExporter {
  private readonly inner: InProcessExport<ResourceMetrics>;
  private readonly options: SluiceMetricExporterOptions;

  constructor(sluice: BatchAcceptor, options: SluiceMetricExporterOptions = {}) {
    this.inner = new InProcessExport(sluice, "metrics", ProtobufMetricsSerializer.serializeRequest);
    this.options = options;
  }

  export(metrics: ResourceMetrics, done: ExportCallback): void {
    this.inner.export(metrics, done);
  }

  selectAggregationTemporality(instrument: InstrumentType): AggregationTemporality {
    return this.options.temporality?.(instrument) ?? CUMULATIVE;
  }

  selectAggregation(instrument: InstrumentType): AggregationOption {
    return this.options.aggregation?.(instrument) ?? DEFAULT;
  }

  forceFlush(): Promise<void> {
    return this.inner.forceFlush();
  }

  shutdown(): Promise<void> {
    return this.inner.shutdown();
  }
}

/** The SDK's enum values, copied so that the SDK need not be loaded. */
const CUMULATIVE: AggregationTemporality = 1;
const DEFAULT: AggregationOption = { type: 0 };

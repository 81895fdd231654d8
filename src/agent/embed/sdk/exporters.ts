import {
  ProtobufLogsSerializer,
  ProtobufMetricsSerializer,
  ProtobufTraceSerializer,
} from "@opentelemetry/otlp-transformer";
import { type BatchAcceptor, type ExportDone, InProcessExport } from "./in-process-export.js";

// The types of the SDK are not named in public, because Sluice does not install the SDK: programs bring their own.
type LogRecords = Parameters<typeof ProtobufLogsSerializer.serializeRequest>[0];
type Spans = Parameters<typeof ProtobufTraceSerializer.serializeRequest>[0];
type SdkMetrics = Parameters<typeof ProtobufMetricsSerializer.serializeRequest>[0];

/**
 * An exporter for a LoggerProvider of @opentelemetry/sdk-logs: passes its records to this Sluice without a network in
 * between.
 */
export class SluiceLogRecordExporter {
  private readonly inner: InProcessExport<LogRecords>;

  constructor(sluice: BatchAcceptor) {
    this.inner = new InProcessExport(sluice, "logs", ProtobufLogsSerializer.serializeRequest);
  }

  export(records: readonly object[], done: ExportDone): void {
    this.inner.export(records as LogRecords, done);
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

  export(spans: readonly object[], done: ExportDone): void {
    this.inner.export(spans as Spans, done);
  }

  forceFlush(): Promise<void> {
    return this.inner.forceFlush();
  }

  shutdown(): Promise<void> {
    return this.inner.shutdown();
  }
}

/** The SDK's AggregationOption. */
interface SdkAggregation {
  /** A value of the SDK's AggregationType. */
  readonly type: number;
  readonly options?: object;
}

/** Settings of metric export. */
export interface SluiceMetricExporterOptions {
  /** Temporality by instrument type; default: cumulative for all. */
  temporality?(instrument: string): number;
  /** Aggregation by instrument type, such as exponential histograms; a view takes precedence. */
  aggregation?(instrument: string): SdkAggregation;
}

/** An exporter for a PeriodicExportingMetricReader of @opentelemetry/sdk-metrics. */
export class SluiceMetricExporter {
  private readonly inner: InProcessExport<SdkMetrics>;
  private readonly options: SluiceMetricExporterOptions;

  constructor(sluice: BatchAcceptor, options: SluiceMetricExporterOptions = {}) {
    this.inner = new InProcessExport(sluice, "metrics", ProtobufMetricsSerializer.serializeRequest);
    this.options = options;
  }

  export(metrics: object, done: ExportDone): void {
    this.inner.export(metrics as SdkMetrics, done);
  }

  selectAggregationTemporality(instrument: string): number {
    return this.options.temporality?.(instrument) ?? CUMULATIVE;
  }

  selectAggregation(instrument: string): SdkAggregation {
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
const CUMULATIVE = 1;
const DEFAULT: SdkAggregation = { type: 0 };

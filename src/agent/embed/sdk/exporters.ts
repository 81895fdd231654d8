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

/** Of the SDK for traces only the shape is used, so that those who do not trace need not have it. */
type Spans = Parameters<typeof ProtobufTraceSerializer.serializeRequest>[0];
type ExportCallback = Parameters<LogRecordExporter["export"]>[1];

/** For a LoggerProvider of @opentelemetry/sdk-logs: its records go into this Sluice, without a network in between. */
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

/** For a TracerProvider of @opentelemetry/sdk-trace-base. */
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

/** How metrics are reported. */
export interface SluiceMetricExporterOptions {
  /** Which instruments report what was added since the last time; all report totals unless told. */
  readonly temporality?: (instrument: InstrumentType) => AggregationTemporality;
  /** How measurements are added up, such as in exponential histograms, where no view says it. */
  readonly aggregation?: (instrument: InstrumentType) => AggregationOption;
}

/** For a PeriodicExportingMetricReader of @opentelemetry/sdk-metrics. */
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

/** The SDK's numbers for these. */
const CUMULATIVE: AggregationTemporality = 1;
const DEFAULT: AggregationOption = { type: 0 };

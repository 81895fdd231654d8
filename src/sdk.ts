/** For programs with the OpenTelemetry SDK: exporters that pass data to a Sluice in the same process. */
export {
  SluiceLogRecordExporter,
  SluiceMetricExporter,
  type SluiceMetricExporterOptions,
  SluiceSpanExporter,
} from "./agent/embed/sdk/exporters.js";
export type { BatchAcceptor } from "./agent/embed/sdk/in-process-export.js";

/** For programs with the OpenTelemetry SDK: exporters that lead into a Sluice of the same process. */
export {
  SluiceLogRecordExporter,
  SluiceMetricExporter,
  type SluiceMetricExporterOptions,
  SluiceSpanExporter,
} from "./agent/embed/sdk/exporters.js";
export type { BatchAcceptor } from "./agent/embed/sdk/in-process-export.js";

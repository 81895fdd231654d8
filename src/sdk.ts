/** The door for the OpenTelemetry SDK: exporters that lead into a Sluice of the same process. */
export {
  SluiceLogRecordExporter,
  SluiceMetricExporter,
  type SluiceMetricExporterOptions,
  SluiceSpanExporter,
} from "./runtime/sdk/exporters.js";
export type { BatchAcceptor } from "./runtime/sdk/in-process-export.js";

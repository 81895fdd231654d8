/** Log records from bytes and texts: cut, decoded, kept as entries, and written as OTLP. */

export { copyInto, LogBatchWriter } from "./log-batch-writer.js";
export { encodeScope, encodeScopeName, LogEntry, writeEntry } from "./log-entry.js";
export { encodeAttributes, type LogMap, type LogValue, newLogMap, setValue } from "./log-value.js";
export {
  type CutState,
  type CutterSettings,
  createCutter,
  type RecordCutter,
  type RecordSink,
} from "./record-cutter.js";
export { type TextEncoding, textEncoding } from "./text-encoding.js";

/** The signals, and what OTLP calls things: severities, kinds, units of time; malformed input. */

export {
  countRecords,
  type FieldRange,
  fieldsBesideRecords,
  leadsToRecord,
  SHAPES,
  SIGNALS,
  type Signal,
  type SignalShape,
} from "../bytes/signal.js";
export {
  MAX_SEVERITY_NUMBER,
  SEVERITIES,
  SEVERITY_NUMBER_NAMES,
  SEVERITY_NUMBERS,
  type Severity,
  SPAN_KIND_SYMBOLS,
  SPAN_KINDS,
  STATUS_CODES,
  TEMPORALITIES,
} from "./enum-names.js";
export { isMalformed, MALFORMED_CODE, MalformedError } from "./malformed.js";
export { NameCache } from "./name-cache.js";
export {
  joinNanos,
  micros,
  nanos,
  nanosHigh,
  nanosLow,
  seconds,
  splitMicros,
  splitNanos,
  toMicros,
} from "./nanoseconds.js";

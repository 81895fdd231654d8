/** The signals, and OTLP's names for severities, kinds and units of time; malformed input. */

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
export { SIGNALS, type Signal } from "./signal.js";

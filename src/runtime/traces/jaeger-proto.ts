/** Tags (field number << 3 | wire type) of the messages in jaeger.api_v2. */

// PostSpansRequest, Batch and Process.
export const JAEGER_BATCH_TAG = 10;
export const JAEGER_BATCH_SPANS_TAG = 10;
export const JAEGER_BATCH_PROCESS_TAG = 18;
export const JAEGER_PROCESS_SERVICE_TAG = 10;
export const JAEGER_PROCESS_TAGS_TAG = 18;

// Span.
export const JAEGER_SPAN_TRACE_ID_TAG = 10;
export const JAEGER_SPAN_ID_TAG = 18;
export const JAEGER_OPERATION_NAME_TAG = 26;
export const JAEGER_SPAN_REFERENCES_TAG = 34;
export const JAEGER_SPAN_FLAGS_TAG = 40;
export const JAEGER_SPAN_START_TAG = 50;
export const JAEGER_SPAN_DURATION_TAG = 58;
export const JAEGER_SPAN_TAGS_TAG = 66;
export const JAEGER_SPAN_LOGS_TAG = 74;
export const JAEGER_SPAN_PROCESS_TAG = 82;

// SpanRef.
export const JAEGER_REFERENCE_TRACE_ID_TAG = 10;
export const JAEGER_REFERENCE_SPAN_ID_TAG = 18;
export const JAEGER_REFERENCE_TYPE_TAG = 24;

// Log.
export const JAEGER_LOG_TIME_TAG = 10;
export const JAEGER_LOG_FIELDS_TAG = 18;

// KeyValue, which Jaeger calls a tag.
export const JAEGER_KEY_TAG = 10;
export const JAEGER_TYPE_TAG = 16;
export const JAEGER_STRING_TAG = 26;
export const JAEGER_BOOL_TAG = 32;
export const JAEGER_INT64_TAG = 40;
export const JAEGER_FLOAT64_TAG = 49;
export const JAEGER_BINARY_TAG = 58;

// google.protobuf.Timestamp and Duration.
export const JAEGER_TIME_SECONDS_TAG = 8;
export const JAEGER_TIME_NANOS_TAG = 16;

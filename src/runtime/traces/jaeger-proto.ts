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

/**
 * The Collector's names for data that Jaeger has no field for (as tags) and that OTLP has no field for (as attributes).
 */
export const JAEGER_TAGS = {
  kind: "span.kind",
  error: "error",
  statusCode: "otel.status_code",
  statusMessage: "otel.status_description",
  scopeName: "otel.scope.name",
  scopeVersion: "otel.scope.version",
  traceState: "w3c.tracestate",
  /** In a log: the name of the original event. */
  event: "event",
  /** An attribute of links: the kind of the reference. */
  refType: "opentracing.ref_type",
} as const;

/** The name of a service without one, because Jaeger requires a name. */
export const NO_JAEGER_SERVICE = "OTLPResourceNoServiceName";

/** Indexed by OTLP's number of the kind. */
export const JAEGER_KINDS: readonly string[] = ["", "internal", "server", "client", "producer", "consumer"];

/** Jaeger's numbers of tag types in its protobuf. */
export const JAEGER_TAG_TYPES = { string: 0, bool: 1, int64: 2, float64: 3, binary: 4 } as const;

/** Jaeger's reference types by number, and the value of a link's attribute for each. */
export const JAEGER_REF_TYPES = ["child_of", "follows_from"] as const;

/** The gRPC method that receives spans. */
export const JAEGER_GRPC_PATH = "/jaeger.api_v2.CollectorService/PostSpans";

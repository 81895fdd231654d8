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

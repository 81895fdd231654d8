/** The names that the Collector gives in Jaeger's tags to what Jaeger has no place for, and in attributes to what OTLP has none for. */
export const JAEGER_TAGS = {
  kind: "span.kind",
  error: "error",
  statusCode: "otel.status_code",
  statusMessage: "otel.status_description",
  scopeName: "otel.scope.name",
  scopeVersion: "otel.scope.version",
  traceState: "w3c.tracestate",
  /** Of a log: the name of the event that it was. */
  event: "event",
  /** An attribute of links: the kind of the reference. */
  refType: "opentracing.ref_type",
} as const;

/** What a service is called that has no name: Jaeger knows none without. */
export const NO_JAEGER_SERVICE = "OTLPResourceNoServiceName";

/** By OTLP's number of the kind. */
export const JAEGER_KINDS: readonly string[] = ["", "internal", "server", "client", "producer", "consumer"];

/** Jaeger's numbers of the types of tags, in its protobuf. */
export const JAEGER_TAG_TYPES = { string: 0, bool: 1, int64: 2, float64: 3, binary: 4 } as const;

/** Jaeger's numbers of references, and what the attribute of a link says of each. */
export const JAEGER_REF_TYPES = ["child_of", "follows_from"] as const;

/** Where spans are POSTed to over gRPC. */
export const JAEGER_GRPC_PATH = "/jaeger.api_v2.CollectorService/PostSpans";

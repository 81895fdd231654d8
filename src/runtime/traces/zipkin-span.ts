/** A span of Zipkin's API version 2, as in its JSON. */
export interface ZipkinSpan {
  readonly traceId: string;
  readonly id: string;
  readonly parentId?: string;
  readonly name?: string;
  readonly kind?: string;
  /** Microseconds. */
  readonly timestamp?: number;
  readonly duration?: number;
  readonly localEndpoint?: ZipkinEndpoint;
  readonly remoteEndpoint?: ZipkinEndpoint;
  readonly annotations?: readonly { readonly timestamp: number; readonly value: string }[];
  readonly tags?: Readonly<Record<string, string>>;
}

export interface ZipkinEndpoint {
  readonly serviceName?: string;
  readonly ipv4?: string;
  readonly ipv6?: string;
  readonly port?: number;
}

/** The Collector's names for data that Zipkin has no field for. */
export const ZIPKIN_TAGS = {
  error: "error",
  kind: "span.kind",
  traceState: "w3c.tracestate",
  statusCode: "otel.status_code",
  statusMessage: "otel.status_description",
  scopeName: "otel.library.name",
  scopeVersion: "otel.library.version",
  nameSource: "otlp.service.name.source",
  noStart: "otel.zipkin.absentField.startTime",
  link: "otlp.link.",
} as const;

/** The name of a service without one, because Zipkin requires a name. */
export const NO_SERVICE_NAME = "OTLPResourceNoServiceName";

/** Indexed by OTLP's number of the kind. */
export const ZIPKIN_KINDS: readonly string[] = ["", "", "SERVER", "CLIENT", "PRODUCER", "CONSUMER"];

/** The attributes for an endpoint's address and port, on either side. */
export const ENDPOINT_KEYS = {
  local: { ip: "network.local.address", port: "net.host.port" },
  remote: {
    ip: "network.peer.address",
    port: "net.peer.port",
    service: "service.peer.name",
    /** Spans may still have this one; the other takes precedence. */
    oldService: "peer.service",
  },
} as const;

/** Attributes that may name a service without `service.name`, in this order. */
export const SERVICE_NAME_KEYS = ["faas.name", "k8s.deployment.name", "process.executable.name"] as const;

/** Tags being assembled or parsed. */
export type ZipkinTags = Map<string, string>;

/** Tags (field number << 3 | wire type) of zipkin.proto3: of ListOfSpans, Span, Annotation, the map of tags, and Endpoint. */
export const ZIPKIN_LIST_SPAN_TAG = 10;
export const ZIPKIN_SPAN_TRACE_ID_TAG = 10;
export const ZIPKIN_SPAN_PARENT_ID_TAG = 18;
export const ZIPKIN_SPAN_ID_TAG = 26;
export const ZIPKIN_SPAN_KIND_TAG = 32;
export const ZIPKIN_SPAN_NAME_TAG = 42;
export const ZIPKIN_SPAN_TIMESTAMP_TAG = 49;
export const ZIPKIN_SPAN_DURATION_TAG = 56;
export const ZIPKIN_SPAN_LOCAL_ENDPOINT_TAG = 66;
export const ZIPKIN_SPAN_REMOTE_ENDPOINT_TAG = 74;
export const ZIPKIN_SPAN_ANNOTATION_TAG = 82;
export const ZIPKIN_SPAN_TAGS_TAG = 90;
export const ZIPKIN_ANNOTATION_TIMESTAMP_TAG = 9;
export const ZIPKIN_ANNOTATION_VALUE_TAG = 18;
export const ZIPKIN_TAGS_KEY_TAG = 10;
export const ZIPKIN_TAGS_VALUE_TAG = 18;
export const ZIPKIN_ENDPOINT_SERVICE_NAME_TAG = 10;
export const ZIPKIN_ENDPOINT_IPV4_TAG = 18;
export const ZIPKIN_ENDPOINT_IPV6_TAG = 26;
export const ZIPKIN_ENDPOINT_PORT_TAG = 32;

/** By number. */
export const ZIPKIN_PROTO_KINDS: readonly string[] = ["", "CLIENT", "SERVER", "PRODUCER", "CONSUMER"];

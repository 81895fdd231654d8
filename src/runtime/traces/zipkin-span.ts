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

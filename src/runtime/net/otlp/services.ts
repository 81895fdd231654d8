import { SIGNALS, type Signal } from "#otlp/signals";

/** Paths of a signal's requests, and names in its responses. */
interface OtlpService {
  readonly signal: Signal;
  /** Default path of OTLP over HTTP. */
  readonly httpPath: string;
  /** `:path` of the gRPC method. */
  readonly grpcPath: string;
  /** OTLP/JSON's name of the rejected count in partial_success. */
  readonly rejectedName: string;
}

const GRPC_PACKAGE = "opentelemetry.proto.collector";

/** Paths and names of each signal. */
export const OTLP_SERVICES: Readonly<Record<Signal, OtlpService>> = {
  logs: {
    signal: "logs",
    httpPath: "/v1/logs",
    grpcPath: `/${GRPC_PACKAGE}.logs.v1.LogsService/Export`,
    rejectedName: "rejectedLogRecords",
  },
  traces: {
    signal: "traces",
    httpPath: "/v1/traces",
    grpcPath: `/${GRPC_PACKAGE}.trace.v1.TraceService/Export`,
    rejectedName: "rejectedSpans",
  },
  metrics: {
    signal: "metrics",
    httpPath: "/v1/metrics",
    grpcPath: `/${GRPC_PACKAGE}.metrics.v1.MetricsService/Export`,
    rejectedName: "rejectedDataPoints",
  },
};

/** The service that a gRPC `:path` names. */
export function serviceOfGrpcPath(path: string | undefined): OtlpService | undefined {
  for (const signal of SIGNALS) if (OTLP_SERVICES[signal].grpcPath === path) return OTLP_SERVICES[signal];
  return undefined;
}

/** The Content-Type of OTLP in protobuf. */
const PROTOBUF_CONTENT_TYPE = "application/x-protobuf";
/** The Content-Type of OTLP/JSON. */
const JSON_CONTENT_TYPE = "application/json";

/** The two encodings of OTLP. */
export type OtlpEncoding = "proto" | "json";

/** The encoding that a Content-Type names, ignoring case and parameters. */
export function encodingOf(contentType: string | undefined): OtlpEncoding | undefined {
  if (contentType === PROTOBUF_CONTENT_TYPE) return "proto";
  if (contentType === JSON_CONTENT_TYPE) return "json";
  switch (mediaType(contentType)) {
    case PROTOBUF_CONTENT_TYPE:
    case "application/protobuf":
      return "proto";
    case JSON_CONTENT_TYPE:
      return "json";
    default:
      return undefined;
  }
}

/** The Content-Type of an encoding. */
export function contentTypeOf(encoding: OtlpEncoding): string {
  return encoding === "proto" ? PROTOBUF_CONTENT_TYPE : JSON_CONTENT_TYPE;
}

function mediaType(contentType: string | undefined): string | undefined {
  return contentType?.split(";", 1)[0]?.trim().toLowerCase();
}

/** gRPC's status codes by name. */
export const GRPC_STATUS = {
  OK: 0,
  CANCELLED: 1,
  UNKNOWN: 2,
  INVALID_ARGUMENT: 3,
  DEADLINE_EXCEEDED: 4,
  NOT_FOUND: 5,
  ALREADY_EXISTS: 6,
  PERMISSION_DENIED: 7,
  RESOURCE_EXHAUSTED: 8,
  FAILED_PRECONDITION: 9,
  ABORTED: 10,
  OUT_OF_RANGE: 11,
  UNIMPLEMENTED: 12,
  INTERNAL: 13,
  UNAVAILABLE: 14,
  DATA_LOSS: 15,
  UNAUTHENTICATED: 16,
} as const;

const STATUS_NAMES: readonly string[] = Object.keys(GRPC_STATUS);

/** `UNAVAILABLE` for 14; `status 99` for what gRPC does not know. */
export function grpcStatusName(code: number): string {
  return STATUS_NAMES[code] ?? `status ${code}`;
}

/** Codes after which OTLP lets a client send the same data again. RESOURCE_EXHAUSTED joins them only with RetryInfo. */
export const RETRYABLE_GRPC_STATUSES: ReadonlySet<number> = new Set([
  GRPC_STATUS.CANCELLED,
  GRPC_STATUS.DEADLINE_EXCEEDED,
  GRPC_STATUS.ABORTED,
  GRPC_STATUS.OUT_OF_RANGE,
  GRPC_STATUS.UNAVAILABLE,
  GRPC_STATUS.DATA_LOSS,
]);

/**
 * The code of an answer that carries no grpc-status because something between (a proxy) answered in plain HTTP. gRPC's
 * own table calls some 5xx UNKNOWN, which OTLP does not retry; here a broken proxy is never the end of the data.
 */
export function grpcCodeOfHttp(status: number): number {
  switch (status) {
    case 400:
      return GRPC_STATUS.INTERNAL;
    case 401:
      return GRPC_STATUS.UNAUTHENTICATED;
    case 403:
      return GRPC_STATUS.PERMISSION_DENIED;
    case 404:
      return GRPC_STATUS.UNIMPLEMENTED;
    case 408:
    case 429:
      return GRPC_STATUS.UNAVAILABLE;
    default:
      return status >= 500 ? GRPC_STATUS.UNAVAILABLE : GRPC_STATUS.UNKNOWN;
  }
}

const MAX_MESSAGE_LENGTH = 1024;

/** A grpc-message header: percent-encoded as gRPC says, and short enough for any header limit. */
export function encodeGrpcMessage(message: string): string {
  let encoded = "";
  for (const byte of Buffer.from(message, "utf8")) {
    if (encoded.length >= MAX_MESSAGE_LENGTH) break;
    const plain = byte >= 0x20 && byte <= 0x7e && byte !== 0x25;
    encoded += plain ? String.fromCharCode(byte) : `%${byte.toString(16).toUpperCase().padStart(2, "0")}`;
  }
  return encoded;
}

/** Never throws: what is not percent-encoded stays as it is. */
export function decodeGrpcMessage(text: string): string {
  const bytes = text.replace(/%([0-9a-fA-F]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
  return /[\u0080-\u00ff]/.test(bytes) ? Buffer.from(bytes, "latin1").toString("utf8") : bytes;
}

const TIMEOUT_UNIT_MS: Readonly<Record<string, number>> = {
  H: 3_600_000,
  M: 60_000,
  S: 1000,
  m: 1,
  u: 1e-3,
  n: 1e-6,
};

/** Milliseconds of a grpc-timeout header, or undefined when there is none or it is none. */
export function parseGrpcTimeout(text: string | undefined): number | undefined {
  const match = text === undefined ? null : /^(\d{1,8})([HMSmun])$/.exec(text);
  return match ? Number(match[1]) * TIMEOUT_UNIT_MS[match[2]!]! : undefined;
}

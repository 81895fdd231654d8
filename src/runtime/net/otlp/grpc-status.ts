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

/** Codes after which OTLP allows a client to resend. RESOURCE_EXHAUSTED is retryable only with RetryInfo. */
export const RETRYABLE_GRPC_STATUSES: ReadonlySet<number> = new Set([
  GRPC_STATUS.CANCELLED,
  GRPC_STATUS.DEADLINE_EXCEEDED,
  GRPC_STATUS.ABORTED,
  GRPC_STATUS.OUT_OF_RANGE,
  GRPC_STATUS.UNAVAILABLE,
  GRPC_STATUS.DATA_LOSS,
]);

/**
 * The code for a response without grpc-status, because a proxy answered in plain HTTP. gRPC's own table maps some 5xx
 * to UNKNOWN, which OTLP does not retry; here a broken proxy must never cause data loss.
 * Statuses that blame the way and not the data, such as a redirect to a login, get a code that holds the queue. Unlike
 * over HTTP, a wrong path is among them: the path of a gRPC call is that of the method and never that of the data.
 */
export function grpcCodeOfHttp(status: number): number {
  switch (status) {
    case 400:
      return GRPC_STATUS.INTERNAL;
    case 401:
    case 402:
    case 407:
      return GRPC_STATUS.UNAUTHENTICATED;
    case 403:
      return GRPC_STATUS.PERMISSION_DENIED;
    case 404:
    case 405:
    case 410:
    case 415:
      return GRPC_STATUS.UNIMPLEMENTED;
    case 408:
    case 429:
      return GRPC_STATUS.UNAVAILABLE;
    default:
      if (status >= 300 && status < 400) return GRPC_STATUS.UNIMPLEMENTED;
      return status >= 500 ? GRPC_STATUS.UNAVAILABLE : GRPC_STATUS.UNKNOWN;
  }
}

const MAX_MESSAGE_LENGTH = 1024;

/** Encodes a grpc-message header: percent-encoded as gRPC requires, and short enough for any header limit. */
export function encodeGrpcMessage(message: string): string {
  let encoded = "";
  for (const byte of Buffer.from(message, "utf8")) {
    if (encoded.length >= MAX_MESSAGE_LENGTH) break;
    const plain = byte >= 0x20 && byte <= 0x7e && byte !== 0x25;
    encoded += plain ? String.fromCharCode(byte) : `%${byte.toString(16).toUpperCase().padStart(2, "0")}`;
  }
  return encoded;
}

/** Never throws: invalid percent-encoding is kept as it is. */
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

/** Parses a grpc-timeout header to milliseconds; undefined when it is missing or invalid. */
export function parseGrpcTimeout(text: string | undefined): number | undefined {
  const match = text === undefined ? null : /^(\d{1,8})([HMSmun])$/.exec(text);
  return match ? Number(match[1]) * TIMEOUT_UNIT_MS[match[2]!]! : undefined;
}

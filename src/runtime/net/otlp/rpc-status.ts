import { bytesField, intField, readFields, textField, writeFields } from "./proto-fields.js";
import type { OtlpEncoding } from "./services.js";

/** google.rpc.Status with RetryInfo, the only detail that OTLP uses. */
export interface RpcStatus {
  /** A gRPC status code. */
  readonly code: number;
  readonly message: string;
  /** From RetryInfo; undefined when there is none. */
  readonly retryAfterMs?: number | undefined;
}

/** Field numbers of google.rpc.Status, of the google.protobuf.Any in its details, of RetryInfo, and of a Duration. */
const STATUS = { code: 1, message: 2, details: 3 } as const;
const ANY = { typeUrl: 1, value: 2 } as const;
const RETRY_DELAY = 1;
const DURATION = { seconds: 1, nanos: 2 } as const;

const RETRY_INFO = "type.googleapis.com/google.rpc.RetryInfo";

/** Encodes the status as the body of an error response. */
export function encodeStatus(status: RpcStatus, encoding: OtlpEncoding): Buffer {
  return encoding === "proto" ? encodeProtoStatus(status) : Buffer.from(JSON.stringify(toJsonStatus(status)));
}

/** Never throws: invalid bytes give an empty status. */
export function decodeStatus(bytes: Uint8Array, encoding: OtlpEncoding): RpcStatus {
  return encoding === "proto" ? readProtoStatus(bytes) : readJsonStatus(bytes);
}

function encodeProtoStatus({ code, message, retryAfterMs }: RpcStatus): Buffer {
  const details =
    retryAfterMs === undefined
      ? ""
      : writeFields([ANY.typeUrl, RETRY_INFO], [ANY.value, encodeRetryInfo(retryAfterMs)]);
  return writeFields([STATUS.code, code], [STATUS.message, message], [STATUS.details, details]);
}

function encodeRetryInfo(ms: number): Uint8Array {
  const seconds = Math.floor(ms / 1000);
  const nanos = Math.round((ms - seconds * 1000) * 1e6);
  return writeFields([RETRY_DELAY, writeFields([DURATION.seconds, seconds], [DURATION.nanos, nanos])]);
}

function readProtoStatus(bytes: Uint8Array): RpcStatus {
  const fields = readFields(bytes);
  const status = { code: intField(fields, STATUS.code), message: textField(fields, STATUS.message) };
  for (const field of fields) {
    if (field.number !== STATUS.details || typeof field.value === "bigint") continue;
    const any = readFields(field.value);
    if (!textField(any, ANY.typeUrl).endsWith("google.rpc.RetryInfo")) continue;
    const delay = readFields(bytesField(readFields(bytesField(any, ANY.value)), RETRY_DELAY));
    return {
      ...status,
      retryAfterMs: Math.max(0, intField(delay, DURATION.seconds) * 1000 + intField(delay, DURATION.nanos) / 1e6),
    };
  }
  return status;
}

function toJsonStatus({ code, message, retryAfterMs }: RpcStatus): object {
  if (retryAfterMs === undefined) return { code, message };
  return { code, message, details: [{ "@type": RETRY_INFO, retryDelay: `${retryAfterMs / 1000}s` }] };
}

function readJsonStatus(bytes: Uint8Array): RpcStatus {
  const { code, message, details } = parseJsonObject(bytes);
  const status = { code: Number(code) || 0, message: typeof message === "string" ? message : "" };
  for (const detail of Array.isArray(details) ? details : []) {
    const delay = /^(\d+(?:\.\d+)?)s$/.exec(String(detail?.retryDelay ?? ""));
    if (delay) return { ...status, retryAfterMs: Math.round(Number(delay[1]) * 1e9) / 1e6 };
  }
  return status;
}

/** The JSON object in these bytes; an empty one if there is none. */
function parseJsonObject(bytes: Uint8Array): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(Buffer.from(bytes).toString("utf8"));
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}

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
  const details = retryAfterMs === undefined ? "" : writeFields([1, RETRY_INFO], [2, encodeRetryInfo(retryAfterMs)]);
  return writeFields([1, code], [2, message], [3, details]);
}

function encodeRetryInfo(ms: number): Uint8Array {
  const seconds = Math.floor(ms / 1000);
  return writeFields([1, writeFields([1, seconds], [2, Math.round((ms - seconds * 1000) * 1e6)])]);
}

function readProtoStatus(bytes: Uint8Array): RpcStatus {
  const fields = readFields(bytes);
  const status = { code: intField(fields, 1), message: textField(fields, 2) };
  for (const field of fields) {
    if (field.number !== 3 || typeof field.value === "bigint") continue;
    const any = readFields(field.value);
    if (!textField(any, 1).endsWith("google.rpc.RetryInfo")) continue;
    const delay = readFields(bytesField(readFields(bytesField(any, 2)), 1));
    return { ...status, retryAfterMs: Math.max(0, intField(delay, 1) * 1000 + intField(delay, 2) / 1e6) };
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

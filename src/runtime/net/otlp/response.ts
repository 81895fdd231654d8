import type { PartialRejection } from "#contract";
import type { Signal } from "#otlp/signals";
import { isObject, type ObjectFields } from "#text/json";
import { intField, readWholeFields, textField, writeFields } from "./proto-fields.js";
import { OTLP_SERVICES, type OtlpEncoding } from "./services.js";

/** Field numbers of Export*ServiceResponse and of the Export*PartialSuccess in it. */
const PARTIAL_SUCCESS = 1;
const REJECTED = 1;
const ERROR_MESSAGE = 2;

const EMPTY_PROTO = Buffer.alloc(0);
const EMPTY_JSON = Buffer.from("{}");

/** An Export*ServiceResponse. Without rejected records and message, partial_success stays unset, as OTLP requires. */
export function encodeResponse(signal: Signal, encoding: OtlpEncoding, partial?: PartialRejection): Buffer {
  if (partial === undefined || (partial.rejected === 0 && partial.message === "")) {
    return encoding === "proto" ? EMPTY_PROTO : EMPTY_JSON;
  }
  const { rejected, message } = partial;
  if (encoding === "proto")
    return writeFields([PARTIAL_SUCCESS, writeFields([REJECTED, rejected], [ERROR_MESSAGE, message])]);
  const name = OTLP_SERVICES[signal].rejectedName;
  return Buffer.from(JSON.stringify({ partialSuccess: { [name]: String(rejected), errorMessage: message } }));
}

/**
 * The rejection in a response; undefined when everything was accepted. For an unreadable response the result is
 * unknown.
 */
export function decodeResponse(
  signal: Signal,
  encoding: OtlpEncoding,
  body: Uint8Array,
): PartialRejection | undefined | "unreadable" {
  if (body.length === 0) return undefined;
  const partial = encoding === "proto" ? readProto(body) : readJson(OTLP_SERVICES[signal].rejectedName, body);
  if (partial === undefined) return "unreadable";
  return partial.rejected === 0 && partial.message === "" ? undefined : partial;
}

function readProto(body: Uint8Array): PartialRejection | undefined {
  const response = readWholeFields(body);
  const messages = response?.flatMap(({ number, value }) => (number === PARTIAL_SUCCESS ? [value] : []));
  if (messages === undefined || !messages.every((value) => value instanceof Uint8Array)) return undefined;
  // Protobuf merges repeated occurrences of a message: concatenating them is the same.
  const partial = readWholeFields(messages.length === 1 ? messages[0]! : Buffer.concat(messages));
  return partial && { rejected: Math.max(0, intField(partial, REJECTED)), message: textField(partial, ERROR_MESSAGE) };
}

function readJson(name: string, body: Uint8Array): PartialRejection | undefined {
  const response = parseObject(body);
  if (response === undefined) return undefined;
  const partial = response["partialSuccess"] ?? response["partial_success"] ?? {};
  if (typeof partial !== "object") return undefined;
  const fields = partial as Record<string, unknown>;
  const rejected = Number(fields[name] ?? fields[toSnakeCase(name)] ?? 0);
  const message = fields["errorMessage"] ?? fields["error_message"];
  if (!Number.isFinite(rejected)) return undefined;
  return { rejected: Math.max(0, rejected), message: typeof message === "string" ? message : "" };
}

function parseObject(body: Uint8Array): ObjectFields | undefined {
  try {
    const value: unknown = JSON.parse(Buffer.from(body).toString("utf8"));
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** `rejectedLogRecords` as the protobuf files and OTTL spell it: `rejected_log_records`. */
function toSnakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

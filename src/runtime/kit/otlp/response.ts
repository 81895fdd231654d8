import type { PartialRejection } from "../../contract/delivery.js";
import type { Signal } from "../../telemetry/bytes/signal.js";
import { toSnakeCase } from "../text/snake-case.js";
import { bytesField, intField, readFields, textField, writeFields } from "./proto-fields.js";
import { parseJsonObject } from "./rpc-status.js";
import { OTLP_SERVICES, type OtlpEncoding } from "./services.js";

const EMPTY_PROTO = Buffer.alloc(0);
const EMPTY_JSON = Buffer.from("{}");

/** An Export*ServiceResponse. Nothing rejected and nothing to say leaves partial_success unset, as OTLP asks. */
export function encodeResponse(signal: Signal, encoding: OtlpEncoding, partial?: PartialRejection): Buffer {
  if (partial === undefined || (partial.rejected === 0 && partial.message === "")) {
    return encoding === "proto" ? EMPTY_PROTO : EMPTY_JSON;
  }
  const { rejected, message } = partial;
  if (encoding === "proto") return writeFields([1, writeFields([1, rejected], [2, message])]);
  const name = OTLP_SERVICES[signal].rejectedName;
  return Buffer.from(JSON.stringify({ partialSuccess: { [name]: String(rejected), errorMessage: message } }));
}

/** What a response says was rejected; undefined when all was taken. Garbage means that, too: a success is a success. */
export function decodeResponse(signal: Signal, encoding: OtlpEncoding, body: Uint8Array): PartialRejection | undefined {
  if (body.length === 0) return undefined;
  const partial = encoding === "proto" ? readProto(body) : readJson(OTLP_SERVICES[signal].rejectedName, body);
  return partial.rejected === 0 && partial.message === "" ? undefined : partial;
}

function readProto(body: Uint8Array): PartialRejection {
  const partial = readFields(bytesField(readFields(body), 1));
  return { rejected: Math.max(0, intField(partial, 1)), message: textField(partial, 2) };
}

function readJson(name: string, body: Uint8Array): PartialRejection {
  const response = parseJsonObject(body);
  const partial = response["partialSuccess"] ?? response["partial_success"];
  if (typeof partial !== "object" || partial === null) return { rejected: 0, message: "" };
  const fields = partial as Record<string, unknown>;
  const rejected = Number(fields[name] ?? fields[toSnakeCase(name)] ?? 0);
  const message = fields["errorMessage"] ?? fields["error_message"];
  return {
    rejected: Number.isFinite(rejected) && rejected > 0 ? rejected : 0,
    message: typeof message === "string" ? message : "",
  };
}

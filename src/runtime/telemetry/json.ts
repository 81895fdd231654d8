import { Batch } from "./batch.js";
import { encodeMessage } from "./encode.js";
import { MalformedError } from "./malformed.js";
import { REQUEST } from "./messages.js";
import type { Signal } from "./signal.js";
import { decodeTree } from "./tree.js";
import { WireWriter } from "./writer.js";

/** The batch of an OTLP/JSON request. Throws a `MalformedError`. 64-bit integers are exact however they are written. */
export function batchFromJson(signal: Signal, json: string | Uint8Array): Batch {
  const text = typeof json === "string" ? json : Buffer.prototype.utf8Slice.call(json, 0, json.length);
  const writer = new WireWriter(text.length);
  encodeMessage(REQUEST[signal], parse(text), writer);
  return Batch.admit(signal, writer.written());
}

/** The batch as one line of OTLP/JSON. */
export function batchToJson(batch: Batch): string {
  return JSON.stringify(decodeTree(batch), forJson);
}

function parse(text: string): unknown {
  try {
    return JSON.parse(LONG_NUMBER.test(text) ? text.replace(STRING_OR_LONG_NUMBER, quoteNumber) : text);
  } catch (error) {
    throw new MalformedError(`not JSON: ${(error as Error).message}`, -1, { cause: error });
  }
}

/** An integer that JSON.parse might round; OTLP/JSON writes those as strings, so this is rarely there. */
const LONG_NUMBER = /[:[,]\s*-?\d{16}/;
const STRING_OR_LONG_NUMBER = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d{16,}(?![\d.eE])/g;

function quoteNumber(token: string): string {
  return token.startsWith('"') ? token : `"${token}"`;
}

function forJson(this: unknown, key: string, value: unknown): unknown {
  if (typeof value === "bigint") return value.toString();
  if (typeof value === "number" && !Number.isFinite(value)) return String(value);
  if (value instanceof Uint8Array)
    return isId(key) ? Buffer.from(value).toString("hex") : Buffer.from(value).toString("base64");
  return value;
}

function isId(key: string): boolean {
  return key === "traceId" || key === "spanId" || key === "parentSpanId";
}

import { MalformedError } from "../signals/malformed.js";
import { MAX_DEPTH } from "./check/check-faults.js";
import { type Field, isPackable, type Message, UNKNOWN_FIELDS } from "./messages.js";
import { FIXED64, LENGTH_DELIMITED } from "./wire.js";
import type { WireWriter } from "./writer.js";

/**
 * Encodes plain objects as wire bytes, driven by the table of messages.
 *
 * Accepts the result of `decodeTree` and the result of `JSON.parse` for OTLP/JSON: names in lowerCamelCase or
 * snake_case, 64-bit integers as bigint, string or number, ids as bytes or hex, other bytes as bytes or base64, enums
 * as numbers or names, doubles as numbers or the strings NaN, Infinity and -Infinity. Unknown names are ignored, as
 * OTLP/JSON requires; null means absent. Fields are written in the order of the object's keys.
 */
export function encodeMessage(message: Message, value: unknown, writer: WireWriter, depth = MAX_DEPTH): void {
  if (depth === 0) throw new EncodeError(`nested more than ${MAX_DEPTH} deep`);
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw new EncodeError("expected an object");
  const object = value as Record<string | symbol, unknown>;
  for (const key of Object.keys(object)) {
    const field = message.byName.get(key);
    const content = object[key];
    if (field === undefined || content === undefined || content === null) continue;
    if (field.repeated) encodeList(field, content, writer, depth);
    else encodeSingle(field, content, writer, depth);
  }
  const unknown = object[UNKNOWN_FIELDS] as Uint8Array[] | undefined;
  if (unknown !== undefined) for (const bytes of unknown) writer.copy(bytes, 0, bytes.length);
}

/** Encodes a field of a record with its tag: one value, or all values of a repeated field. */
export function encodeField(field: Field, content: unknown, writer: WireWriter): void {
  if (field.repeated) encodeList(field, content, writer, DEPTH_IN_RECORD);
  else encodeSingle(field, content, writer, DEPTH_IN_RECORD);
}

/** The depth left inside a data point, the most deeply nested record. */
const DEPTH_IN_RECORD = MAX_DEPTH - 5;

function encodeSingle(field: Field, content: unknown, writer: WireWriter, depth: number): void {
  try {
    encodeTagged(field, content, writer, depth);
  } catch (error) {
    throw withPath(field.name, error);
  }
}

function encodeList(field: Field, content: unknown, writer: WireWriter, depth: number): void {
  if (!Array.isArray(content)) throw new EncodeError("expected a list", field.name);
  const packed = isPackable(field) && content.length > 0;
  if (packed) beginPacked(field, content.length, writer);
  let i = 0;
  try {
    for (; i < content.length; i++) {
      if (packed) encodeScalar(field, content[i], writer, depth);
      else encodeTagged(field, content[i], writer, depth);
    }
  } catch (error) {
    throw withPath(`${field.name}[${i}]`, error);
  }
  if (packed) writer.end();
}

function encodeTagged(field: Field, content: unknown, writer: WireWriter, depth: number): void {
  writer.varint(field.tag);
  encodeScalar(field, content, writer, depth);
}

function beginPacked(field: Field, count: number, writer: WireWriter): void {
  writer.varint((field.number << 3) | LENGTH_DELIMITED);
  writer.begin(count * ((field.tag & 7) === FIXED64 ? 8 : 1));
}

/** Encodes the value of a field without its tag. */
export function encodeScalar(field: Field, content: unknown, writer: WireWriter, depth: number): void {
  switch (field.type) {
    case "message":
      writer.begin();
      encodeMessage(field.message!, content, writer, depth - 1);
      return writer.end();
    case "string":
      return writer.text(toText(content));
    case "bytes":
      return writer.lengthDelimited(toBytes(content, "base64"));
    case "id":
      return writer.lengthDelimited(toBytes(content, "hex"));
    case "bool":
      return writer.byte(toBoolean(content) ? 1 : 0);
    case "double":
      return writer.double(toDouble(content));
    case "int64":
      return writer.varint64(toInteger(content, -(2n ** 63n), 2n ** 63n - 1n));
    case "uint64":
      return writer.varint64(toInteger(content, 0n, 2n ** 64n - 1n));
    case "fixed64":
      return writer.fixed64(toInteger(content, 0n, 2n ** 64n - 1n));
    case "sfixed64":
      return writer.fixed64(toInteger(content, -(2n ** 63n), 2n ** 63n - 1n));
    case "uint32":
      return writer.varint(Number(toInteger(content, 0n, 2n ** 32n - 1n)));
    case "fixed32":
      return writer.fixed32(Number(toInteger(content, 0n, 2n ** 32n - 1n)));
    case "sint32": {
      const value = Number(toInteger(content, -(2n ** 31n), 2n ** 31n - 1n));
      return writer.varint(((value << 1) ^ (value >> 31)) >>> 0);
    }
    case "enum":
      return writer.varint64(toEnum(content, field.enumNames ?? []));
    case "int32":
      return writer.varint64(toInteger(content, -(2n ** 31n), 2n ** 31n - 1n));
  }
}

function toText(content: unknown): string {
  if (typeof content === "string") return content;
  throw new EncodeError("expected a string");
}

function toBoolean(content: unknown): boolean {
  if (typeof content === "boolean") return content;
  if (content === "true" || content === "false") return content === "true";
  throw new EncodeError("expected true or false");
}

function toBytes(content: unknown, form: "hex" | "base64"): Uint8Array {
  if (content instanceof Uint8Array) return content;
  if (typeof content !== "string") throw new EncodeError(`expected ${form} text`);
  const wellFormed = form === "hex" ? /^[0-9a-f]*$/i : /^[A-Za-z0-9+/_-]*={0,2}$/;
  const halfByte = form === "hex" && content.length % 2 > 0;
  if (halfByte || !wellFormed.test(content)) throw new EncodeError(`expected ${form} text`);
  return Buffer.from(content, form);
}

function toDouble(content: unknown): number {
  if (typeof content === "number") return content;
  if (typeof content === "bigint") return Number(content);
  if (typeof content === "string" && content.trim() !== "") {
    const value = Number(content);
    if (!Number.isNaN(value) || content === "NaN") return value;
  }
  throw new EncodeError("expected a number");
}

function toInteger(content: unknown, min: bigint, max: bigint): bigint {
  const value = parseInteger(content);
  if (value === undefined) throw new EncodeError("expected an integer");
  if (value < min || value > max) throw new EncodeError(`expected an integer from ${min} to ${max}`);
  return value;
}

function parseInteger(content: unknown): bigint | undefined {
  if (typeof content === "bigint") return content;
  if (typeof content === "number") return Number.isInteger(content) ? BigInt(content) : undefined;
  if (typeof content !== "string" || content.length > MAX_INTEGER_LENGTH) return undefined;
  if (/^[+-]?\d+$/.test(content)) return BigInt(content.replace("+", ""));
  const value = Number(content); // protobuf's JSON allows 1e3 and 1.0 for an integer
  return content.trim() !== "" && Number.isInteger(value) ? BigInt(value) : undefined;
}

/** In characters, with a wide margin: an endless row of digits is not worth converting. */
const MAX_INTEGER_LENGTH = 64;

function toEnum(content: unknown, names: readonly string[]): bigint {
  const index = typeof content === "string" ? names.indexOf(content) : -1;
  if (index >= 0) return BigInt(index);
  return toInteger(content, -(2n ** 31n), 2n ** 31n - 1n);
}

/** An error that collects its path while it propagates. */
export class EncodeError extends MalformedError {
  readonly reason: string;
  readonly path: string;

  constructor(reason: string, path = "") {
    super(path === "" ? reason : `${path}: ${reason}`, -1);
    this.reason = reason;
    this.path = path;
  }
}

function withPath(segment: string, error: unknown): unknown {
  if (!(error instanceof EncodeError)) return error;
  return new EncodeError(error.reason, error.path === "" ? segment : `${segment}.${error.path}`);
}

import { dateOf } from "#text";
import { notFiniteText, quoteGoJson } from "#text/go";
import { compareText } from "./compare.js";
import { OttlError } from "./error.js";
import { joinTexts } from "./limits.js";
import { OttlDuration, OttlId, OttlMessages, OttlTime, type OttlValue, typeName } from "./value.js";

/** Conversions from any value to text and numbers, for functions that take any value. Nil stays nil. */

/** Bytes in hex, ids as lists of numbers, maps and lists as JSON, everything else as written. */
export function toText(value: OttlValue): string | null {
  if (typeof value === "string") return value;
  if (value === null) return null;
  if (value instanceof Uint8Array && !(value instanceof OttlId)) return Buffer.from(value).toString("hex");
  return toJson(value);
}

/**
 * The value as an attribute's text, for `body.string`, `stringify_all` and others: bytes in base64, nil empty, and maps
 * and lists as JSON in which markup is not escaped and NaN and the infinities are texts.
 */
export function plainText(value: OttlValue): string {
  if (value === null) return "";
  if (typeof value === "string") return value;
  if (value instanceof Uint8Array) return Buffer.from(value).toString("base64");
  if (value === Infinity || value === -Infinity) return String(value);
  return typeof value === "number" ? doubleText(value) : toJson(value, JSON_OF_VALUES);
}

interface JsonStyle {
  quote(text: string): string;
  /** Formats a finite double. */
  double(value: number): string;
  /** Formats NaN and the infinities, which are not JSON numbers. */
  notFinite(value: number): string;
}

const JSON_OF_VALUES: JsonStyle = {
  quote: quoteSeparators,
  double: doubleText,
  notFinite: (value) => JSON.stringify(notFiniteText(value)),
};
const JSON_OF_GO: JsonStyle = {
  quote: quoteGoJson,
  double: (value) => doubleText(value).replace(/e-(\d)$/, "e-0$1"),
  notFinite: (value) => {
    throw new OttlError(`${notFiniteText(value)} has no form in JSON`);
  },
};

/** A double as Go's JSON writes it: 1e-7, not 1e-07; the sign of -0 is kept. */
function doubleText(value: number): string {
  if (Number.isFinite(value)) return Object.is(value, -0) ? "-0" : String(value);
  return notFiniteText(value);
}

/** JSON with sorted keys, as Go writes it; bytes in base64. */
function toJson(value: OttlValue, style: JsonStyle = JSON_OF_GO): string {
  switch (typeof value) {
    case "string":
      return style.quote(value);
    case "bigint":
    case "boolean":
      return String(value);
    case "number":
      return Number.isFinite(value) ? style.double(value) : style.notFinite(value);
  }
  if (value === null) return "null";
  if (value instanceof OttlId) return `[${value.join(",")}]`;
  if (value instanceof Uint8Array) return quoteGoJson(Buffer.from(value).toString("base64"));
  if (Array.isArray(value)) {
    const items = value.map((item) => toJson(item, style));
    return `[${joinTexts(items, ",")}]`;
  }
  if (value instanceof Map) {
    const keys = [...value.keys()].sort(compareText);
    const entries = keys.map((key) => `${style.quote(key)}:${toJson(value.get(key)!, style)}`);
    return `{${joinTexts(entries, ",")}}`;
  }
  if (value instanceof OttlTime) return quoteGoJson(rfc3339(value));
  if (value instanceof OttlDuration) return String(value.nanos);
  throw new OttlError(`${typeName(value)} has no form as text`);
}

/** A text as JSON without the escapes for markup; the two line separators of Unicode stay escaped. */
function quoteSeparators(text: string): string {
  return JSON.stringify(text).replace(/[\u2028\u2029]/g, (c) => `\\u${c.charCodeAt(0).toString(16)}`);
}

/** For example 2023-04-05T06:07:08.5Z, in the time's own zone, with as many decimals as needed. */
function rfc3339(time: OttlTime): string {
  const local = time.nanos + BigInt(time.zone.offsetSeconds) * 1_000_000_000n;
  const fraction = ((local % 1_000_000_000n) + 1_000_000_000n) % 1_000_000_000n;
  const date = dateOf((local - fraction) / 1_000_000n);
  // At most 9 characters.
  const decimals = fraction === 0n ? "" : `.${String(fraction).padStart(9, "0").replace(/0+$/, "")}`;
  return `${date.toISOString().slice(0, 19)}${decimals}${offsetText(time.zone.offsetSeconds)}`;
}

function offsetText(seconds: number): string {
  if (seconds === 0) return "Z";
  const minutes = Math.abs(Math.trunc(seconds / 60));
  const pad = (n: number) => String(n).padStart(2, "0");
  return `${seconds < 0 ? "-" : "+"}${pad(Math.trunc(minutes / 60))}:${pad(minutes % 60)}`;
}

const INT64_MIN = -(2n ** 63n);
const INT64_MAX = 2n ** 63n - 1n;

/** The value as an integer: text that is not an integer gives nil, a double is truncated. */
export function toInt(value: OttlValue): bigint | null {
  switch (typeof value) {
    case "bigint":
      return value;
    case "number":
      return doubleToInt(value);
    case "boolean":
      return value ? 1n : 0n;
    case "string":
      return parseInteger(value);
  }
  if (value === null) return null;
  throw new OttlError(`${typeName(value)} cannot become an int`);
}

function parseInteger(text: string): bigint | null {
  if (text.length > 64 || !/^[+-]?\d+$/.test(text)) return null;
  const value = BigInt(text.startsWith("+") ? text.slice(1) : text);
  return value < INT64_MIN || value > INT64_MAX ? null : value;
}

function doubleToInt(value: number): bigint {
  if (Number.isNaN(value) || value < -(2 ** 63) || value >= 2 ** 63) return INT64_MIN;
  return BigInt(Math.trunc(value));
}

/** The value as a double: text that is not a number is an error. */
export function toDouble(value: OttlValue): number | null {
  switch (typeof value) {
    case "number":
      return value;
    case "bigint":
      return Number(value);
    case "boolean":
      return value ? 1 : 0;
    case "string":
      return parseDouble(value);
  }
  if (value === null) return null;
  throw new OttlError(`${typeName(value)} cannot become a double`);
}

const MAX_NUMBER_LENGTH = 1000;

function parseDouble(written: string): number {
  const text = /\d_\d/.test(written) && !/_[^\d]|[^\d]_|^_|_$/.test(written) ? written.replaceAll("_", "") : written;
  if (
    text.length < MAX_NUMBER_LENGTH &&
    /^[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?$/.test(text) &&
    Number.isFinite(Number(text))
  )
    return Number(text);
  if (/^[+-]?(inf|infinity)$/i.test(text)) return text.startsWith("-") ? -Infinity : Infinity;
  if (/^nan$/i.test(text)) return Number.NaN;
  const hexadecimal = HEXADECIMAL.exec(text);
  if (hexadecimal !== null) return hexadecimalDouble(hexadecimal);
  throw new OttlError(`${JSON.stringify(text.slice(0, 40))} is not a number`);
}

/** As in Go, where the exponent of two is required: `0x1p4` is 16. */
const HEXADECIMAL = /^([+-]?)0x([\da-f]{1,13})(?:\.([\da-f]{1,13}))?p([+-]?\d{1,4})$/i;

function hexadecimalDouble([, sign, whole = "", fraction = "", exponent]: RegExpExecArray): number {
  const digits = Number.parseInt(whole + fraction, 16) * 2 ** (Number(exponent) - 4 * fraction.length);
  return sign === "-" ? -digits : digits;
}

const TRUE = new Set(["1", "t", "T", "true", "TRUE", "True"]);
const FALSE = new Set(["0", "f", "F", "false", "FALSE", "False"]);

export function toBool(value: OttlValue): boolean | null {
  switch (typeof value) {
    case "boolean":
      return value;
    case "number":
      return value !== 0;
    case "bigint":
      return value !== 0n;
    case "string":
      if (TRUE.has(value)) return true;
      if (FALSE.has(value)) return false;
      throw new OttlError(`${JSON.stringify(value.slice(0, 40))} is not a bool`);
  }
  if (value === null) return null;
  throw new OttlError(`${typeName(value)} cannot become a bool`);
}

/** The value as bytes: numbers take 8 bytes, most significant first. */
export function toBytes(value: OttlValue): Uint8Array | null {
  if (value === null) return null;
  if (value instanceof OttlId) throw new OttlError("an id cannot become bytes");
  if (value instanceof Uint8Array) return value;
  if (typeof value === "string") return Buffer.from(value);
  if (typeof value === "boolean") return Uint8Array.of(value ? 1 : 0);
  const bytes = Buffer.alloc(8);
  if (typeof value === "bigint") bytes.writeBigInt64BE(value);
  else if (typeof value === "number") bytes.writeDoubleBE(value);
  else throw new OttlError(`${typeName(value)} cannot become bytes`);
  return bytes;
}

/** The number of entries, items or bytes of text. */
export function lengthOf(value: OttlValue): number {
  if (typeof value === "string") return Buffer.byteLength(value);
  if (value instanceof Map) return value.size;
  if (Array.isArray(value) || (value instanceof Uint8Array && !(value instanceof OttlId))) return value.length;
  if (value instanceof OttlMessages && value.kind !== "status") return value.items.length;
  throw new OttlError(`${typeName(value)} has no length`);
}

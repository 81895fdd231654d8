import { decodeMessage } from "../../bytes/decode.js";
import { KeyCache } from "../../bytes/key-cache.js";
import { findKeyAndValue, keyEnd, keyStart, valueEnd, valueStart } from "../../bytes/key-value.js";
import { MESSAGES } from "../../bytes/messages.js";
import { DOUBLE_VALUE_TAG, INT_VALUE_TAG, STRING_VALUE_TAG } from "../../bytes/tags.generated.js";
import { decodeText } from "../../bytes/texts.js";
import { after, bodyEnd, double, fieldTag, lengthAt, nextBody, stepOver, valueAt, varint } from "../../bytes/wire.js";
import { MalformedError } from "../../signals/malformed.js";
import type { Tree } from "../tree.js";

/**
 * Converts a program's value to an OTLP AnyValue as a tree. Values without an OTLP form become text. Throws a
 * `MalformedError` for a value nested thousands of levels deep.
 */
export function anyValue(value: unknown, depth = 0): Tree {
  switch (typeof value) {
    case "string":
      return { stringValue: value };
    case "boolean":
      return { boolValue: value };
    case "bigint":
      return isInt64(value) ? { intValue: value } : { stringValue: String(value) };
    case "number":
      return Number.isSafeInteger(value) ? { intValue: BigInt(value) } : { doubleValue: value };
    case "object":
      return value === null ? {} : anyObject(value, depth);
    default:
      return {};
  }
}

export function keyValues(values: Readonly<Record<string, unknown>>, prefix = "", depth = 0): Tree[] {
  return Object.entries(values)
    .filter(([, value]) => value !== undefined)
    .map(([key, value]) => ({ key: prefix + key, value: anyValue(value, depth) }));
}

/** OTLP's readers refuse deeper values. */
const MAX_DEPTH = 32;

function anyObject(value: object, depth: number): Tree {
  if (value instanceof Uint8Array) return { bytesValue: value };
  if (value instanceof Date) return { stringValue: value.toISOString() };
  if (depth === MAX_DEPTH) return { stringValue: textOfRest(value) };
  if (Array.isArray(value)) return { arrayValue: { values: value.map((each) => anyValue(each, depth + 1)) } };
  return { kvlistValue: { values: keyValues(value as Record<string, unknown>, "", depth + 1) } };
}

/** JSON.stringify recurses for every level; JSON.parse, which may have made the value, does not. */
function textOfRest(value: object): string {
  try {
    return JSON.stringify(value);
  } catch (cause) {
    throw new MalformedError("the values in it are nested too deeply", -1, { cause });
  }
}

function isInt64(value: bigint): boolean {
  return BigInt.asIntN(64, value) === value;
}

/**
 * Converts an AnyValue of a tree to a program's value: integers that a number cannot hold stay bigint, bytes stay
 * bytes.
 */
export function plainValue(value: Tree | undefined): unknown {
  const { stringValue, boolValue, intValue, doubleValue, bytesValue, arrayValue, kvlistValue } = (value ??
    {}) as AnyValueTree;
  if (stringValue !== undefined && intValue === undefined && arrayValue === undefined && kvlistValue === undefined)
    return stringValue;
  if (intValue !== undefined) return Number.isSafeInteger(Number(intValue)) ? Number(intValue) : BigInt(intValue);
  if (arrayValue !== undefined) return (arrayValue.values ?? []).map(plainValue);
  if (kvlistValue !== undefined) return plainObject(kvlistValue.values);
  return stringValue ?? boolValue ?? doubleValue ?? bytesValue ?? null;
}

export function plainObject(values: readonly KeyValueTree[] = []): Record<string, unknown> {
  const object: Record<string, unknown> = {};
  for (const { key = "", value } of values) setMember(object, key, plainValue(value));
  return object;
}

/** Sets a member, also one with the name `__proto__`. */
function setMember(object: Record<string, unknown>, key: string, value: unknown): void {
  if (key !== "__proto__") object[key] = value;
  else Object.defineProperty(object, key, { value, ...ORDINARY });
}

/** The same for the KeyValues with this tag in the message [start, end). */
export function plainAttributes(
  b: Uint8Array,
  start: number,
  end: number,
  attributesTag: number,
): Record<string, unknown> {
  const object: Record<string, unknown> = {};
  for (let p = start; (p = nextBody(b, p, end, attributesTag)) >= 0; ) {
    const at = lengthAt;
    p = bodyEnd;
    findKeyAndValue(b, at, p);
    const [from, to] = [valueStart, valueEnd];
    setMember(object, keys.get(b, keyStart, keyEnd), plainValueAt(b, from, to));
  }
  return object;
}

/** Objects find members faster by texts that were keys before. */
const keys = new KeyCache<string>(decodeText);

/** Converts the AnyValue in [start, end), as `plainValue` does. The most common ones take no tree. */
export function plainValueAt(b: Uint8Array, start: number, end: number): unknown {
  if (start < end && stepOver(b, start) === end) {
    const at = valueAt;
    switch (fieldTag) {
      case STRING_VALUE_TAG:
        varint(b, at);
        return decodeText(b, after, end);
      case INT_VALUE_TAG:
        if (end - at < 5) return varint(b, at);
        break;
      case DOUBLE_VALUE_TAG:
        return double(b, at);
    }
  }
  return plainValue(decodeMessage(MESSAGES["AnyValue"]!, b, start, end));
}

const ORDINARY = { writable: true, enumerable: true, configurable: true };

/**
 * A plain value as JSON. Values without a JSON form become text, as in OTLP/JSON: integers beyond exact numbers, NaN
 * and the infinities; bytes become base64.
 */
export function jsonText(value: unknown): string {
  return isJson(value) ? JSON.stringify(value) : JSON.stringify(value, forJson);
}

/**
 * Whether JSON can express everything in the value. Checking first is several times as fast as a replacer call for
 * every value.
 */
function isJson(value: unknown): boolean {
  switch (typeof value) {
    case "number":
      return Number.isFinite(value);
    case "bigint":
      return false;
    case "object":
      break;
    default:
      return true;
  }
  if (value === null) return true;
  if (Array.isArray(value)) return value.every(isJson);
  if (ArrayBuffer.isView(value)) return false;
  for (const key in value) if (!isJson((value as Record<string, unknown>)[key])) return false;
  return true;
}

function forJson(_key: string, value: unknown): unknown {
  switch (typeof value) {
    case "number":
      return Number.isFinite(value) ? value : String(value);
    case "bigint":
      return String(value);
    case "object":
      return value instanceof Uint8Array ? Buffer.from(value).toString("base64") : value;
    default:
      return value;
  }
}

/** A plain value as text: a text as it is, an empty text for null, bytes in base64, everything else as JSON. */
export function plainValueText(value: unknown): string {
  if (value === undefined || value === null) return "";
  if (typeof value === "string") return value;
  const json = jsonText(value);
  return json.startsWith('"') ? json.slice(1, -1) : json;
}

export interface KeyValueTree {
  readonly key?: string;
  readonly value?: Tree;
}

interface AnyValueTree {
  readonly stringValue?: string;
  readonly boolValue?: boolean;
  readonly intValue?: bigint | number | string;
  readonly doubleValue?: number;
  readonly bytesValue?: Uint8Array;
  readonly arrayValue?: { readonly values?: readonly Tree[] };
  readonly kvlistValue?: { readonly values?: readonly KeyValueTree[] };
}

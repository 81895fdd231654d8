import { ExpressionDuration, ExpressionTime } from "./times.js";
import { ExpressionError } from "./tokens.js";

/** A value in an expression. A bigint is an integer and a number a double; maps are objects whose own keys count. */
export type ExpressionValue = unknown;

export function typeName(value: ExpressionValue): string {
  if (value === null || value === undefined) return "nil";
  if (Array.isArray(value)) return "array";
  if (value instanceof Uint8Array) return "bytes";
  if (typeof value === "bigint") return "int";
  if (typeof value === "number") return "float";
  if (typeof value === "boolean") return "bool";
  if (value instanceof ExpressionTime) return "time.Time";
  if (value instanceof ExpressionDuration) return "time.Duration";
  return typeof value === "object" ? "map" : typeof value;
}

export function isMap(value: ExpressionValue): value is Record<string, ExpressionValue> {
  return typeName(value) === "map";
}

export function asText(value: ExpressionValue, what: string): string {
  if (typeof value === "string") return value;
  throw new ExpressionError(`${what} needs a string, not ${typeName(value)}`);
}

export function asNumber(value: ExpressionValue, what: string): number {
  if (typeof value === "number") return value;
  if (typeof value === "bigint") return Number(value);
  throw new ExpressionError(`${what} needs a number, not ${typeName(value)}`);
}

export function asTruth(value: ExpressionValue, what: string): boolean {
  if (typeof value === "boolean") return value;
  throw new ExpressionError(`${what} needs true or false, not ${typeName(value)}`);
}

export function asList(value: ExpressionValue, what: string): readonly ExpressionValue[] {
  if (Array.isArray(value)) return value;
  if (isMap(value)) return Object.values(value);
  throw new ExpressionError(`${what} needs an array, not ${typeName(value)}`);
}

export function isEqual(a: ExpressionValue, b: ExpressionValue): boolean {
  if (a === b) return true;
  if (a === null || a === undefined) return b === null || b === undefined;
  if (typeof a === "bigint") return typeof b === "number" && Number(a) === b;
  if (typeof b === "bigint") return typeof a === "number" && Number(b) === a;
  if (a instanceof ExpressionTime) return b instanceof ExpressionTime && a.nanos === b.nanos;
  if (a instanceof ExpressionDuration) return b instanceof ExpressionDuration && a.nanos === b.nanos;
  if (Array.isArray(a)) return Array.isArray(b) && a.length === b.length && a.every((item, i) => isEqual(item, b[i]));
  if (!isMap(a) || !isMap(b)) return false;
  const keys = Object.keys(a);
  return keys.length === Object.keys(b).length && keys.every((key) => Object.hasOwn(b, key) && isEqual(a[key], b[key]));
}

/**
 * Returns a negative number, 0 or a positive one; compares only values of the same kind: numbers, strings, times or
 * durations.
 */
export function compare(a: ExpressionValue, b: ExpressionValue, sign: string): number {
  if (typeof a === "string" && typeof b === "string") return a < b ? -1 : a > b ? 1 : 0;
  if (typeof a === "bigint" && typeof b === "bigint") return order(a, b);
  if (a instanceof ExpressionTime && b instanceof ExpressionTime) return order(a.nanos, b.nanos);
  if (a instanceof ExpressionDuration && b instanceof ExpressionDuration) return order(a.nanos, b.nanos);
  return asNumber(a, sign) - asNumber(b, sign);
}

function order(a: bigint, b: bigint): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** A map of strings. A missing key has the value "", as in Go. */
export class TextMap {
  readonly [key: string]: string;

  constructor(entries: Readonly<Record<string, string>>) {
    Object.assign(this, entries);
  }
}

/** The value at a key of a map or an index of an array; nil for a missing key. */
export function member(target: ExpressionValue, key: ExpressionValue): ExpressionValue {
  if (Array.isArray(target) || typeof target === "string") {
    const index = asNumber(key, "an index");
    const value = target.at(index);
    if (value === undefined) throw new ExpressionError(`there is no index ${index}`);
    return value;
  }
  if (!isMap(target)) throw new ExpressionError(`cannot fetch ${String(key)} from ${typeName(target)}`);
  const name = asText(key, "a key");
  if (Object.hasOwn(target, name)) return target[name];
  return target instanceof TextMap ? "" : null;
}

export function isIn(value: ExpressionValue, container: ExpressionValue): boolean {
  if (Array.isArray(container)) return container.some((item) => isEqual(item, value));
  if (isMap(container)) return typeof value === "string" && Object.hasOwn(container, value);
  if (container === null || container === undefined) return false;
  throw new ExpressionError(`in needs an array or a map, not ${typeName(container)}`);
}

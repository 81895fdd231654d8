import { DoubleValue, type Value } from "../telemetry/views/value.js";

/** Deep enough for any log, and less than what a value may be on the wire. */
const MAX_DEPTH = 20;

/**
 * What a program logs as a telemetry value: a Date as its ISO text, an Error as its type, message and stack, anything
 * with `toJSON` as that, and what is no data (functions, symbols) as text. Cycles are cut. Throws only what a getter of
 * the program throws.
 */
export function friendlyValue(value: unknown, ancestors: readonly object[] = []): Value {
  switch (typeof value) {
    case "string":
    case "number":
    case "boolean":
      return value;
    case "bigint":
      return value === BigInt.asIntN(64, value) ? value : String(value);
    case "object":
      return value === null ? null : friendlyObject(value, ancestors);
    case "undefined":
      return null;
    default:
      return String(value);
  }
}

function friendlyObject(value: object, ancestors: readonly object[]): Value {
  if (value instanceof Uint8Array || value instanceof DoubleValue) return value;
  if (ancestors.includes(value)) return "[circular]";
  if (ancestors.length >= MAX_DEPTH) return "[too deep]";
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? null : value.toISOString();
  if (value instanceof Error) return errorValue(value, [...ancestors, value]);
  if (value instanceof Map) return friendlyMap(stringKeyed(value), [...ancestors, value]);
  if (Array.isArray(value) || value instanceof Set) {
    const inside = [...ancestors, value];
    return Array.from(value, (item) => friendlyValue(item, inside));
  }
  const { toJSON } = value as { toJSON?: unknown };
  if (typeof toJSON === "function") return friendlyValue(toJSON.call(value), [...ancestors, value]);
  return friendlyMap(Object.entries(value), [...ancestors, value]);
}

function friendlyMap(entries: Iterable<[string, unknown]>, ancestors: readonly object[]): Value {
  const map: Record<string, Value> = Object.create(null);
  for (const [key, item] of entries) if (item !== undefined) map[key] = friendlyValue(item, ancestors);
  return map;
}

function errorValue(error: Error, ancestors: readonly object[]): Value {
  const { name: type, message, stack, cause } = error;
  return {
    type: String(type),
    message: String(message),
    ...(typeof stack === "string" && { stack }),
    ...(cause !== undefined && { cause: friendlyValue(cause, ancestors) }),
  };
}

function* stringKeyed(map: Map<unknown, unknown>): Generator<[string, unknown]> {
  for (const [key, value] of map) yield [String(key), value];
}

import { DoubleValue, type Value } from "#otlp/bytes";

/** Deep enough for any log, and less than what a value may be on the wire. */
const MAX_DEPTH = 20;
/** What one value may come to: about so many bytes of text, or so many values of the size below. */
const MAX_BYTES = 16 * 1024 * 1024;
const VALUE_BYTES = 128;

/** The way from the value that was logged to the one that is looked at, and what all of it may still cost. */
interface ValueWalk {
  readonly ancestors: readonly object[];
  readonly budget: { left: number };
}

/**
 * What a program logs as a telemetry value: a Date as its ISO text, an Error as its type, message, stack and fields,
 * anything with `toJSON` as that, bytes as bytes, and what is no data (functions, symbols) as text.
 *
 * Never throws and always ends: cycles are cut, so is what is too deep or too much (things that are linked to each other
 * in many ways are a tree without end), and what cannot be read is a text that says so.
 */
export function telemetryValue(value: unknown, walk?: ValueWalk): Value {
  switch (typeof value) {
    case "string":
    case "number":
    case "boolean":
      return value;
    case "bigint":
      return value === BigInt.asIntN(64, value) ? value : String(value);
    case "object":
      return value === null ? null : objectValueOrNote(value, walk ?? { ancestors: [], budget: { left: MAX_BYTES } });
    case "undefined":
      return null;
    default:
      return String(value);
  }
}

function objectValueOrNote(value: object, walk: ValueWalk): Value {
  try {
    return objectValue(value, walk);
  } catch {
    return "[cannot be read]";
  }
}

function objectValue(value: object, { ancestors, budget }: ValueWalk): Value {
  if (value instanceof Uint8Array || value instanceof DoubleValue) return value;
  if (ancestors.includes(value)) return "[circular]";
  if (ancestors.length >= MAX_DEPTH) return "[too deep]";
  const inside = { ancestors: [...ancestors, value], budget };
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? null : value.toISOString();
  if (value instanceof Error) return mapValue(errorFields(value), inside);
  if (value instanceof Map) return mapValue(stringKeyed(value), inside);
  if (Array.isArray(value) || value instanceof Set) return listValue(value, inside);
  const { toJSON } = value as { toJSON?: unknown };
  if (typeof toJSON === "function") return telemetryValue(toJSON.call(value), inside);
  return builtInValue(value, inside) ?? mapValue(Object.entries(value), inside);
}

/** Values of built-in types whose fields do not tell what they hold. */
function builtInValue(value: object, walk: ValueWalk): Value | undefined {
  if (value instanceof RegExp) return String(value);
  if (value instanceof ArrayBuffer || value instanceof SharedArrayBuffer) return new Uint8Array(value);
  if (value instanceof DataView) return new Uint8Array(value.buffer, value.byteOffset, value.byteLength);
  if (ArrayBuffer.isView(value)) return listValue(value as Float64Array, walk);
  if (value instanceof String || value instanceof Number || value instanceof Boolean) return value.valueOf() as Value;
  return undefined;
}

function listValue(items: Iterable<unknown>, walk: ValueWalk): Value {
  const list: Value[] = [];
  for (const item of items) {
    const isOver = walk.budget.left < 0;
    list.push(isOver ? TOO_MUCH : chargedValue(item, walk));
    if (isOver) break;
  }
  return list;
}

function mapValue(entries: Iterable<[string, unknown]>, walk: ValueWalk): Value {
  const map: Record<string, Value> = Object.create(null);
  for (const [key, item] of entries) {
    if (item === undefined) continue;
    const isOver = walk.budget.left < 0;
    map[key] = isOver ? TOO_MUCH : chargedValue(item, walk);
    if (isOver) break;
  }
  return map;
}

/** Stands for a value of a list or map, and for all that follow. */
const TOO_MUCH = "[too much]";

function chargedValue(item: unknown, walk: ValueWalk): Value {
  const value = telemetryValue(item, walk);
  walk.budget.left -= VALUE_BYTES + (typeof value === "string" || value instanceof Uint8Array ? value.length : 0);
  return value;
}

/** The fields of an error; those that are not enumerable come first. */
function* errorFields(error: Error): Generator<[string, unknown]> {
  const { name, message, stack, cause } = error;
  yield ["type", String(name)];
  yield ["message", String(message)];
  if (typeof stack === "string") yield ["stack", stack];
  if (cause !== undefined) yield ["cause", cause];
  if (error instanceof AggregateError) yield ["errors", error.errors];
  for (const [key, value] of Object.entries(error)) {
    if (!STANDARD_ERROR_FIELDS.has(key)) yield [key === "type" ? "error.type" : key, value];
  }
}

const STANDARD_ERROR_FIELDS = new Set(["name", "message", "stack", "cause"]);

function* stringKeyed(map: Map<unknown, unknown>): Generator<[string, unknown]> {
  for (const [key, value] of map) yield [String(key), value];
}

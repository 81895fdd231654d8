import { DoubleValue, type Value } from "#otlp/bytes";

/** Deep enough for any log, and below the limit for nested values on the wire. */
const MAX_DEPTH = 20;
/** Limit for one value: about this many bytes of text, where each nested value counts as at least `VALUE_BYTES`. */
const MAX_BYTES = 16 * 1024 * 1024;
const VALUE_BYTES = 128;

/** The objects on the path from the logged value to the current one, and the budget left for the whole value. */
interface ValueWalk {
  readonly ancestors: readonly object[];
  readonly budget: { left: number };
}

/**
 * Converts a logged value to a telemetry value: a Date becomes its ISO string, an Error its type, message, stack and
 * fields, an object with `toJSON` its result. Bytes stay bytes. Functions and symbols become strings.
 *
 * Never throws and always ends: cycles are cut, and so are values that are too deep or too large (a densely linked
 * object graph is an endless tree). A value that cannot be read becomes a string that says so.
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

/** Stands for a value that throws when it is read. */
export const UNREADABLE = "[cannot be read]";

function objectValueOrNote(value: object, walk: ValueWalk): Value {
  try {
    return objectValue(value, walk);
  } catch {
    return UNREADABLE;
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

/** Converts built-in types whose fields do not show their content. */
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

/** Stands for a value of a list or map and for all values after it. */
const TOO_MUCH = "[too much]";

function chargedValue(item: unknown, walk: ValueWalk): Value {
  const value = telemetryValue(item, walk);
  walk.budget.left -= VALUE_BYTES + (typeof value === "string" || value instanceof Uint8Array ? value.length : 0);
  return value;
}

/** Yields the fields of an error, non-enumerable ones first. */
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

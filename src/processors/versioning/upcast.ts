import { asDouble, type Value, valueText } from "#otlp/bytes";
import type { Attributes, LogRecordView, SpanEventView, SpanView } from "#otlp/views";

/** Telemetry that can have a version: a log record with an event name, a span, or an event of a span. */
export type VersionedEvent = LogRecordView | SpanView | SpanEventView;

/**
 * Brings an event from one version to the next. May change the event itself, but nothing that it shares with others,
 * such as its resource. Throw if the upcast is impossible; the event then stays as it came.
 */
export type Upcaster = (event: VersionedEvent) => void;

export const CONVERTED_TYPES = ["int", "double", "string", "bool"] as const;
type ConvertedType = (typeof CONVERTED_TYPES)[number];

/** The edits that YAML can describe. They are applied in this order. */
interface UpcastEdits {
  readonly remove: readonly string[];
  readonly rename: Readonly<Record<string, string>>;
  readonly convert: Readonly<Record<string, ConvertedType>>;
  readonly set: Readonly<Record<string, Value>>;
}

export function createUpcaster({ remove, rename, convert, set }: UpcastEdits): Upcaster {
  const renames = Object.entries(rename);
  const conversions = Object.entries(convert);
  const values = Object.entries(set);
  return ({ attributes }) => {
    for (const key of remove) attributes.delete(key);
    renameAll(attributes, renames);
    for (const [key, type] of conversions) convertOne(attributes, key, type);
    for (const [key, value] of values) attributes.set(key, value);
  };
}

/** Renames all at once, so that two attributes can swap keys. */
function renameAll(attributes: Attributes, renames: readonly (readonly [string, string])[]): void {
  const isChain = renames.some(([, to]) => renames.some(([from]) => from === to));
  if (!isChain) {
    for (const [from, to] of renames) attributes.rename(from, to);
    return;
  }
  const moved = renames.filter(([from]) => attributes.rename(from, `${from}${MOVING_SUFFIX}`));
  for (const [from, to] of moved) attributes.rename(`${from}${MOVING_SUFFIX}`, to);
}

/** Appended to a key while its attribute is between its old and its new key. */
const MOVING_SUFFIX = "\u0000";

function convertOne(attributes: Attributes, key: string, type: ConvertedType): void {
  const value = attributes.get(key);
  if (value === undefined || value === null) return;
  const converted = CONVERTERS[type](value);
  if (converted === undefined) throw new TypeError(`attribute ${key} cannot be converted to ${type}`);
  attributes.set(key, converted);
}

const CONVERTERS: Readonly<Record<ConvertedType, (value: Value) => Value | undefined>> = {
  int: toInteger,
  double: (value) => {
    const number = toNumber(value);
    return number === undefined ? undefined : asDouble(number);
  },
  string: valueText,
  bool: (value) => {
    if (typeof value === "string") return { true: true, false: false }[value.trim().toLowerCase()];
    return typeof value === "boolean" ? value : value === 1 ? true : value === 0 ? false : undefined;
  },
};

function toInteger(value: Value): Value | undefined {
  if (typeof value === "boolean") return value ? 1 : 0;
  if (typeof value === "number") return Number.isSafeInteger(value) ? value : undefined;
  if (typeof value === "bigint") return value;
  if (typeof value !== "string" || !/^\s*[+-]?\d{1,19}\s*$/.test(value)) return undefined;
  const integer = BigInt(value.trim().replace("+", ""));
  return integer === BigInt.asIntN(64, integer) ? integer : undefined;
}

function toNumber(value: Value): number | undefined {
  if (typeof value === "boolean") return value ? 1 : 0;
  if (typeof value === "bigint") return Number(value);
  const number = typeof value === "string" && value.trim() !== "" ? Number(value) : value;
  return typeof number === "number" && !Number.isNaN(number) ? number : undefined;
}

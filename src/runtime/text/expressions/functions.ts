import { parseJson } from "../json/json-reader.js";
import { now, readDate, readDuration } from "./times.js";
import { ExpressionError } from "./tokens.js";
import { asList, asNumber, asText, compare, type ExpressionValue, isEqual, isMap, member, typeName } from "./values.js";

/** A function of expressions: its arguments are values. */
export type ExpressionFunction = (...args: ExpressionValue[]) => ExpressionValue;

function textOf(value: ExpressionValue): string {
  if (typeof value === "string") return value;
  if (value === null || value === undefined) return "<nil>";
  if (value instanceof Uint8Array) return Buffer.from(value).toString();
  return Array.isArray(value) || isMap(value) ? toJson(value) : String(value);
}

function toJson(value: ExpressionValue, indent = 0): string {
  return JSON.stringify(value, (_, item) => (typeof item === "bigint" ? Number(item) : item), indent);
}

/** A function of the bits of integers with 64 bits and a sign. */
function ofBits(name: string, compute: (a: bigint, b: bigint) => bigint): ExpressionFunction {
  const asInt = (value: ExpressionValue) => {
    if (typeof value !== "bigint") throw new ExpressionError(`${name} needs an integer, not ${typeName(value)}`);
    return value;
  };
  return (a, b = 0n) => BigInt.asIntN(64, compute(asInt(a), asInt(b)));
}

function shift(compute: (a: bigint, by: bigint) => bigint): (a: bigint, by: bigint) => bigint {
  return (a, by) => {
    if (by < 0n) throw new ExpressionError("a shift needs a count that is not negative");
    return compute(a, by > 64n ? 64n : by);
  };
}

function lengthOf(value: ExpressionValue): bigint {
  return BigInt(countOf(value));
}

function countOf(value: ExpressionValue): number {
  if (typeof value === "string") return [...value].length;
  if (Array.isArray(value) || value instanceof Uint8Array) return value.length;
  if (isMap(value)) return Object.keys(value).length;
  throw new ExpressionError(`len needs a string, an array or a map, not ${typeName(value)}`);
}

function toInt(value: ExpressionValue): bigint {
  if (typeof value === "bigint") return value;
  const number = typeof value === "string" && /^\s*[+-]?\d+\s*$/.test(value) ? BigInt(value.trim()) : value;
  if (typeof number === "bigint") return number;
  if (typeof number === "string") throw new ExpressionError(`int cannot read ${JSON.stringify(number.slice(0, 40))}`);
  const whole = Math.trunc(asNumber(number, "int"));
  if (!Number.isFinite(whole)) throw new ExpressionError("int cannot read a number without an end");
  return BigInt(whole);
}

function toFloat(value: ExpressionValue): number {
  const number = typeof value === "string" && value.trim() !== "" ? Number(value) : value;
  if (Number.isNaN(number)) throw new ExpressionError(`float cannot read ${JSON.stringify(value).slice(0, 40)}`);
  return asNumber(number, "float");
}

function fromJson(value: ExpressionValue): ExpressionValue {
  try {
    return parseJson(asText(value, "fromJSON")) as ExpressionValue;
  } catch {
    throw new ExpressionError("fromJSON cannot read the text");
  }
}

function optionalText(value: ExpressionValue, name: string): string | undefined {
  return value === undefined ? undefined : asText(value, name);
}

function asPair(value: ExpressionValue): [string, ExpressionValue] {
  const [key, item] = asList(value, "fromPairs");
  return [asText(key, "fromPairs"), item];
}

function numbers(args: readonly ExpressionValue[], name: string): number[] {
  return args.flat().map((each) => asNumber(each, name));
}

const trimmed = (value: ExpressionValue, chars: ExpressionValue, sides: "both" | "left" | "right", name: string) => {
  const text = asText(value, name);
  const set = new Set(chars === undefined ? " \t\n\v\f\r\u0085\u00a0" : asText(chars, name));
  let from = 0;
  let to = text.length;
  if (sides !== "right") while (from < to && set.has(text[from]!)) from++;
  if (sides !== "left") while (to > from && set.has(text[to - 1]!)) to--;
  return text.slice(from, to);
};

/** The built-in functions of expr that configs use. Those that take a predicate are part of the language. */
export const FUNCTIONS: Readonly<Record<string, ExpressionFunction>> = {
  len: lengthOf,
  lower: (text) => asText(text, "lower").toLowerCase(),
  upper: (text) => asText(text, "upper").toUpperCase(),
  trim: (text, chars) => trimmed(text, chars, "both", "trim"),
  trimPrefix: (text, prefix = " ") => {
    const [whole, start] = [asText(text, "trimPrefix"), asText(prefix, "trimPrefix")];
    return whole.startsWith(start) ? whole.slice(start.length) : whole;
  },
  trimSuffix: (text, suffix = " ") => {
    const [whole, end] = [asText(text, "trimSuffix"), asText(suffix, "trimSuffix")];
    return end !== "" && whole.endsWith(end) ? whole.slice(0, -end.length) : whole;
  },
  split: (text, separator, limit) => {
    const parts = asText(text, "split").split(asText(separator, "split"));
    const most = limit === undefined ? parts.length : asNumber(limit, "split");
    if (most < 0 || parts.length <= most) return parts;
    return [...parts.slice(0, most - 1), parts.slice(most - 1).join(asText(separator, "split"))];
  },
  join: (list, separator = "") => asList(list, "join").map(textOf).join(asText(separator, "join")),
  replace: (text, old, replacement) =>
    asText(text, "replace").replaceAll(asText(old, "replace"), () => asText(replacement, "replace")),
  hasPrefix: (text, prefix) => asText(text, "hasPrefix").startsWith(asText(prefix, "hasPrefix")),
  hasSuffix: (text, suffix) => asText(text, "hasSuffix").endsWith(asText(suffix, "hasSuffix")),
  indexOf: (text, part) => BigInt(asText(text, "indexOf").indexOf(asText(part, "indexOf"))),
  lastIndexOf: (text, part) => BigInt(asText(text, "lastIndexOf").lastIndexOf(asText(part, "lastIndexOf"))),
  repeat: (text, count) => {
    const [unit, times] = [asText(text, "repeat"), asNumber(count, "repeat")];
    if (times < 0 || unit.length * times > 1_000_000) throw new ExpressionError("repeat makes too long a text");
    return unit.repeat(times);
  },
  string: textOf,
  int: toInt,
  float: toFloat,
  type: typeName,
  abs: (value) => (typeof value === "bigint" ? (value < 0n ? -value : value) : Math.abs(asNumber(value, "abs"))),
  ceil: (value) => Math.ceil(asNumber(value, "ceil")),
  floor: (value) => Math.floor(asNumber(value, "floor")),
  round: (value) => Math.round(asNumber(value, "round")),
  max: (...args) => args.flat().reduce((most, each) => (compare(each, most, "max") > 0 ? each : most)),
  min: (...args) => args.flat().reduce((least, each) => (compare(each, least, "min") < 0 ? each : least)),
  sum: (list) =>
    asList(list, "sum").every((each) => typeof each === "bigint")
      ? (asList(list, "sum") as readonly bigint[]).reduce((total, each) => total + each, 0n)
      : numbers([...asList(list, "sum")], "sum").reduce((total, each) => total + each, 0),
  first: (list) => asList(list, "first")[0] ?? null,
  last: (list) => asList(list, "last").at(-1) ?? null,
  keys: (map) => (isMap(map) ? Object.keys(map) : []),
  values: (map) => (isMap(map) ? Object.values(map) : []),
  uniq: (list) =>
    asList(list, "uniq").filter((item, index, all) => all.findIndex((each) => isEqual(each, item)) === index),
  concat: (...lists) => lists.flatMap((list) => asList(list, "concat")),
  get: (target, key) => {
    try {
      return member(target, key);
    } catch {
      return null;
    }
  },
  take: (list, count) => asList(list, "take").slice(0, asNumber(count, "take")),
  reverse: (list) => [...asList(list, "reverse")].reverse(),
  flatten: (list) => asList(list, "flatten").flat(Number.POSITIVE_INFINITY),
  sort: (list, order = "asc") => {
    const sorted = [...asList(list, "sort")].sort((a, b) => compare(a, b, "sort"));
    return order === "desc" ? sorted.reverse() : sorted;
  },
  mean: (...args) => {
    const all = numbers(args, "mean");
    return all.length === 0 ? 0 : all.reduce((total, each) => total + each, 0) / all.length;
  },
  median: (...args) => {
    const all = numbers(args, "median").sort((a, b) => a - b);
    const middle = all.length >> 1;
    return all.length === 0 ? 0 : all.length % 2 === 1 ? all[middle]! : (all[middle - 1]! + all[middle]!) / 2;
  },
  toPairs: (map) => (isMap(map) ? Object.entries(map) : []),
  fromPairs: (pairs) => Object.fromEntries(asList(pairs, "fromPairs").map((pair) => asPair(pair))),
  splitAfter: (text, separator) => {
    const by = asText(separator, "splitAfter");
    const parts = asText(text, "splitAfter").split(by);
    return parts.map((part, index) => (index < parts.length - 1 ? part + by : part));
  },
  toBase64: (text) => Buffer.from(asText(text, "toBase64")).toString("base64"),
  fromBase64: (text) => Buffer.from(asText(text, "fromBase64"), "base64").toString("utf8"),
  now: () => now(),
  date: (text, layout, location) =>
    readDate(asText(text, "date"), optionalText(layout, "date"), optionalText(location, "date")),
  duration: (text) => readDuration(asText(text, "duration")),
  bitand: ofBits("bitand", (a, b) => a & b),
  bitor: ofBits("bitor", (a, b) => a | b),
  bitxor: ofBits("bitxor", (a, b) => a ^ b),
  bitnand: ofBits("bitnand", (a, b) => a & ~b),
  bitnot: ofBits("bitnot", (a) => ~a),
  bitshl: ofBits(
    "bitshl",
    shift((a, by) => a << by),
  ),
  bitshr: ofBits(
    "bitshr",
    shift((a, by) => a >> by),
  ),
  bitushr: ofBits(
    "bitushr",
    shift((a, by) => BigInt.asUintN(64, a) >> by),
  ),
  toJSON: (value) => toJson(value, 2),
  fromJSON: fromJson,
};

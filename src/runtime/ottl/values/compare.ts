import { isMap, isNil, OttlDuration, OttlId, OttlMessages, OttlTime, type OttlValue, sameValue } from "./value.js";

export type Comparison = "==" | "!=" | "<" | "<=" | ">" | ">=";

/**
 * Compares as the Collector does: values of different types are unequal and unordered, an integer and a double are
 * compared as doubles, nil equals only nil and empty bytes, false is less than true, and maps, lists and ids know only
 * equality.
 */
export function compare(a: OttlValue, b: OttlValue, op: Comparison): boolean {
  if (a === null || b === null) return isNil(a) && isNil(b) ? op !== "!=" && op !== "<" && op !== ">" : op === "!=";
  switch (typeof a) {
    case "string":
      return typeof b === "string" ? ordered(compareText(a, b), op) : op === "!=";
    case "boolean":
      return typeof b === "boolean" ? ordered(Number(a) - Number(b), op) : op === "!=";
    case "bigint":
      if (typeof b === "bigint") return ordered(a < b ? -1 : a > b ? 1 : 0, op);
      return typeof b === "number" ? compareDoubles(Number(a), b, op) : op === "!=";
    case "number":
      if (typeof b === "number") return compareDoubles(a, b, op);
      return typeof b === "bigint" ? compareDoubles(a, Number(b), op) : op === "!=";
  }
  return compareObjects(a, b, op);
}

function compareObjects(a: OttlValue, b: OttlValue, op: Comparison): boolean {
  if (a instanceof OttlId || b instanceof OttlId) return sameValue(a, b) ? op === "==" : op === "!=";
  if (a instanceof Uint8Array) return b instanceof Uint8Array ? compareBytes(a, b, op) : op === "!=";
  if (a instanceof OttlTime) return b instanceof OttlTime ? orderedNanos(a.nanos, b.nanos, op) : op === "!=";
  if (a instanceof OttlDuration) return b instanceof OttlDuration ? orderedNanos(a.nanos, b.nanos, op) : op === "!=";
  const comparable =
    (isMap(a) && isMap(b)) ||
    (Array.isArray(a) && Array.isArray(b)) ||
    (a instanceof OttlMessages && b instanceof OttlMessages);
  if (!comparable) return op === "!=";
  return op === "==" ? equalValues(a, b) : op === "!=" && !equalValues(a, b);
}

function compareBytes(a: Uint8Array, b: Uint8Array, op: Comparison): boolean {
  if ((a.length === 0) !== (b.length === 0)) return op === "!="; // empty and non-empty bytes are unordered
  return ordered(Buffer.compare(a, b), op);
}

/** Like `sameValue`, but doubles are compared by value: 0 equals -0, and NaN does not even equal itself. */
function equalValues(a: OttlValue, b: OttlValue): boolean {
  if (typeof a === "number") return typeof b === "number" && a === b;
  if (Array.isArray(a))
    return Array.isArray(b) && a.length === b.length && a.every((item, i) => equalValues(item, b[i]!));
  if (!isMap(a) || !isMap(b)) return sameValue(a, b);
  if (a.size !== b.size) return false;
  for (const [key, value] of a) {
    const other = b.get(key);
    if (other === undefined || !equalValues(value, other)) return false;
  }
  return true;
}

/** Go compares strings by their bytes; JavaScript by UTF-16 units, which sorts surrogates wrongly. */
export function compareText(a: string, b: string): number {
  if (a === b) return 0;
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i++) {
    const x = a.charCodeAt(i);
    const y = b.charCodeAt(i);
    if (x === y) continue;
    if (x < 0xd800 && y < 0xd800) return x - y;
    return Buffer.compare(Buffer.from(a), Buffer.from(b));
  }
  return a.length - b.length;
}

export function compareDoubles(a: number, b: number, op: Comparison): boolean {
  switch (op) {
    case "==":
      return a === b;
    case "!=":
      return a !== b;
    case "<":
      return a < b;
    case "<=":
      return a <= b;
    case ">":
      return a > b;
    case ">=":
      return a >= b;
  }
}

function orderedNanos(a: bigint, b: bigint, op: Comparison): boolean {
  return ordered(a < b ? -1 : a > b ? 1 : 0, op);
}

function ordered(sign: number, op: Comparison): boolean {
  return compareDoubles(sign, 0, op);
}

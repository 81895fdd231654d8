import { OttlError } from "./error.js";
import { OttlDuration, OttlTime, type OttlValue, typeName } from "./value.js";

export type MathOperator = "+" | "-" | "*" | "/";

/**
 * Two integers give a 64-bit integer that wraps, and their division truncates; an integer and a double give a double;
 * times and durations add and subtract. Everything else, and division by zero, is an error.
 */
export function calculate(a: OttlValue, op: MathOperator, b: OttlValue): OttlValue {
  if (typeof a === "bigint" && typeof b === "bigint") return calculateIntegers(a, op, b);
  if (isNumber(a) && isNumber(b)) return calculateDoubles(Number(a), op, Number(b));
  if (a instanceof OttlTime || a instanceof OttlDuration) return calculateTimes(a, op, b);
  const wrong = isNumber(a) ? b : a;
  throw new OttlError(`cannot calculate with ${typeName(wrong)}: ${typeName(a)} ${op} ${typeName(b)}`);
}

export function negate(value: OttlValue): OttlValue {
  if (typeof value === "bigint") return BigInt.asIntN(64, -value);
  if (typeof value === "number") return -value;
  throw new OttlError(`cannot negate ${typeName(value)}`);
}

function isNumber(value: OttlValue): value is bigint | number {
  return typeof value === "bigint" || typeof value === "number";
}

function calculateIntegers(a: bigint, op: MathOperator, b: bigint): bigint {
  switch (op) {
    case "+":
      return BigInt.asIntN(64, a + b);
    case "-":
      return BigInt.asIntN(64, a - b);
    case "*":
      return BigInt.asIntN(64, a * b);
    case "/":
      if (b === 0n) throw new OttlError("division by zero");
      return BigInt.asIntN(64, a / b);
  }
}

function calculateDoubles(a: number, op: MathOperator, b: number): number {
  switch (op) {
    case "+":
      return a + b;
    case "-":
      return a - b;
    case "*":
      return a * b;
    case "/":
      if (b === 0) throw new OttlError("division by zero");
      return a / b;
  }
}

function calculateTimes(a: OttlTime | OttlDuration, op: MathOperator, b: OttlValue): OttlValue {
  if (op === "+") {
    if (b instanceof OttlDuration)
      return a instanceof OttlTime ? new OttlTime(a.nanos + b.nanos, a.zone) : new OttlDuration(a.nanos + b.nanos);
    if (b instanceof OttlTime && a instanceof OttlDuration) return new OttlTime(a.nanos + b.nanos, b.zone);
  }
  if (op === "-") {
    if (a instanceof OttlTime && b instanceof OttlTime) return new OttlDuration(a.nanos - b.nanos);
    if (b instanceof OttlDuration)
      return a instanceof OttlTime ? new OttlTime(a.nanos - b.nanos, a.zone) : new OttlDuration(a.nanos - b.nanos);
  }
  throw new OttlError(`cannot calculate ${typeName(a)} ${op} ${typeName(b)}`);
}

import { compilePattern, type Pattern } from "../patterns/pattern.js";
import { calculateTime } from "./times.js";
import { ExpressionError, type ExpressionToken } from "./tokens.js";
import { asNumber, asText, asTruth, compare, type ExpressionValue, isEqual, isIn, member } from "./values.js";

/** The values of an expression's variables. */
export type ExpressionScope = Readonly<Record<string, ExpressionValue>>;

/** Returns the value for these variables, or throws an `ExpressionError` that says why there is none. */
export type CompiledExpression = (scope: ExpressionScope) => ExpressionValue;

/** The binding power of infix operators. */
export const POWERS: Readonly<Record<string, number>> = {
  "?": 1,
  "??": 10,
  "||": 15,
  or: 15,
  "&&": 20,
  and: 20,
  "==": 25,
  "!=": 25,
  "<": 25,
  ">": 25,
  "<=": 25,
  ">=": 25,
  in: 25,
  not: 25,
  matches: 25,
  contains: 25,
  startsWith: 25,
  endsWith: 25,
  "..": 28,
  "+": 30,
  "-": 30,
  "*": 60,
  "/": 60,
  "%": 60,
  "**": 100,
  "^": 100,
  "|": 5,
};

const MAX_RANGE = 10_000;

export function constant(value: ExpressionValue): CompiledExpression {
  return () => value;
}

export function memberOf(target: CompiledExpression, key: CompiledExpression, isOptional: boolean): CompiledExpression {
  return (scope) => {
    const value = target(scope);
    return isOptional && (value === null || value === undefined) ? null : member(value, key(scope));
  };
}

/** A pattern written in the expression is compiled, and checked, with it. */
export function matching(
  left: CompiledExpression,
  right: CompiledExpression,
  token: ExpressionToken,
  at: number,
): CompiledExpression {
  let pattern: Pattern | undefined;
  try {
    if (token.kind === "text") pattern = compilePattern(String(token.value));
  } catch (error) {
    throw new ExpressionError(`not a pattern: ${(error as Error).message}`, at);
  }
  if (pattern !== undefined) return (scope) => pattern.test(asText(left(scope), "matches"));
  return (scope) => {
    const source = asText(right(scope), "matches");
    try {
      return compilePattern(source).test(asText(left(scope), "matches"));
    } catch (error) {
      throw error instanceof ExpressionError
        ? error
        : new ExpressionError(`not a pattern: ${(error as Error).message}`);
    }
  };
}

type Infix = (left: CompiledExpression, right: CompiledExpression) => CompiledExpression;

function ordering(sign: string, holds: (order: number) => boolean): Infix {
  return (left, right) => (scope) => holds(compare(left(scope), right(scope), sign));
}

/** Operators whose result is a double. */
function arithmetic(sign: string, compute: (a: number, b: number) => number): Infix {
  return (left, right) => (scope) => compute(asNumber(left(scope), sign), asNumber(right(scope), sign));
}

/** Computes with integers of 64 bits if both are integers, else with doubles. */
function calculate(a: ExpressionValue, sign: "+" | "-" | "*" | "%", b: ExpressionValue): ExpressionValue {
  if (typeof a === "bigint" && typeof b === "bigint") return BigInt.asIntN(64, calculateInts(a, sign, b));
  const [x, y] = [asNumber(a, sign), asNumber(b, sign)];
  return sign === "+" ? x + y : sign === "-" ? x - y : sign === "*" ? x * y : x % y;
}

function calculateInts(a: bigint, sign: "+" | "-" | "*" | "%", b: bigint): bigint {
  if (sign === "%" && b === 0n) throw new ExpressionError("there is no remainder of a division by 0");
  return sign === "+" ? a + b : sign === "-" ? a - b : sign === "*" ? a * b : a % b;
}

function ofTexts(word: string, holds: (text: string, part: string) => boolean): Infix {
  return (left, right) => (scope) => holds(asText(left(scope), word), asText(right(scope), word));
}

const or: Infix = (left, right) => (scope) => asTruth(left(scope), "or") || asTruth(right(scope), "or");
const and: Infix = (left, right) => (scope) => asTruth(left(scope), "and") && asTruth(right(scope), "and");

/** The infix operators; `matches`, `not`, `?` and `|` are parsed separately. */
export const INFIX: Readonly<Record<string, Infix>> = {
  "??": (left, right) => (scope) => left(scope) ?? right(scope),
  "||": or,
  or,
  "&&": and,
  and,
  "==": (left, right) => (scope) => isEqual(left(scope), right(scope)),
  "!=": (left, right) => (scope) => !isEqual(left(scope), right(scope)),
  "<": ordering("<", (order) => order < 0),
  ">": ordering(">", (order) => order > 0),
  "<=": ordering("<=", (order) => order <= 0),
  ">=": ordering(">=", (order) => order >= 0),
  in: (left, right) => (scope) => isIn(left(scope), right(scope)),
  contains: ofTexts("contains", (text, part) => text.includes(part)),
  startsWith: ofTexts("startsWith", (text, part) => text.startsWith(part)),
  endsWith: ofTexts("endsWith", (text, part) => text.endsWith(part)),
  "+": (left, right) => (scope) => {
    const [a, b] = [left(scope), right(scope)];
    if (typeof a === "string" && typeof b === "string") return a + b;
    return calculateTime(a, "+", b) ?? calculate(a, "+", b);
  },
  "-": (left, right) => (scope) => {
    const [a, b] = [left(scope), right(scope)];
    return calculateTime(a, "-", b) ?? calculate(a, "-", b);
  },
  "*": (left, right) => (scope) => calculate(left(scope), "*", right(scope)),
  "/": arithmetic("/", (a, b) => a / b),
  "%": (left, right) => (scope) => calculate(left(scope), "%", right(scope)),
  "**": arithmetic("**", (a, b) => a ** b),
  "^": arithmetic("^", (a, b) => a ** b),
  "..": (left, right) => (scope) => {
    const [from, to] = [asNumber(left(scope), ".."), asNumber(right(scope), "..")];
    if (to - from > MAX_RANGE) throw new ExpressionError("the range is too long");
    return Array.from({ length: Math.max(0, Math.floor(to - from) + 1) }, (_, i) => BigInt(Math.trunc(from) + i));
  },
};

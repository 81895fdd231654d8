import { randomUUID } from "node:crypto";
import { parseJson } from "#text/json";
import { isLogMap, type LogValue, setValue } from "./entries/log-value.js";

const MIN_INT = -(2n ** 63n);
const MAX_INT = 2n ** 63n - 1n;
/** Whole numbers of up to this many characters are exact as JavaScript numbers. */
const MAX_EXACT_LENGTH = 15;
/** Marks texts that stand for numbers. It is not known outside, so no text of a log begins with it. */
const MARK = `number ${randomUUID()} `;

/**
 * Parses the first JSON value of a text as Go's decoder with `UseNumber` does: whole numbers are integers if they are
 * written without fraction and exponent and have at most 64 bits, all others are doubles. Throws if the text does not
 * begin with JSON, or has a number that is too large for a double.
 */
export function parseJsonWithInts(text: string): LogValue {
  return withNumbers(parseJson(markNumbers(text)) as LogValue);
}

/** Replaces numbers that JSON.parse would round, or whose form it would forget, by marked texts. */
function markNumbers(text: string): string {
  let marked = "";
  let from = 0;
  let depth = 0;
  for (let i = 0; i < text.length; ) {
    const code = text.charCodeAt(i);
    if (code === QUOTE) i = textEnd(text, i);
    else if (code === MINUS || isDigit(code)) {
      const end = numberEnd(text, i);
      const number = text.slice(i, end);
      if (!isExact(number) && text[end] !== ":") {
        marked += `${text.slice(from, i)}"${MARK}${number}"`;
        from = end;
      }
      i = end;
    } else {
      if (code === OPEN_OBJECT || code === OPEN_LIST) depth++;
      else if ((code === CLOSE_OBJECT || code === CLOSE_LIST) && --depth === 0) return marked + text.slice(from, i + 1);
      i++;
    }
  }
  return marked + text.slice(from);
}

const QUOTE = 34;
const BACKSLASH = 92;
const MINUS = 45;
const OPEN_OBJECT = 123;
const CLOSE_OBJECT = 125;
const OPEN_LIST = 91;
const CLOSE_LIST = 93;

const isDigit = (code: number) => code >= 48 && code <= 57;

function textEnd(text: string, start: number): number {
  for (let i = start + 1; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code === BACKSLASH) i++;
    else if (code === QUOTE) return i + 1;
  }
  return text.length;
}

const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;

/** The end of the number that starts here; of an invalid one, at least one character. */
function numberEnd(text: string, start: number): number {
  NUMBER.lastIndex = start;
  return NUMBER.test(text) ? NUMBER.lastIndex : start + 1;
}

function isExact(number: string): boolean {
  return number.length <= MAX_EXACT_LENGTH && !/[.eE]/.test(number);
}

function withNumbers(value: LogValue): LogValue {
  if (typeof value === "number") return BigInt(value);
  if (typeof value === "string") return value.startsWith(MARK) ? toNumber(value.slice(MARK.length)) : value;
  if (Array.isArray(value)) return value.map(withNumbers);
  if (isLogMap(value)) for (const key of Object.keys(value)) setValue(value, key, withNumbers(value[key]!));
  return value;
}

function toNumber(text: string): LogValue {
  if (!/[.eE]/.test(text)) {
    const whole = BigInt(text);
    if (whole >= MIN_INT && whole <= MAX_INT) return whole;
  }
  const double = Number(text);
  if (!Number.isFinite(double)) throw new SyntaxError("a number is too large");
  return double;
}

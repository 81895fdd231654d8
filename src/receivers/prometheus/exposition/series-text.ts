import { isUtf8 } from "node:buffer";

/** The target's response is not a valid exposition; the message says where and why. */
export class ExpositionError extends Error {
  override readonly name = "ExpositionError";
}

/** A label's name and value. */
export type LabelPair = readonly [name: string, value: string];

/** The part before a value: `name{label="value"}`. */
export interface SeriesText {
  readonly name: string;
  /** As written, without the name. */
  readonly labels: LabelPair[];
}

/**
 * Returns where the name and the labels at `p` end. It only looks for the closing brace; `parseSeries` checks the
 * content once for every series. A line feed must follow somewhere.
 */
export function seriesEnd(b: Uint8Array, p: number): number {
  let c = b[p]!;
  while (c !== OPEN && c > SPACE) c = b[++p]!;
  const nameEnd = p;
  while (c === SPACE || c === TAB) c = b[++p]!;
  return c === OPEN ? labelsEnd(b, p) : nameEnd;
}

/** Returns the position after the brace that closes the labels opened at `p`. */
export function labelsEnd(b: Uint8Array, p: number): number {
  for (let c = b[++p]!; c !== CLOSE; c = b[++p]!) {
    if (c === QUOTE) p = quoteEnd(b, p);
    else if (c === LINE_FEED) throw new ExpositionError("the labels are not closed");
  }
  return p + 1;
}

/** Returns where the quotation mark that closes the one at `p` is. */
function quoteEnd(b: Uint8Array, p: number): number {
  for (let c = b[++p]!; c !== QUOTE; c = b[++p]!) {
    if (c === BACKSLASH) c = b[++p]!;
    if (c === LINE_FEED) throw new ExpositionError("a text in quotation marks is not closed");
  }
  return p;
}

/** Parses the name and labels in [start, end), as found by `seriesEnd`. */
export function parseSeries(b: Uint8Array, start: number, end: number): SeriesText {
  let p = start;
  while (p < end && isNameByte(b[p]!, p > start, true)) p++;
  let name = ascii(b, start, p);
  while (p < end && isBlank(b[p]!)) p++;
  if (p < end && b[p] !== OPEN) throw new ExpositionError(`a name cannot have ${printed(b[p]!)}`);
  const labels = p < end ? parseLabels(b, p, end) : [];
  const quoted = labels.findIndex(([, value]) => value === undefined);
  if (quoted >= 0) {
    if (name !== "" || labels.some(([, value], index) => value === undefined && index !== quoted)) {
      throw new ExpositionError("a series has two names");
    }
    name = labels[quoted]![0];
    labels.splice(quoted, 1);
  }
  if (name === "") throw new ExpositionError("a line has no name");
  return { name, labels: labels as LabelPair[] };
}

/** Parses the labels whose brace opens at `p`. A quoted name without a value is the metric's name. */
export function parseLabels(b: Uint8Array, p: number, end: number): [name: string, value: string | undefined][] {
  const labels: [string, string | undefined][] = [];
  p = skipBlanks(b, p + 1);
  while (b[p] !== CLOSE) {
    const isQuoted = b[p] === QUOTE;
    const nameStart = p;
    let name: string;
    if (isQuoted) {
      p = quoteEnd(b, p);
      name = unescaped(b, nameStart + 1, p++);
    } else {
      while (isNameByte(b[p]!, p > nameStart, false)) p++;
      name = ascii(b, nameStart, p);
    }
    if (name === "") throw new ExpositionError("a label has no name");
    p = skipBlanks(b, p);
    if (b[p] !== EQUALS) {
      if (!isQuoted) throw new ExpositionError(`no equals sign follows the label ${name}`);
      labels.push([name, undefined]);
    } else {
      p = skipBlanks(b, p + 1);
      if (b[p] !== QUOTE) throw new ExpositionError(`the value of the label ${name} is not in quotation marks`);
      const valueStart = p + 1;
      p = quoteEnd(b, p);
      labels.push([name, unescaped(b, valueStart, p++)]);
    }
    p = skipBlanks(b, p);
    // Prometheus accepts labels without a comma between them, so some targets leave it out.
    if (b[p] === COMMA) p = skipBlanks(b, p + 1);
    if (b[p] === COMMA || p >= end) throw new ExpositionError("a label is missing between two commas");
  }
  return labels;
}

/**
 * Decodes the text with the escapes `\\`, `\"` and `\n`; any other escaped character stays, together with its
 * backslash.
 */
export function unescaped(b: Uint8Array, start: number, end: number): string {
  if (isPlain(b, start, end)) return ascii(b, start, end);
  const bytes = Buffer.from(b.buffer, b.byteOffset + start, end - start);
  if (!isUtf8(bytes)) throw new ExpositionError("a text is not valid UTF-8");
  const text = bytes.toString("utf8");
  return text.includes("\\") ? text.replace(/\\([\\"n])/g, (_, c: string) => (c === "n" ? "\n" : c)) : text;
}

/** Whether the text is short ASCII without a backslash, so it needs no decoding. */
function isPlain(b: Uint8Array, start: number, end: number): boolean {
  if (end - start > 256) return false;
  for (let p = start; p < end; p++) if (b[p]! >= 128 || b[p] === BACKSLASH) return false;
  return true;
}

function skipBlanks(b: Uint8Array, p: number): number {
  while (isBlank(b[p]!)) p++;
  return p;
}

export function isBlank(c: number): boolean {
  return c === SPACE || c === TAB;
}

/** A digit cannot come first; only a metric's name may contain colons. */
export function isNameByte(c: number, isInside: boolean, isMetric: boolean): boolean {
  const lower = c | 0x20;
  if ((lower >= 97 && lower <= 122) || c === UNDERSCORE) return true;
  return (isInside && c >= 48 && c <= 57) || (isMetric && c === COLON);
}

function ascii(b: Uint8Array, start: number, end: number): string {
  return Buffer.prototype.latin1Slice.call(b, start, end);
}

/** A readable form of a byte, for messages. */
export function printed(c: number): string {
  return c > 32 && c < 127 ? `'${String.fromCharCode(c)}'` : `the byte 0x${c.toString(16).padStart(2, "0")}`;
}

const TAB = 9;
const LINE_FEED = 10;
const SPACE = 32;
const QUOTE = 34;
const COMMA = 44;
const COLON = 58;
const EQUALS = 61;
const BACKSLASH = 92;
const UNDERSCORE = 95;
const OPEN = 123;
const CLOSE = 125;

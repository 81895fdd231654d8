import {
  isName,
  lineEnd,
  lineHash,
  MAX_TOKENS,
  readTokens,
  shapeHash,
  tokenCount,
  tokenEnds,
  tokenHashes,
  tokenStarts,
  valueHashes,
  varies,
} from "./line-tokens.js";
import type { TopTable } from "./top-table.js";

/** A word varies if so many different ones were seen where everything else is the same. */
const MIN_WORDS = 5;
/** Names and values of keys are verbs less often, so fewer of them are enough. */
const MIN_NAMES = 3;
/** The first word is mostly a verb, which tells events apart. */
const MIN_FIRST_WORDS = 12;
/** A variable with one value in so many lines is shown as that value. */
const MIN_LINES = 10;
const MAX_CANDIDATES = 128;
const MAX_EXAMPLE_BYTES = 512;
const CACHE_BITS = 15;
/** A token that varies because different words were seen there. */
const WILD = 0;

/** Bytes of one pattern without its row, for the memory limit. */
export const PATTERN_BYTES = MAX_TOKENS * 9 + MAX_EXAMPLE_BYTES * 2 + 64;
export const PATTERN_CACHE_BYTES = 2 ** CACHE_BITS * 16;

/**
 * Finds the patterns of log lines on line, like Drain (He et al.): "user <*> logged in from <*>".
 *
 * Numbers, ids and addresses vary anyway. A word varies when several different words were seen in its place: until then
 * each of them has a pattern of its own, and these patterns become one. So "order placed" and "order cancelled" stay two
 * patterns, and the names of users do not.
 */
export class PatternMiner {
  private readonly table: TopTable;
  private readonly tokens: Int32Array;
  private readonly values: Int32Array;
  private readonly hasVaried: Uint8Array;
  private readonly counts: Uint8Array;
  private readonly lines: Uint32Array;
  /** How many positions of a pattern had one value so far. */
  private readonly unvaried: Uint8Array;
  private readonly shapes: Int32Array;
  private readonly examples: (string | undefined)[];
  private readonly serials: Uint32Array;
  private readonly byShape = new Map<number, number[]>();
  private readonly cachedLines = new Int32Array(2 ** CACHE_BITS);
  private readonly cachedShapes = new Int32Array(2 ** CACHE_BITS);
  private readonly cachedRows = new Int32Array(2 ** CACHE_BITS).fill(-1);
  private readonly cachedSerials = new Uint32Array(2 ** CACHE_BITS);

  constructor(table: TopTable) {
    this.table = table;
    const { capacity } = table;
    this.tokens = new Int32Array(capacity * MAX_TOKENS);
    this.values = new Int32Array(capacity * MAX_TOKENS);
    this.hasVaried = new Uint8Array(capacity * MAX_TOKENS);
    this.counts = new Uint8Array(capacity);
    this.lines = new Uint32Array(capacity);
    this.unvaried = new Uint8Array(capacity);
    this.shapes = new Int32Array(capacity);
    this.examples = new Array(capacity).fill(undefined);
    this.serials = new Uint32Array(capacity);
    table.onFree = (row) => this.forget(row);
  }

  /** Returns the row of the pattern of the line in [start, end). */
  rowOf(b: Uint8Array, start: number, end: number, place: number): number {
    readTokens(b, start, end);
    const shape = shapeHash ^ Math.imul(place + 1, 0x9e3779b1);
    const key = lineHash ^ Math.imul(place + 1, 0x85ebca6b);
    const slot = (key ^ (key >>> CACHE_BITS)) & (2 ** CACHE_BITS - 1);
    let row = this.cachedRows[slot]!;
    const isCached =
      row >= 0 &&
      this.cachedLines[slot] === key &&
      this.cachedShapes[slot] === shape &&
      this.cachedSerials[slot] === this.serials[row];
    if (!isCached) {
      row = this.find(b, start, end, shape, place);
      this.cachedRows[slot] = row;
      this.cachedLines[slot] = key;
      this.cachedShapes[slot] = shape;
      this.cachedSerials[slot] = this.serials[row]!;
    }
    this.lines[row]!++;
    if (this.unvaried[row]! > 0) this.noteValues(row);
    return row;
  }

  /** The pattern of a row: its example with `<*>` for what varies. */
  template(row: number): string {
    const example = Buffer.from(this.examples[row] ?? "", "latin1");
    readTokens(example, 0, example.length);
    const base = row * MAX_TOKENS;
    const isSettled = this.lines[row]! >= MIN_LINES;
    let text = "";
    let from = 0;
    for (let i = 0; i < Math.min(tokenCount, this.counts[row]!); i++) {
      text += example.toString("utf8", from, tokenStarts[i]!);
      const isShown =
        this.tokens[base + i] !== WILD && (varies[i] === 0 || (isSettled && this.hasVaried[base + i] === 0));
      text += isShown ? example.toString("utf8", tokenStarts[i]!, tokenEnds[i]!) : "<*>";
      from = tokenEnds[i]!;
    }
    const rest = example.toString("utf8", from, lineEnd);
    return text + rest + (lineEnd < example.length ? " …" : "");
  }

  example(row: number): string {
    return Buffer.from(this.examples[row] ?? "", "latin1").toString("utf8");
  }

  private find(b: Uint8Array, start: number, end: number, shape: number, place: number): number {
    const candidates = this.byShape.get(shape) ?? [];
    const near: number[] = [];
    for (let i = candidates.length - 1; i >= 0; i--) {
      const row = candidates[i]!;
      const differences = this.differences(row);
      if (differences === 0) return row;
      if (differences > 0) near.push(row);
    }
    return this.mergeNear(near) ?? this.insert(b, start, end, shape, place);
  }

  /** In how many places the line differs from a pattern; -1 if it is too different. */
  private differences(row: number): number {
    const base = row * MAX_TOKENS;
    let words = 0;
    let same = 0;
    let differences = 0;
    for (let i = 0; i < tokenCount; i++) {
      const token = this.tokens[base + i]!;
      if (varies[i] === 0) words++;
      if (token === tokenHashes[i]) same += 1 - varies[i]!;
      else if (token !== WILD) differences++;
    }
    const limit = words >>> 1;
    return differences <= limit && same >= 1 ? differences : differences === 0 ? 0 : -1;
  }

  /** Makes one pattern of those that differ only where several words were seen. Returns undefined if there are none. */
  private mergeNear(near: readonly number[]): number | undefined {
    if (near.length === 0) return undefined;
    const isVariable = new Uint8Array(tokenCount);
    for (let i = 0; i < tokenCount; i++) isVariable[i] = this.isVariable(near, i) ? 1 : 0;
    const same = near.filter((row) => {
      for (let i = 0; i < tokenCount; i++) if (this.differsAt(row, i) && isVariable[i] === 0) return false;
      return true;
    });
    const [target, ...others] = same;
    if (target === undefined) return undefined;
    const base = target * MAX_TOKENS;
    for (const row of same)
      for (let i = 0; i < tokenCount; i++)
        if (this.differsAt(row, i) || this.tokens[row * MAX_TOKENS + i] === WILD) this.makeWild(target, base + i);
    for (const row of others) {
      this.lines[target]! += this.lines[row]!;
      for (let i = 0; i < tokenCount; i++)
        if (this.hasVaried[row * MAX_TOKENS + i] === 1) this.noteVaried(target, base + i);
      this.table.mergeInto(target, row);
    }
    return target;
  }

  private differsAt(row: number, i: number): boolean {
    const token = this.tokens[row * MAX_TOKENS + i]!;
    return token !== WILD && token !== tokenHashes[i];
  }

  /** A place where one line has a number and another one a word varies too. */
  private isVariable(near: readonly number[], i: number): boolean {
    const seen = new Set<number>([tokenHashes[i]!]);
    const needed = isName[i] === 1 ? MIN_NAMES : i === 0 ? MIN_FIRST_WORDS : MIN_WORDS;
    for (const row of near) {
      const at = row * MAX_TOKENS + i;
      const token = this.tokens[at]!;
      if (token === WILD) return true;
      if (token !== tokenHashes[i] && this.isNumber(row, i) !== (varies[i] === 1)) return true;
      seen.add(token);
      if (seen.size >= needed) return true;
    }
    return false;
  }

  private isNumber(row: number, i: number): boolean {
    return this.values[row * MAX_TOKENS + i] !== 0;
  }

  private makeWild(row: number, at: number): void {
    this.tokens[at] = WILD;
    this.noteVaried(row, at);
  }

  private noteVaried(row: number, at: number): void {
    if (this.hasVaried[at] === 1) return;
    this.hasVaried[at] = 1;
    if (this.values[at] !== 0) this.unvaried[row]!--;
  }

  private noteValues(row: number): void {
    const base = row * MAX_TOKENS;
    for (let i = 0; i < tokenCount; i++) {
      const at = base + i;
      if (varies[i] === 1 && this.hasVaried[at] === 0 && this.values[at] !== (valueHashes[i]! | 1))
        this.noteVaried(row, at);
    }
  }

  private insert(b: Uint8Array, start: number, end: number, shape: number, place: number): number {
    const row = this.table.insert(lineHash >>> 0, (shape ^ Math.imul(lineHash, 0x27d4eb2f)) >>> 0, { place, name: "" });
    const base = row * MAX_TOKENS;
    let unvaried = 0;
    for (let i = 0; i < tokenCount; i++) {
      this.tokens[base + i] = tokenHashes[i]! || 1;
      this.hasVaried[base + i] = 0;
      this.values[base + i] = varies[i] === 1 ? valueHashes[i]! | 1 : 0;
      unvaried += varies[i]!;
    }
    this.counts[row] = tokenCount;
    this.unvaried[row] = unvaried;
    this.lines[row] = 0;
    this.shapes[row] = shape;
    const to = Math.min(end, start + MAX_EXAMPLE_BYTES);
    this.examples[row] = Buffer.from(b.buffer, b.byteOffset + start, to - start).toString("latin1");
    this.candidates(shape).push(row);
    return row;
  }

  private candidates(shape: number): number[] {
    const known = this.byShape.get(shape) ?? [];
    if (known.length === 0) this.byShape.set(shape, known);
    if (known.length >= MAX_CANDIDATES) known.shift();
    return known;
  }

  private forget(row: number): void {
    this.serials[row]!++;
    this.examples[row] = undefined;
    const shape = this.shapes[row]!;
    const known = this.byShape.get(shape);
    const at = known?.indexOf(row) ?? -1;
    if (at >= 0) known?.splice(at, 1);
    if (known?.length === 0) this.byShape.delete(shape);
  }
}

import { type CharSet, charSet, complement, MAX_CODE_POINT, union, withBothCases } from "./char-set.js";

/**
 * The meaning of an RE2 pattern with its flags resolved: letters are sets, and each repetition knows whether it is
 * greedy.
 */
export type PatternNode =
  | { readonly kind: "set"; readonly set: CharSet; readonly properties?: readonly string[]; readonly negated?: boolean }
  | { readonly kind: "assertion"; readonly assertion: Assertion }
  | { readonly kind: "sequence"; readonly parts: readonly PatternNode[] }
  | { readonly kind: "choice"; readonly parts: readonly PatternNode[] }
  | { readonly kind: "repeat"; readonly part: PatternNode; readonly min: number; readonly max: number; greedy: boolean }
  | { readonly kind: "group"; readonly part: PatternNode };

export type Assertion = "start" | "end" | "line start" | "line end" | "word boundary" | "no word boundary";

export interface PatternSyntax {
  readonly root: PatternNode;
  /** Numbers of groups by their names, in the order of the pattern. */
  readonly names: ReadonlyMap<string, number>;
  readonly groupCount: number;
}

/**
 * Parses a pattern in RE2 syntax. Returns undefined for anything not understood with certainty, whether it is wrong or
 * only rare: the reference engine decides about those.
 */
export function parsePattern(source: string): PatternSyntax | undefined {
  try {
    return new PatternParser(source).parse();
  } catch (error) {
    if (error === NOT_UNDERSTOOD) return undefined;
    throw error;
  }
}

const NOT_UNDERSTOOD = Symbol("in doubt");

function notUnderstood(): never {
  throw NOT_UNDERSTOOD;
}

const MAX_DEPTH = 100;
/** RE2's own limit. */
const MAX_REPEAT = 1000;

const DIGIT: CharSet = charSet([[48, 57]]);
const SPACE: CharSet = charSet([
  [9, 10],
  [12, 13],
  [32, 32],
]);
const UPPER: CharSet = charSet([[65, 90]]);
const LOWER: CharSet = charSet([[97, 122]]);
const WORD: CharSet = union(DIGIT, UPPER, LOWER, [95, 95]);
const ANY: CharSet = [0, MAX_CODE_POINT];
const NOT_NEWLINE: CharSet = complement([10, 10]);

const PERL: Readonly<Record<string, CharSet>> = { d: DIGIT, s: SPACE, w: WORD };
const POSIX: Readonly<Record<string, CharSet>> = {
  alnum: union(DIGIT, UPPER, LOWER),
  alpha: union(UPPER, LOWER),
  ascii: [0, 127],
  blank: charSet([
    [9, 9],
    [32, 32],
  ]),
  cntrl: charSet([
    [0, 31],
    [127, 127],
  ]),
  digit: DIGIT,
  graph: [33, 126],
  lower: LOWER,
  print: [32, 126],
  punct: charSet([
    [33, 47],
    [58, 64],
    [91, 96],
    [123, 126],
  ]),
  space: charSet([
    [9, 13],
    [32, 32],
  ]),
  upper: UPPER,
  word: WORD,
  xdigit: union(DIGIT, [65, 70], [97, 102]),
};
const CONTROL: Readonly<Record<string, number>> = { a: 7, t: 9, n: 10, v: 11, f: 12, r: 13 };
/** General categories; scripts are left to the reference engine. */
const CATEGORY = /^(?:L[ulmot]?|M[nce]?|N[dlo]?|P[cdseifo]?|S[mcko]?|Z[slp]?)$/;

interface Flags {
  readonly i: boolean;
  readonly m: boolean;
  readonly s: boolean;
  readonly U: boolean;
}

class PatternParser {
  private readonly source: string;
  private at = 0;
  private depth = 0;
  private flags: Flags = { i: false, m: false, s: false, U: false };
  private groupCount = 0;
  private readonly names = new Map<string, number>();

  constructor(source: string) {
    this.source = source;
  }

  parse(): PatternSyntax {
    const root = this.choice();
    if (this.at < this.source.length) notUnderstood(); // a ) without its (
    return { root, names: this.names, groupCount: this.groupCount };
  }

  private choice(): PatternNode {
    if (++this.depth > MAX_DEPTH) notUnderstood();
    const parts = [this.sequence()];
    while (this.skip("|")) parts.push(this.sequence());
    this.depth--;
    return parts.length === 1 ? parts[0]! : { kind: "choice", parts };
  }

  private sequence(): PatternNode {
    const parts: PatternNode[] = [];
    let canRepeat = false;
    while (this.at < this.source.length) {
      const c = this.source[this.at]!;
      if (c === "|" || c === ")") break;
      const count = this.repetition();
      if (count !== undefined) {
        if (!canRepeat) notUnderstood();
        const greedy = !this.skip("?") !== this.flags.U;
        parts.push({ kind: "repeat", part: parts.pop()!, min: count[0], max: count[1], greedy });
        canRepeat = false;
        continue;
      }
      const before = parts.length;
      this.atom(parts);
      canRepeat = parts.length > before;
    }
    return parts.length === 1 ? parts[0]! : { kind: "sequence", parts };
  }

  private repetition(): readonly [min: number, max: number] | undefined {
    if (this.skip("*")) return [0, Number.POSITIVE_INFINITY];
    if (this.skip("+")) return [1, Number.POSITIVE_INFINITY];
    if (this.skip("?")) return [0, 1];
    const counts = this.take(/\{(\d+)(?:(,)(\d*))?\}/y);
    if (counts === undefined) return undefined; // a literal brace
    const min = Number(counts[1]);
    const max = counts[2] === undefined ? min : counts[3] === "" ? Number.POSITIVE_INFINITY : Number(counts[3]);
    if (min > max || min > MAX_REPEAT || (max > MAX_REPEAT && max !== Number.POSITIVE_INFINITY)) notUnderstood();
    return [min, max];
  }

  private atom(parts: PatternNode[]): void {
    const { m, s } = this.flags;
    if (this.skip(".")) parts.push({ kind: "set", set: s ? ANY : NOT_NEWLINE });
    else if (this.skip("^")) parts.push({ kind: "assertion", assertion: m ? "line start" : "start" });
    else if (this.skip("$")) parts.push({ kind: "assertion", assertion: m ? "line end" : "end" });
    else if (this.skip("[")) parts.push(this.charClass());
    else if (this.skip("(")) this.group(parts);
    else if (this.skip("\\Q")) this.quoted(parts);
    else if (this.source[this.at] === "\\") parts.push(this.escape());
    else parts.push(this.literal(this.character()));
  }

  private group(parts: PatternNode[]): void {
    const outer = this.flags;
    const name = this.take(/\?P?<(\w+)>/y)?.[1];
    let isCapture = true;
    if (name !== undefined) {
      if (this.names.has(name)) notUnderstood();
      this.names.set(name, this.groupCount + 1);
    } else if (this.source[this.at] === "?") {
      const flags = this.take(/\?([imsU]*)(?:-([imsU]+))?([:)])/y);
      if (flags === undefined || (flags[0] === "?)" && flags[1] === "")) notUnderstood();
      this.flags = { ...this.flags, ...flagsOf(flags[1]!, true), ...flagsOf(flags[2] ?? "", false) };
      if (flags[3] === ")") return;
      isCapture = false;
    }
    if (isCapture) this.groupCount++;
    const part = this.choice();
    if (!this.skip(")")) notUnderstood();
    this.flags = outer;
    parts.push(isCapture ? { kind: "group", part } : { kind: "sequence", parts: [part] });
  }

  private quoted(parts: PatternNode[]): void {
    const end = this.source.indexOf("\\E", this.at);
    const stop = end < 0 ? this.source.length : end;
    while (this.at < stop) parts.push(this.literal(this.character()));
    if (end >= 0) this.at = end + 2;
  }

  private escape(): PatternNode {
    if (this.skip("\\A")) return { kind: "assertion", assertion: "start" };
    if (this.skip("\\z")) return { kind: "assertion", assertion: "end" };
    if (this.skip("\\b")) return { kind: "assertion", assertion: "word boundary" };
    if (this.skip("\\B")) return { kind: "assertion", assertion: "no word boundary" };
    const set = this.perlClass();
    if (set !== undefined) return { kind: "set", set };
    const property = this.property();
    if (property !== undefined) return { kind: "set", set: [], properties: [property] };
    return this.literal(this.escapedCharacter());
  }

  private charClass(): PatternNode {
    const negated = this.skip("^");
    const sets: CharSet[] = [];
    const properties: string[] = [];
    for (let first = true; first || this.source[this.at] !== "]"; first = false) {
      if (this.at >= this.source.length) notUnderstood();
      const posix = this.take(/\[:(\^?)(\w+):\]/y);
      if (posix === undefined && this.source.startsWith("[:", this.at)) notUnderstood();
      const perl = posix === undefined ? this.perlClass() : undefined;
      const property = posix === undefined && perl === undefined ? this.property() : undefined;
      if (posix !== undefined) {
        const named = this.bothCases(POSIX[posix[2]!] ?? notUnderstood());
        sets.push(posix[1] === "^" ? complement(named) : named);
      } else if (perl !== undefined) sets.push(perl);
      else if (property !== undefined) properties.push(property);
      else sets.push(this.bothCases(this.range()));
    }
    this.at++;
    const set = union(...sets);
    if (properties.length > 0) return { kind: "set", set, properties, negated };
    const result = negated ? complement(set) : set;
    if (result.length === 0) notUnderstood();
    return { kind: "set", set: result };
  }

  private range(): CharSet {
    const low = this.classCharacter();
    if (this.source[this.at] !== "-" || this.source[this.at + 1] === "]" || this.at + 1 >= this.source.length)
      return [low, low];
    this.at++;
    const high = this.classCharacter();
    return high < low ? notUnderstood() : [low, high];
  }

  private classCharacter(): number {
    return this.source[this.at] === "\\" ? this.escapedCharacter() : this.character();
  }

  private perlClass(): CharSet | undefined {
    const name = this.take(/\\([dswDSW])/y)?.[1];
    if (name === undefined) return undefined;
    const set = this.bothCases(PERL[name.toLowerCase()]!);
    return name === name.toLowerCase() ? set : complement(set);
  }

  /** A property in the notation that both engines share. */
  private property(): string | undefined {
    const found = this.take(/\\([pP])(?:(\w)|\{(\^?)(\w+)\})/y);
    if (found === undefined) return undefined;
    const name = found[2] ?? found[4]!;
    if (!CATEGORY.test(name) || this.flags.i) notUnderstood();
    return `\\${(found[1] === "P") !== (found[3] === "^") ? "P" : "p"}{${name}}`;
  }

  private escapedCharacter(): number {
    const hex = this.take(/\\x(?:([0-9a-fA-F]{2})|\{([0-9a-fA-F]{1,6})\})/y);
    if (hex !== undefined) {
      const point = Number.parseInt(hex[1] ?? hex[2]!, 16);
      return point > MAX_CODE_POINT || isSurrogate(point) ? notUnderstood() : point;
    }
    const escaped = this.source[this.at + 1] ?? notUnderstood();
    const code = CONTROL[escaped] ?? (/[!-/:-@[-`{-~ ]/.test(escaped) ? escaped.charCodeAt(0) : notUnderstood());
    this.at += 2;
    return code;
  }

  private character(): number {
    const point = this.source.codePointAt(this.at)!;
    if (isSurrogate(point)) notUnderstood();
    this.at += point > 0xffff ? 2 : 1;
    return point;
  }

  private literal(point: number): PatternNode {
    return { kind: "set", set: this.bothCases([point, point]) };
  }

  private bothCases(set: CharSet): CharSet {
    return this.flags.i ? (withBothCases(set) ?? notUnderstood()) : set;
  }

  private skip(text: string): boolean {
    if (!this.source.startsWith(text, this.at)) return false;
    this.at += text.length;
    return true;
  }

  private take(pattern: RegExp): RegExpExecArray | undefined {
    pattern.lastIndex = this.at;
    const found = pattern.exec(this.source);
    if (found === null) return undefined;
    this.at = pattern.lastIndex;
    return found;
  }
}

function isSurrogate(point: number): boolean {
  return point >= 0xd800 && point <= 0xdfff;
}

function flagsOf(letters: string, value: boolean): Partial<Flags> {
  return Object.fromEntries([...letters].map((letter) => [letter, value]));
}

import type { RE2JS } from "re2js";
import { NameCache } from "#otlp/signals";
import { type Automaton, buildAutomaton } from "./automaton.js";
import { maxBacktrackingLength } from "./backtracking.js";
import { ByteScan } from "./byte-scan.js";
import { ByteSearch } from "./byte-search.js";
import { re2 } from "./re2.js";
import { type PatternNode, type PatternSyntax, parsePattern } from "./syntax.js";
import { isNullable, translate } from "./translate.js";

/** A user's pattern in RE2 syntax. It always runs in time linear in the text. */
export interface Pattern {
  readonly source: string;
  /** Whether the pattern matches anywhere in the text. */
  test(text: string): boolean;
  /** The named groups of the first match, or undefined if there is none; groups that took no part are left out. */
  groups(text: string): Record<string, string> | undefined;
  /** The same as a list, in the order of `groupNames`. */
  groupList(text: string): (string | undefined)[] | undefined;
  /** Where these groups are in the text, in the order of `groupNames`. */
  groupSpans(text: string): (readonly [start: number, end: number] | undefined)[] | undefined;
  /** All matches from left to right as [start, end). Empty matches are left out. */
  spans(text: string): [start: number, end: number][];
  readonly groupNames: readonly string[];
  /** Whether it can match in the text [start, end) of these bytes; if not, the text need not be decoded. */
  mayMatch(bytes: Uint8Array, start: number, end: number): boolean;
  /** The automaton for `ByteScan`; undefined if it is too large or not understood. */
  readonly automaton: Automaton | undefined;
  /** Finds the matches in the bytes of a text; undefined if only this pattern can tell. */
  readonly byteSearch: ByteSearch | undefined;
  /**
   * Replaces every match. The replacement names groups as in Go: $1, ${1}, $name, ${name}, and $$ for a dollar sign; a
   * name is as long as possible, and an unknown one is empty. `mapReplacement` transforms each replacement;
   * `onReplaced` is called after each with the number of replacements and the length of the text so far, and may throw.
   */
  replaceAll(text: string, replacement: string, mapReplacement?: MapReplacement, onReplaced?: OnReplaced): string;
}

type MapReplacement = (replaced: string) => string;
type OnReplaced = (matches: number, length: number) => void;

/**
 * Throws an error that says what is wrong with the pattern. JavaScript's own engine runs the pattern if it provably
 * finds the same in time proportional to the text; all other patterns run in the reference engine, which is many times
 * slower.
 */
export function compilePattern(source: string): Pattern {
  const syntax = parsePattern(source);
  return syntax === undefined ? new AnyPattern(source, new ReferenceEngine(source)) : compileUnderstood(source, syntax);
}

function compileUnderstood(source: string, syntax: PatternSyntax): Pattern {
  const automaton = buildAutomaton(syntax.root);
  const maxLength = automaton === undefined ? 0 : Math.min(maxBacktrackingLength(automaton), MAX_TEXT_LENGTH);
  const regExp = maxLength < MIN_USEFUL_LENGTH ? undefined : translate(syntax);
  const engine =
    regExp === undefined ? new ReferenceEngine(source) : new TranslatedEngine(source, regExp, syntax, maxLength);
  return new AnyPattern(source, engine, automaton, syntax.root);
}

/** JavaScript's engine remembers where it could backtrack to, with limited room. */
const MAX_TEXT_LENGTH = 1_000_000;
const MIN_USEFUL_LENGTH = 64;

/** Escapes a text into a pattern that matches only this text. */
export function quotePattern(text: string): string {
  return text.replace(/[\\.+*?()|[\]{}^$]/g, "\\$&");
}

/** One search through a text, match by match. */
interface PatternSearch {
  find(): boolean;
  start(): number;
  end(): number;
  group(index: number): string | null | undefined;
}

interface PatternEngine {
  readonly names: ReadonlyMap<string, number>;
  readonly groupCount: number;
  test(text: string): boolean;
  /** The first match, followed by its groups; null if there is none. */
  first(text: string): FoundGroups | null;
  /** Where they are; undefined for a group that took no part. */
  firstSpans(text: string): readonly (readonly [number, number] | undefined)[] | null;
  search(text: string): PatternSearch;
  /** Replaces every match by a text without dollar signs; undefined if it must be done match by match. */
  replaceEach(text: string, by: string): string | undefined;
}

type FoundGroups = readonly (string | null | undefined)[];

/** RE2 itself: always right, in linear time. */
class ReferenceEngine implements PatternEngine {
  readonly names: ReadonlyMap<string, number>;
  readonly groupCount: number;
  private readonly compiled: RE2JS;

  constructor(source: string) {
    this.compiled = compileRe2(source);
    this.names = new Map(Object.entries(this.compiled.namedGroups()));
    this.groupCount = this.compiled.groupCount();
  }

  test(text: string): boolean {
    return this.compiled.test(text);
  }

  first(text: string): FoundGroups | null {
    const search = this.search(text);
    return search.find() ? Array.from({ length: this.groupCount + 1 }, (_, i) => search.group(i)) : null;
  }

  firstSpans(text: string): readonly (readonly [number, number] | undefined)[] | null {
    const matcher = this.compiled.matcher(text);
    if (!matcher.find()) return null;
    return Array.from({ length: this.groupCount + 1 }, (_, i) => {
      const start = matcher.start(i);
      return start < 0 ? undefined : ([start, matcher.end(i)] as const);
    });
  }

  search(text: string): PatternSearch {
    return this.compiled.matcher(text) as PatternSearch;
  }

  replaceEach(): undefined {}
}

function compileRe2(source: string): RE2JS {
  try {
    return re2().compile(source);
  } catch (error) {
    if (!/\(\?<?[=!]/.test(source)) throw error;
    throw new Error(`${(error as Error).message}; there is no lookahead and no lookbehind`, { cause: error });
  }
}

/** JavaScript's engine, for texts up to a length. */
class TranslatedEngine implements PatternEngine {
  readonly names: ReadonlyMap<string, number>;
  readonly groupCount: number;
  private readonly source: string;
  private readonly searching: RegExp;
  private readonly testing: RegExp;
  private readonly maxLength: number;
  private readonly matchesNothing: boolean;
  private reference: ReferenceEngine | undefined;
  private locating: RegExp | undefined;

  constructor(source: string, regExp: RegExp, { names, groupCount, root }: PatternSyntax, maxLength: number) {
    this.source = source;
    this.names = names;
    this.groupCount = groupCount;
    this.searching = regExp;
    this.testing = new RegExp(regExp.source, regExp.flags.replace("g", ""));
    this.maxLength = maxLength;
    this.matchesNothing = isNullable(root);
  }

  test(text: string): boolean {
    return text.length <= this.maxLength ? this.testing.test(text) : this.forLongTexts().test(text);
  }

  first(text: string): FoundGroups | null {
    return text.length <= this.maxLength ? this.testing.exec(text) : this.forLongTexts().first(text);
  }

  firstSpans(text: string): readonly (readonly [number, number] | undefined)[] | null {
    if (text.length > this.maxLength) return this.forLongTexts().firstSpans(text);
    this.locating ??= new RegExp(this.testing.source, `${this.testing.flags}d`);
    return this.locating.exec(text)?.indices ?? null;
  }

  search(text: string): PatternSearch {
    return text.length <= this.maxLength ? new RegExpSearch(this.searching, text) : this.forLongTexts().search(text);
  }

  /** JavaScript and RE2 differ in where they replace empty matches. */
  replaceEach(text: string, by: string): string | undefined {
    return this.matchesNothing || text.length > this.maxLength ? undefined : text.replace(this.searching, by);
  }

  private forLongTexts(): ReferenceEngine {
    this.reference ??= new ReferenceEngine(this.source);
    return this.reference;
  }
}

class RegExpSearch implements PatternSearch {
  private readonly regExp: RegExp;
  private readonly text: string;
  private found: RegExpExecArray | null = null;
  private from = 0;

  constructor(regExp: RegExp, text: string) {
    this.regExp = regExp;
    this.text = text;
  }

  find(): boolean {
    if (this.found !== null && this.found[0] === "") {
      this.from += (this.text.codePointAt(this.from) ?? 0) > 0xffff ? 2 : 1;
      if (this.from > this.text.length) return false;
    }
    this.regExp.lastIndex = this.from; // other searches may have moved it
    this.found = this.regExp.exec(this.text);
    this.from = this.regExp.lastIndex;
    return this.found !== null;
  }

  start(): number {
    return this.found!.index;
  }

  end(): number {
    return this.from;
  }

  group(index: number): string | undefined {
    return this.found![index];
  }
}

class AnyPattern implements Pattern {
  readonly source: string;
  readonly groupNames: readonly string[];
  readonly automaton: Automaton | undefined;
  private readonly engine: PatternEngine;
  private readonly groupIndexes: readonly number[];
  /** Until there is a search. */
  private root: PatternNode | undefined;
  private byteScan: ByteScan | undefined;
  private search: ByteSearch | undefined;
  private readonly replacements = new NameCache((text) => this.parseReplacement(text), { maxNames: 16 });

  constructor(source: string, engine: PatternEngine, automaton?: Automaton, root?: PatternNode) {
    this.source = source;
    this.engine = engine;
    this.automaton = automaton;
    this.root = root;
    this.groupNames = [...engine.names.keys()];
    this.groupIndexes = [...engine.names.values()];
  }

  test(text: string): boolean {
    return this.engine.test(text);
  }

  mayMatch(bytes: Uint8Array, start: number, end: number): boolean {
    this.byteScan ??= new ByteScan([this]);
    return this.byteScan.scan(bytes, start, end) !== 0;
  }

  get byteSearch(): ByteSearch | undefined {
    if (this.root !== undefined) this.search = ByteSearch.of(this.root, this.automaton);
    this.root = undefined;
    return this.search;
  }

  groupSpans(text: string): (readonly [start: number, end: number] | undefined)[] | undefined {
    const found = this.engine.firstSpans(text);
    return found === null ? undefined : this.groupIndexes.map((index) => found[index]);
  }

  groups(text: string): Record<string, string> | undefined {
    const list = this.groupList(text);
    if (list === undefined) return undefined;
    const found: Record<string, string> = Object.create(null);
    for (const [i, name] of this.groupNames.entries()) if (list[i] !== undefined) found[name] = list[i];
    return found;
  }

  groupList(text: string): (string | undefined)[] | undefined {
    const found = this.engine.first(text);
    if (found === null) return undefined;
    const list: (string | undefined)[] = [];
    for (let i = 0; i < this.groupIndexes.length; i++) list.push(found[this.groupIndexes[i]!] ?? undefined);
    return list;
  }

  spans(text: string): [number, number][] {
    const found: [number, number][] = [];
    const search = this.engine.search(text);
    while (search.find()) if (search.end() > search.start()) found.push([search.start(), search.end()]);
    return found;
  }

  replaceAll(text: string, replacement: string, mapReplacement?: MapReplacement, onReplaced?: OnReplaced): string {
    if (mapReplacement === undefined && onReplaced === undefined && !replacement.includes("$")) {
      const replaced = this.engine.replaceEach(text, replacement);
      if (replaced !== undefined) return replaced;
    }
    const search = this.engine.search(text);
    if (!search.find()) return text;
    const segments = this.replacements.get(replacement);
    let result = "";
    let from = 0;
    let count = 0;
    do {
      const start = search.start();
      const end = search.end();
      if (count > 0 && start === end && start === from) continue; // an empty match directly after another
      let replaced = "";
      for (const part of segments) replaced += typeof part === "string" ? part : (search.group(part) ?? "");
      result += text.slice(from, start) + (mapReplacement === undefined ? replaced : mapReplacement(replaced));
      count++;
      onReplaced?.(count, result.length);
      from = end;
    } while (search.find());
    return result + text.slice(from);
  }

  /** Texts, with the indexes of groups between them. */
  private parseReplacement(replacement: string): (string | number)[] {
    const segments: (string | number)[] = [];
    let from = 0;
    for (const match of replacement.matchAll(/\$(?:(\$)|(\w+)|\{(\w+)\})/g)) {
      segments.push(replacement.slice(from, match.index));
      from = match.index + match[0].length;
      const name = match[2] ?? match[3];
      const index = name !== undefined && /^\d+$/.test(name) ? Number(name) : this.engine.names.get(name ?? "");
      if (name === undefined) segments.push("$");
      else if (index !== undefined && index <= this.engine.groupCount) segments.push(index);
    }
    segments.push(replacement.slice(from));
    return segments;
  }
}

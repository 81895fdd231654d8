import { type Rewriter, varintSize } from "#otlp/bytes";
import { STRING_VALUE_TAG } from "#otlp/tags";
import type { Pattern } from "#text/patterns";
import { type FindPeople, PEOPLE_DETECTORS } from "./detect/people/people.js";
import { Tokens } from "./detect/people/tokens.js";
import { MAX_MATCHES, scan, TOO_COSTLY } from "./detect/scan.js";
import { MASK, REDACTED } from "./detect/secrets/placeholder.js";
import { COUNTRIES, type Country, DETECTORS, OPTIONAL_DETECTORS } from "./detect/text/detectors.js";
import { type Confidence, THRESHOLDS } from "./detect/text/evidence.js";
import { ALL_COUNTRIES, areIsolated, matches } from "./detect/text/matches.js";
import { PATTERN_COST, textBudget, work } from "./detect/text/work.js";
import { CLEAN, CLEAN_WITH_ANY_DIGITS, type Cleanness } from "./fields/unseen-walk.js";
import { PSEUDONYM_PATTERN, Pseudonyms } from "./pseudonyms.js";
import { type PartTreatment, partTreatment, type Strategy } from "./strategies.js";

interface UserPattern {
  readonly name: string;
  readonly pattern: Pattern;
  readonly strategy: Strategy;
}

export interface TextTreatmentSettings {
  /** Detectors that are missing here, or whose strategy is `allow`, are off. */
  readonly detectors: ReadonlyMap<string, Strategy>;
  readonly patterns: readonly UserPattern[];
  /** The key of the strategy hash. */
  readonly hashKey: string | undefined;
  /** Countries whose national numbers are searched; all known countries by default. */
  readonly countries?: readonly Country[] | undefined;
  /** How sure detectors must be; `medium` by default. */
  readonly confidence?: Confidence | undefined;
  /** Whether addresses of private networks are found without a label, too; false by default. */
  readonly privateAddresses?: boolean | undefined;
}

/** Finds sensitive parts of texts and replaces them. All other bytes stay unchanged. */
export class TextTreatment {
  /** Names by number: built-in detectors, optional detectors, then users' patterns. */
  readonly names: readonly string[];
  private readonly enabled: number;
  private readonly countries: Uint8Array;
  private readonly threshold: number;
  private readonly findsPrivateAddresses: boolean;
  private readonly patterns: readonly UserPattern[];
  /** The optional detectors that are enabled, with their numbers. */
  private readonly people: readonly (readonly [number: number, find: FindPeople])[];
  readonly pseudonyms: Pseudonyms;
  private readonly treatments: readonly (PartTreatment | undefined)[];
  private readonly replacements: string[] = [];
  /** True if every match is replaced by a mask. */
  private readonly isMasking: boolean;

  constructor(settings: TextTreatmentSettings) {
    const { detectors, patterns, hashKey, countries = COUNTRIES, confidence = "medium" } = settings;
    this.threshold = THRESHOLDS[confidence];
    this.findsPrivateAddresses = settings.privateAddresses === true;
    this.countries = COUNTRIES.every((country) => countries.includes(country))
      ? ALL_COUNTRIES
      : Uint8Array.from(COUNTRIES, (country) => (countries.includes(country) ? 1 : 0));
    const builtIn = [...DETECTORS, ...OPTIONAL_DETECTORS];
    const strategies = [...builtIn.map((name) => detectors.get(name) ?? "allow"), ...patterns.map((p) => p.strategy)];
    this.names = [...builtIn, ...patterns.map(({ name }) => name)];
    this.patterns = patterns;
    this.people = PEOPLE_DETECTORS.map((find, i) => [DETECTORS.length + i, find] as const).filter(
      ([number]) => strategies[number] !== "allow",
    );
    this.isMasking = strategies.every((strategy) => strategy === "mask" || strategy === "allow");
    this.enabled = DETECTORS.reduce((bits, _, i) => (strategies[i] === "allow" ? bits : bits | (1 << i)), 0);
    this.pseudonyms = new Pseudonyms(hashKey);
    this.treatments = strategies.map((strategy) => partTreatment(strategy, this.pseudonyms));
  }

  /**
   * Returns the number of matches in the text [start, end), which are in `matches` then. Returns `TOO_COSTLY` if the
   * text must be masked as a whole.
   */
  find(b: Uint8Array, start: number, end: number, hints: number): number {
    matches.countries = this.countries;
    matches.threshold = this.threshold;
    matches.findsPrivateAddresses = this.findsPrivateAddresses;
    matches.isOwnPseudonym = this.pseudonyms.isOwnValue;
    const count =
      end - start < MIN_TEXT_LENGTH ? this.clearMatches(start, end) : scan(b, start, end, hints, this.enabled);
    return this.passes === 0 || count === TOO_COSTLY ? count : this.findInText(b, start, end, hints);
  }

  /** How clean the text is in which the last `find` found nothing. Patterns of users may tell digits apart. */
  get cleanness(): Cleanness {
    return matches.readsDigits || this.passes !== 0 ? CLEAN : CLEAN_WITH_ANY_DIGITS;
  }

  /** How many passes over the decoded text a search needs. */
  get passes(): number {
    return this.patterns.length + this.people.length;
  }

  /**
   * Returns the text [start, end) with all matches of the last `find` treated. The result is searched again until there
   * are no more matches, because replacing one part can reveal another. `count` is called in each round, while its
   * matches are in `matches`.
   */
  treat(b: Uint8Array, start: number, end: number, hints: number, count: () => void): Uint8Array {
    const limit = work.spent + textBudget(end - start);
    for (let round = 0; round < MAX_ROUNDS && work.spent < limit; round++) {
      count();
      b = this.replaceMatches(b, start, end);
      start = 0;
      end = b.length;
      const left = this.find(b, start, end, hints);
      if (left === 0) return b;
      if (left === TOO_COSTLY) break;
    }
    return Buffer.from(MASK);
  }

  /**
   * Writes the AnyValue whose length is at `lengthAt`, and which consists of the text [start, end), with a mask for
   * each match of the last scan. Returns false and writes nothing if masks alone are not enough.
   */
  writeMasked(rewriter: Rewriter, lengthAt: number, start: number, end: number): boolean {
    if (!this.isMasking || this.passes !== 0 || !areIsolated(rewriter.bytes, true)) return false;
    const { count, starts, ends } = matches;
    let size = end - start + count * MASK.length;
    for (let i = 0; i < count; i++) size -= ends[i]! - starts[i]!;
    const out = rewriter.copyTo(lengthAt);
    out.varint(1 + varintSize(size) + size);
    out.byte(STRING_VALUE_TAG);
    out.varint(size);
    rewriter.skipTo(start);
    out.takeSourceReplacing(starts, ends, count, MASK_BYTES);
    return true;
  }

  /** Writes the text [start, end) with everything in it treated, as `treat` returns it. Its length is at `lengthAt`. */
  write(rewriter: Rewriter, lengthAt: number, start: number, end: number, hints: number, count: () => void): void {
    const isFinal = this.passes === 0 && areIsolated(rewriter.bytes, this.isMasking);
    const out = rewriter.copyTo(lengthAt);
    const outAt = out.length;
    count();
    out.varint(this.makeReplacements(rewriter.bytes, end - start));
    const outStart = out.length;
    rewriter.skipTo(start);
    for (let i = 0; i < matches.count; i++) {
      const part = this.replacements[i]!;
      rewriter.copyTo(matches.starts[i]!);
      out.reserve(part.length);
      out.length = writeLatin1(part, out.bytes, out.length);
      rewriter.skipTo(matches.ends[i]!);
    }
    if (isFinal) return;
    rewriter.copyTo(end);
    const left = this.find(out.bytes, outStart, out.length, hints);
    if (left === 0) return;
    const text = left === TOO_COSTLY ? Buffer.from(MASK) : this.treat(out.bytes, outStart, out.length, hints, count);
    out.length = outAt;
    out.lengthDelimited(text);
  }

  /** Returns the text with the matches of the last scan replaced. */
  private replaceMatches(b: Uint8Array, start: number, end: number): Uint8Array {
    const { replacements } = this;
    const { count, starts, ends } = matches;
    const out = Buffer.allocUnsafe(this.makeReplacements(b, end - start));
    let at = 0;
    let from = start;
    for (let i = 0; i < count; i++) {
      at = copyBytes(b, from, starts[i]!, out, at);
      at = writeLatin1(replacements[i]!, out, at);
      from = ends[i]!;
    }
    copyBytes(b, from, end, out, at);
    return out;
  }

  /** Makes the replacement for each match, and returns the size of the new text. */
  private makeReplacements(b: Uint8Array, size: number): number {
    const { count, starts, ends, detectors } = matches;
    for (let i = 0; i < count; i++) {
      const detector = detectors[i]!;
      const replacement = this.isMasking ? MASK : this.treatments[detector]!(b, starts[i]!, ends[i]!, detector);
      this.replacements[i] = replacement;
      size += replacement.length - (ends[i]! - starts[i]!);
    }
    return size;
  }

  private clearMatches(start: number, end: number): number {
    matches.begin(start, end, 0, 0);
    return 0;
  }

  /**
   * Adds the matches of the optional detectors and of users' patterns. If they overlap earlier matches, the later
   * detector's strategy applies to both.
   */
  private findInText(b: Uint8Array, start: number, end: number, hints: number): number {
    if ((end - start) * this.passes > MAX_PATTERN_BYTES) return TOO_COSTLY;
    work.spent += (end - start) * this.passes * PATTERN_COST;
    const text = Buffer.prototype.utf8Slice.call(b, start, end);
    const merge = (detector: number, places: TextRanges) => {
      const found = toByteRanges(text, end - start, outsideTreated(text, places, this.pseudonyms));
      const ranges = found.map(([from, to]) => [start + from, start + to] as const);
      if (ranges.length > 0) matches.merge(detector, ranges);
    };
    if (this.people.length > 0) {
      const tokens = new Tokens(text);
      for (const [number, find] of this.people) merge(number, find(tokens, hints));
    }
    const firstPattern = DETECTORS.length + OPTIONAL_DETECTORS.length;
    for (const [i, { pattern, strategy }] of this.patterns.entries())
      if (strategy !== "allow") merge(firstPattern + i, pattern.spans(text));
    return matches.count <= MAX_MATCHES ? matches.count : TOO_COSTLY;
  }
}

const MASK_BYTES = Buffer.from(MASK);

/** Matches all replacements in a text, and what has the form of a pseudonym. */
const TREATED = new RegExp(`${quote(MASK)}|${quote(REDACTED)}|${PSEUDONYM_PATTERN}`, "g");

function quote(text: string): string {
  return text.replace(/[*[\]]/g, "\\$&");
}

type TextRanges = readonly (readonly [from: number, to: number])[];

/**
 * Removes ranges that lie within replacements of an earlier treatment. Both lists are in order, so each entry is read
 * once.
 */
function outsideTreated(text: string, places: TextRanges, pseudonyms: Pseudonyms): TextRanges {
  if (places.length === 0) return places;
  const treated = [...text.matchAll(TREATED)]
    .filter(([found]) => !found.startsWith("hash(") || pseudonyms.isOwn(found))
    .map((one) => [one.index, one.index + one[0].length] as const);
  let i = 0;
  return places.filter(([from, to]) => {
    while (i < treated.length && treated[i]![1] < to) i++;
    return i >= treated.length || from < treated[i]![0];
  });
}

/**
 * Converts ranges of characters to ranges of bytes, and removes empty ones. Ranges in text that is not UTF-8 are cut at
 * the end of the text.
 */
function toByteRanges(text: string, size: number, places: TextRanges): TextRanges {
  if (text.length === size) return places.filter(([from, to]) => to > from);
  let [index, bytes] = [0, 0];
  const byteOf = (next: number) => {
    bytes += Buffer.byteLength(text.slice(index, next));
    index = next;
    return Math.min(size, bytes);
  };
  return places.map(([from, to]) => [byteOf(from), byteOf(to)] as const).filter(([from, to]) => to > from);
}

/** Limit for the bytes that users' patterns together may run over in one text. */
const MAX_PATTERN_BYTES = 1 << 20;

/** Limit for the rounds of one text. A text with matches after that is masked as a whole. */
const MAX_ROUNDS = 8;

/** Writes Latin-1 at `at`, and returns the position after it. */
function writeLatin1(part: string, out: Uint8Array, at: number): number {
  for (let k = 0; k < part.length; k++) out[at++] = part.charCodeAt(k);
  return at;
}

function copyBytes(b: Uint8Array, from: number, to: number, out: Uint8Array, at: number): number {
  for (let i = from; i < to; i++) out[at++] = b[i]!;
  return at;
}

/** No detector matches a shorter text. */
const MIN_TEXT_LENGTH = 6;

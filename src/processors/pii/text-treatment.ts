import { type Rewriter, varintSize } from "#otlp/bytes";
import { STRING_VALUE_TAG } from "#otlp/tags";
import type { Pattern } from "#text";
import { type FindPeople, PEOPLE_DETECTORS } from "./detect/people/people.js";
import { Tokens } from "./detect/people/tokens.js";
import { MAX_MATCHES, scan, TOO_COSTLY } from "./detect/scan.js";
import { COUNTRIES, type Country, DETECTORS, OPTIONAL_DETECTORS } from "./detect/text/detectors.js";
import { areIsolated, matches } from "./detect/text/matches.js";
import { MASK, TREATED } from "./detect/text/treated.js";
import { PATTERN_COST, work } from "./detect/text/work.js";
import { type PartTreatment, partTreatment, type Strategy } from "./strategies.js";

interface UserPattern {
  readonly name: string;
  readonly pattern: Pattern;
  readonly strategy: Strategy;
}

export interface TextTreatmentSettings {
  /** Detectors that are left out are off; so are those that `allow`. */
  readonly detectors: ReadonlyMap<string, Strategy>;
  readonly patterns: readonly UserPattern[];
  readonly hashKey: string | undefined;
  /** Whose national numbers are looked for; all that are known, if it is left out. */
  readonly countries?: readonly Country[] | undefined;
}

/** Finds what is in texts and puts something else in its place, byte by byte: what is around it stays as it is. */
export class TextTreatment {
  /** Names, by number: built-in detectors, those that are off unless asked for, then users' patterns. */
  readonly names: readonly string[];
  private readonly enabled: number;
  private readonly countries: number;
  private readonly patterns: readonly UserPattern[];
  /** Of the optional detectors those that are on, with their numbers. */
  private readonly people: readonly (readonly [number: number, find: FindPeople])[];
  private readonly treatments: readonly (PartTreatment | undefined)[];
  private readonly replacements: string[] = [];
  /** Whatever is found becomes a mask. */
  private readonly isMasking: boolean;

  constructor({ detectors, patterns, hashKey, countries = COUNTRIES }: TextTreatmentSettings) {
    this.countries = countries.reduce((bits, country) => bits | (1 << COUNTRIES.indexOf(country)), 0);
    const builtIn = [...DETECTORS, ...OPTIONAL_DETECTORS];
    const strategies = [...builtIn.map((name) => detectors.get(name) ?? "allow"), ...patterns.map((p) => p.strategy)];
    this.names = [...builtIn, ...patterns.map(({ name }) => name)];
    this.patterns = patterns;
    this.people = PEOPLE_DETECTORS.map((find, i) => [DETECTORS.length + i, find] as const).filter(
      ([number]) => strategies[number] !== "allow",
    );
    this.isMasking = strategies.every((strategy) => strategy === "mask" || strategy === "allow");
    this.enabled = DETECTORS.reduce((bits, _, i) => (strategies[i] === "allow" ? bits : bits | (1 << i)), 0);
    this.treatments = strategies.map((strategy) => partTreatment(strategy, hashKey));
  }

  /** Number of findings in the text [start, end), which are in `matches` then; or `TOO_COSTLY`: then it is to be masked. */
  find(b: Uint8Array, start: number, end: number, hints: number): number {
    matches.countries = this.countries;
    const count =
      end - start < MIN_TEXT_LENGTH ? this.clearMatches(start, end) : scan(b, start, end, hints, this.enabled);
    return this.passes === 0 || count === TOO_COSTLY ? count : this.findInText(b, start, end, hints);
  }

  /** How often a text that has been decoded is gone through. */
  get passes(): number {
    return this.patterns.length + this.people.length;
  }

  /**
   * The text [start, end), in which `find` has just found something, with everything in it treated. What is left is looked
   * at again until there is nothing to find, since a part that is gone can uncover another. `count` hears of each round's
   * findings, which are in `matches` then.
   */
  treat(b: Uint8Array, start: number, end: number, hints: number, count: () => void): Uint8Array {
    for (let round = 0; round < MAX_ROUNDS; round++) {
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
   * Writes the AnyValue whose length is at `lengthAt` and which is nothing but the text [start, end), if all it takes is a mask
   * for each finding of the last scan; false, with nothing written, if it takes more than that.
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

  /** Writes the text [start, end) with everything in it treated, as `treated` gives it; its length is at `lengthAt`. */
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

  /** The text with the findings of the last scan treated. */
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

  /** Makes what stands in the place of each match, and gives the size of the text with them. */
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
   * Adds what the optional detectors and users' patterns find; where that overlaps something found already, both are treated
   * as the later one says.
   */
  private findInText(b: Uint8Array, start: number, end: number, hints: number): number {
    if ((end - start) * this.passes > MAX_PATTERN_BYTES) return TOO_COSTLY;
    work.spent += (end - start) * this.passes * PATTERN_COST;
    const text = Buffer.prototype.utf8Slice.call(b, start, end);
    const merge = (detector: number, places: TextRanges) => {
      const found = toByteRanges(text, end - start, outsideTreated(text, places));
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

type TextRanges = readonly (readonly [from: number, to: number])[];

/** Places that are not within what a treatment left. Both are in order, so each is looked at once. */
function outsideTreated(text: string, places: TextRanges): TextRanges {
  const treated = [...text.matchAll(TREATED)].map((one) => [one.index, one.index + one[0].length] as const);
  let i = 0;
  return places.filter(([from, to]) => {
    while (i < treated.length && treated[i]![1] < to) i++;
    return i >= treated.length || from < treated[i]![0];
  });
}

/** Places among characters as places among bytes; empty ones are left out. Text that is not UTF-8 is cut at its end. */
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

/** What users' patterns together run over in one text, in one go. */
const MAX_PATTERN_BYTES = 4 << 20;

/** So often a text is looked at again; one that still holds something then is masked as a whole. */
const MAX_ROUNDS = 8;

/** Writes Latin-1 at `at`; gives the position behind it. */
function writeLatin1(part: string, out: Uint8Array, at: number): number {
  for (let k = 0; k < part.length; k++) out[at++] = part.charCodeAt(k);
  return at;
}

function copyBytes(b: Uint8Array, from: number, to: number, out: Uint8Array, at: number): number {
  for (let i = from; i < to; i++) out[at++] = b[i]!;
  return at;
}

/** No detector finds anything in less. */
const MIN_TEXT_LENGTH = 6;

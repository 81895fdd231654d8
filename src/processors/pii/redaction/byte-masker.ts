import { viewOf } from "#otlp/bytes";
import { contains, type Pattern, UNKNOWN } from "#text/patterns";
import { PATTERN_COST, work } from "../detect/text/work.js";

/** A masked text: [0, length) of `view`. */
export interface MaskedBytes {
  readonly view: DataView;
  readonly length: number;
  /** Whether it differs from what was masked. */
  readonly isChanged: boolean;
}

/**
 * Masks what patterns find in the bytes of a text, one pattern after the other. It makes no objects, except for hashes.
 * Each pattern searches in the result of the one before, so there are two buffers.
 */
export class ByteMasker implements MaskedBytes {
  length = 0;
  isChanged = false;
  private readonly patterns: readonly Pattern[];
  private readonly mask: string | ((match: string) => string);
  private result = new GrowingBytes();
  private spare = new GrowingBytes();
  /** A bit for each pattern that a mask can be part of: only these match in a masked text where they did not before. */
  private readonly takeMasks: number;
  private readonly spans: number[] = [];

  /** `mask` takes the place of a match, and is in ASCII. */
  constructor(patterns: readonly Pattern[], mask: string | ((match: string) => string)) {
    this.patterns = patterns;
    this.mask = mask;
    this.takeMasks = patterns.reduce((bits, pattern, i) => (takesMask(pattern, mask) ? bits | (1 << i) : bits), 0);
  }

  get view(): DataView {
    return this.result.view;
  }

  /** Masks the text [start, end). Returns false if it cannot: see `ByteSearch`. */
  run(bytes: Uint8Array, start: number, end: number, suspects: number): boolean {
    let text = bytes;
    let from = start;
    let to = end;
    for (let i = 0; i < this.patterns.length; i++) {
      if ((suspects & (1 << i)) === 0) continue;
      if (to - from > MAX_LENGTH) return false;
      work.spent += (to - from) * PATTERN_COST;
      const count = this.patterns[i]!.byteSearch?.findAll(text, from, to, this.spans) ?? UNKNOWN;
      if (count === UNKNOWN) return false;
      if (count === 0) continue;
      suspects |= this.takeMasks;
      to = this.replace(text, from, to, count);
      text = this.result.bytes;
      from = 0;
    }
    this.length = to - from;
    this.isChanged = text !== bytes && !isSame(text, to, bytes, start, end);
    return true;
  }

  /** Writes the text with masks in place of `count` spans into the result; returns its length. */
  private replace(text: Uint8Array, from: number, to: number, count: number): number {
    const { spare, spans, mask } = this;
    spare.length = 0;
    let copied = from;
    for (let i = 0; i < count; i++) {
      const start = spans[2 * i]!;
      const end = spans[2 * i + 1]!;
      spare.copy(text, copied, start);
      spare.ascii(typeof mask === "string" ? mask : mask(latin1(text, start, end)));
      copied = end;
    }
    spare.copy(text, copied, to);
    this.spare = this.result;
    this.result = spare;
    return spare.length;
  }
}

/** Longer texts, which are rare, would leave long buffers behind. */
const MAX_LENGTH = 65_536;

/** Whether a character of the mask can be in a match. */
function takesMask({ automaton }: Pattern, mask: string | ((match: string) => string)): boolean {
  if (typeof mask !== "string" || automaton === undefined) return true;
  return automaton.sets.some((set) => [...mask].some((c) => contains(set, c.charCodeAt(0))));
}

function latin1(bytes: Uint8Array, start: number, end: number): string {
  return Buffer.prototype.latin1Slice.call(bytes, start, end);
}

function isSame(text: Uint8Array, length: number, bytes: Uint8Array, start: number, end: number): boolean {
  if (length !== end - start) return false;
  for (let i = 0; i < length; i++) if (text[i] !== bytes[start + i]) return false;
  return true;
}

class GrowingBytes {
  bytes = new Uint8Array(1024);
  view = viewOf(this.bytes);
  length = 0;

  copy(source: Uint8Array, from: number, to: number): void {
    this.reserve(to - from);
    const { bytes } = this;
    let at = this.length;
    for (let i = from; i < to; i++) bytes[at++] = source[i]!;
    this.length = at;
  }

  ascii(text: string): void {
    this.reserve(text.length);
    const { bytes } = this;
    let at = this.length;
    for (let i = 0; i < text.length; i++) bytes[at++] = text.charCodeAt(i);
    this.length = at;
  }

  private reserve(size: number): void {
    if (this.length + size <= this.bytes.length) return;
    const grown = new Uint8Array(2 * (this.length + size));
    grown.set(this.bytes);
    this.bytes = grown;
    this.view = viewOf(grown);
  }
}

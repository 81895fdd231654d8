import type { Pattern } from "../match/pattern.js";
import type { Rewriter } from "../telemetry/rewriter.js";
import { varintSize } from "../telemetry/wire.js";
import { DETECTORS } from "./detect/detectors.js";
import { matches } from "./detect/match.js";
import { scan } from "./detect/scan.js";
import { type PartTreatment, partTreatment, type Strategy } from "./strategies.js";

export interface UserPattern {
  readonly name: string;
  readonly pattern: Pattern;
  readonly strategy: Strategy;
}

export interface TextSettings {
  /** Detectors that are left out are off; so are those that `allow`. */
  readonly detectors: ReadonlyMap<string, Strategy>;
  readonly patterns: readonly UserPattern[];
  readonly hashKey: string | undefined;
}

/** Finds what is in texts and puts something else in its place, byte by byte: what is around it stays as it is. */
export class Texts {
  /** Names, by number: built-in detectors, then users' patterns. */
  readonly names: readonly string[];
  private readonly enabled: number;
  private readonly patterns: readonly UserPattern[];
  private readonly treatments: readonly (PartTreatment | undefined)[];
  private readonly parts: string[] = [];

  constructor({ detectors, patterns, hashKey }: TextSettings) {
    const strategies = [...DETECTORS.map((name) => detectors.get(name) ?? "allow"), ...patterns.map((p) => p.strategy)];
    this.names = [...DETECTORS, ...patterns.map(({ name }) => name)];
    this.patterns = patterns;
    this.enabled = DETECTORS.reduce((bits, _, i) => (strategies[i] === "allow" ? bits : bits | (1 << i)), 0);
    this.treatments = strategies.map((strategy) => partTreatment(strategy, hashKey));
  }

  /** Number of findings in the text [start, end), which are in `matches` then. */
  find(b: Uint8Array, start: number, end: number, hints: number): number {
    const count = end - start < SHORTEST ? this.none(start, end) : scan(b, start, end, hints, this.enabled);
    return this.patterns.length === 0 ? count : this.findPatterns(b, start, end);
  }

  /** Writes the text that was looked at last, with its findings treated, in its place; its length is at `lengthAt`. */
  write(rewriter: Rewriter, lengthAt: number, start: number, end: number): void {
    const b = rewriter.bytes;
    const { parts } = this;
    const { count, starts, ends } = matches;
    const size = this.treat(b, end - start);
    const out = rewriter.copyTo(lengthAt);
    out.reserve(size + varintSize(size));
    out.varint(size);
    let from = start;
    for (let i = 0; i < count; i++) {
      out.copy(b, from, starts[i]!);
      const part = parts[i]!;
      for (let k = 0; k < part.length; k++) out.byte(part.charCodeAt(k));
      from = ends[i]!;
    }
    out.copy(b, from, end);
    rewriter.skipTo(end);
  }

  /** The text of `b` that was looked at last, treated. */
  treated(b: Uint8Array): string {
    const { count, starts, ends } = matches;
    this.treat(b, b.length);
    const pieces: Uint8Array[] = [];
    let from = 0;
    for (let i = 0; i < count; i++) {
      pieces.push(b.subarray(from, starts[i]), Buffer.from(this.parts[i]!, "latin1"));
      from = ends[i]!;
    }
    return Buffer.concat([...pieces, b.subarray(from)]).toString("utf8");
  }

  /** Makes the parts, and gives the size of the whole. */
  private treat(b: Uint8Array, size: number): number {
    const { count, starts, ends, detectors } = matches;
    for (let i = 0; i < count; i++) {
      const detector = detectors[i]!;
      const part = this.treatments[detector]!(b, starts[i]!, ends[i]!, detector);
      this.parts[i] = part;
      size += part.length - (ends[i]! - starts[i]!);
    }
    return size;
  }

  private none(start: number, end: number): number {
    matches.begin(start, end, 0, 0);
    return 0;
  }

  /** Adds what users' patterns find; where that overlaps something found already, both are treated as the pattern says. */
  private findPatterns(b: Uint8Array, start: number, end: number): number {
    const text = Buffer.prototype.utf8Slice.call(b, start, end);
    for (const [i, { pattern, strategy }] of this.patterns.entries()) {
      if (strategy === "allow") continue;
      const detector = DETECTORS.length + i;
      for (const [from, to] of pattern.spans(text)) {
        const first = start + bytesBefore(text, from, end - start);
        const last = start + bytesBefore(text, to, end - start);
        if (last > first && !this.isTreated(b, first, last, detector)) matches.merge(detector, first, last);
      }
    }
    return matches.count;
  }

  private isTreated(b: Uint8Array, start: number, end: number, detector: number): boolean {
    const text = Buffer.prototype.latin1Slice.call(b, start, end);
    return (
      /^(?:\*{4}|\[REDACTED\]|hash\([0-9a-f]{32}\))$/.test(text) ||
      this.treatments[detector]!(b, start, end, detector) === text
    );
  }
}

/** The byte at which character `index` begins. Text that is not UTF-8 is cut at its end at the latest. */
function bytesBefore(text: string, index: number, size: number): number {
  return text.length === size ? index : Math.min(size, Buffer.byteLength(text.slice(0, index)));
}

/** No detector finds anything in less. */
const SHORTEST = 5;

import { COLON, EQUALS } from "./ascii.js";
import { CHARACTER_BITS, DIGIT, LETTER, SEPARATOR } from "./characters.js";

/** A text that was left, with its findings. */
type OuterText = Pick<
  Matches,
  "count" | "starts" | "ends" | "detectors" | "floor" | "end" | "lastEnd" | "hints" | "enabled" | "scan"
>;

/**
 * What is found in one text: places of its bytes that do not overlap, in order. One list for the whole process, since a
 * scan never waits for anything: `begin` it, let detectors `add`, read it before the next scan.
 */
class Matches {
  count = 0;
  /** Another one for each text, so that what is remembered of one is not taken for another's. */
  scan = 0;
  private scans = 0;
  starts: number[] = [];
  ends: number[] = [];
  /** Numbers of detectors; those of users' patterns follow the built-in ones. */
  detectors: number[] = [];
  /** Where the text begins and ends, and what the key says of it. */
  floor = 0;
  end = 0;
  /** The end of the last match: nothing before it can be found again. */
  lastEnd = 0;
  hints = 0;
  /** A bit for each built-in detector that is on. */
  enabled = 0;
  /** A bit for each country whose national numbers are looked for. */
  countries = -1;

  begin(start: number, end: number, hints: number, enabled: number): void {
    this.count = 0;
    this.scans = (this.scans + 1) & 0x7fffffff;
    this.scan = this.scans;
    this.floor = start;
    this.end = end;
    this.lastEnd = start;
    this.hints = hints;
    this.enabled = enabled;
  }

  /** Leaves the present text for one that is inside it; `enter` comes back to what this gives. */
  leave(): OuterText {
    const { count, starts, ends, detectors, floor, end, lastEnd, hints, enabled, scan } = this;
    this.starts = [];
    this.ends = [];
    this.detectors = [];
    return { count, starts, ends, detectors, floor, end, lastEnd, hints, enabled, scan };
  }

  enter(text: OuterText): void {
    Object.assign(this, text);
  }

  isEnabled(detector: number): boolean {
    return (this.enabled & (1 << detector)) !== 0;
  }

  /** Gives the end, where the scan goes on. */
  add(detector: number, start: number, end: number): number {
    const i = this.count++;
    this.starts[i] = start;
    this.ends[i] = end;
    this.detectors[i] = detector;
    this.lastEnd = end;
    return end;
  }

  /**
   * Adds places that one detector found, which are in order and do not overlap, where they belong; what they overlap
   * becomes part of them.
   */
  merge(detector: number, found: readonly (readonly [start: number, end: number])[]): void {
    const before = { starts: this.starts.slice(0, this.count), ends: this.ends.slice(0, this.count) };
    const detectors = this.detectors.slice(0, this.count);
    this.count = 0;
    this.lastEnd = this.floor;
    let i = 0;
    for (const [start, end] of found) {
      for (; i < detectors.length && before.starts[i]! <= start; i++)
        this.addOrJoin(detectors[i]!, before.starts[i]!, before.ends[i]!, detector);
      this.addOrJoin(detector, start, end, detector);
    }
    for (; i < detectors.length; i++) this.addOrJoin(detectors[i]!, before.starts[i]!, before.ends[i]!, detector);
  }

  /** Adds a match, or makes it part of the last one if they overlap, which then is the joining detector's. */
  private addOrJoin(detector: number, start: number, end: number, joining: number): void {
    const last = this.count - 1;
    if (last < 0 || this.ends[last]! <= start) this.add(detector, start, end);
    else {
      this.lastEnd = Math.max(this.ends[last]!, end);
      this.ends[last] = this.lastEnd;
      this.detectors[last] = joining;
    }
  }
}

/** Does a mask that a treatment has left end before `p`? */
export function endsMask(b: Uint8Array, p: number): boolean {
  return p >= matches.floor + 4 && b[p - 1] === 42 && b[p - 2] === 42 && b[p - 3] === 42 && b[p - 4] === 42;
}

/** Does such a mask begin at `p`? */
export function beginsMask(b: Uint8Array, p: number): boolean {
  return p + 4 <= matches.end && b[p] === 42 && b[p + 1] === 42 && b[p + 2] === 42 && b[p + 3] === 42;
}

export const matches = new Matches();

/** What a detector answers when it finds nothing. */
export const NOT_FOUND = -1;

/** Blanks, quotes, commas and angle brackets: no detector looks across them but for digits. */
const ISOLATING = new Uint8Array(256);
for (const c of " \t\r\n\"',;<>") ISOLATING[c.charCodeAt(0)] = 1;

/**
 * Does every match stand by itself, so that nothing else can be found once it is gone? Nothing but blanks or the like is
 * beside it, and no digits beyond them, which could be taken for one number with others then. With `isMasked`, where a mask
 * comes in its place, it may also be behind a name and `=`, or before `:` and a port: no detector takes a mask for a
 * value, or looks across it.
 */
export function areIsolated(b: Uint8Array, isMasked: boolean): boolean {
  const { count, starts, ends, floor, end } = matches;
  for (let i = 0; i < count; i++) {
    const start = starts[i]!;
    const stop = ends[i]!;
    if (!isIsolatedSide(b, start - 1, -1, floor, end) && !(isMasked && isAssigned(b, start, floor))) return false;
    if (!isIsolatedSide(b, stop, 1, floor, end) && !(isMasked && hasPort(b, stop, end))) return false;
  }
  return true;
}

/** Longer names could be the beginning of something. */
const MAX_PLAIN_NAME = 24;
/** As many digits as a port has: fewer than anything has that is found. */
const MAX_PORT_DIGITS = 5;

/** Is it behind a name of letters, with a blank or the like before it, and `=`? */
function isAssigned(b: Uint8Array, start: number, floor: number): boolean {
  let p = start - 1;
  if (p <= floor || b[p] !== EQUALS) return false;
  const least = Math.max(floor, p - MAX_PLAIN_NAME);
  while (p > least && ((CHARACTER_BITS[b[p - 1]!]! & LETTER) !== 0 || b[p - 1] === 95)) p--;
  return p < start - 1 && (p === floor || ISOLATING[b[p - 1]!] === 1);
}

/** Do `:` and a port stand behind it, and nothing that could be one number with that? */
function hasPort(b: Uint8Array, stop: number, end: number): boolean {
  if (b[stop] !== COLON) return false;
  let p = stop + 1;
  while (p < end && p <= stop + MAX_PORT_DIGITS && (CHARACTER_BITS[b[p]!]! & DIGIT) !== 0) p++;
  return p > stop + 1 && isIsolatedSide(b, p, 1, stop, end);
}

function isIsolatedSide(b: Uint8Array, p: number, step: number, floor: number, end: number): boolean {
  if (p < floor || p >= end) return true;
  if (ISOLATING[b[p]!] === 0) return false;
  for (let n = 0; n < 4 && p >= floor && p < end; n++, p += step) {
    const bits = CHARACTER_BITS[b[p]!]!;
    if ((bits & DIGIT) !== 0) return false;
    if ((bits & SEPARATOR) === 0) return true;
  }
  return true;
}

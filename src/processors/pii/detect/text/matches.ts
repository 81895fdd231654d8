import { COLON, EQUALS } from "./ascii.js";
import { CHARACTER_BITS, DIGIT, LETTER, SEPARATOR } from "./characters.js";
import { COUNTRIES, GEO_LOCATION } from "./detectors.js";
import { scoreOf, THRESHOLDS } from "./evidence.js";

/** Holds 1 for each country. */
export const ALL_COUNTRIES: Uint8Array = new Uint8Array(COUNTRIES.length).fill(1);

/** A part of a text that a detector considered, with what speaks for and against it. */
export interface Candidate {
  readonly detector: number;
  readonly start: number;
  readonly end: number;
  /** Bits of `evidence.ts`. */
  readonly evidence: number;
  readonly score: number;
  readonly isFound: boolean;
  /** The number of the text that contains it: a text inside another has its own. */
  readonly scan: number;
}

/** The candidates of a text, and the bytes of the texts that they are in, by their numbers. */
interface Trace {
  readonly candidates: Candidate[];
  readonly texts: Map<number, Uint8Array>;
}

/** The state of an outer text while a text inside it is scanned. */
type OuterText = Pick<
  Matches,
  | "count"
  | "starts"
  | "ends"
  | "detectors"
  | "floor"
  | "end"
  | "lastEnd"
  | "hints"
  | "enabled"
  | "scan"
  | "hasBarePosition"
>;

/**
 * The matches in one text: byte ranges in order that do not overlap. The whole process shares one list, because a scan
 * never waits. Call `begin`, let detectors `add`, and read the list before the next scan.
 */
class Matches {
  count = 0;
  /** Number of the present text, so that results remembered for one text are not used for another. */
  scan = 0;
  private scans = 0;
  starts: number[] = [];
  ends: number[] = [];
  /** The detector of each match, by number. Numbers of users' patterns follow those of the built-in detectors. */
  detectors: number[] = [];
  /** Start of the text. */
  floor = 0;
  end = 0;
  /** End of the last match. Nothing before it can match again. */
  lastEnd = 0;
  hints = 0;
  /**
   * Whether the result may depend on which digits the text has, and not only on where they are. The scan sets it for
   * every closer look, unless the detectors answer RULED_OUT: a detector that says nothing about digits is safe.
   */
  readsDigits = false;
  /** Whether there is a position or an address that only a nearer label would make a match. */
  hasBarePosition = false;
  /** Whether addresses of private networks are found without a label, too. */
  findsPrivateAddresses = false;
  /** Whether the text begins with a value that is a pseudonym which the present treatment has made. */
  isOwnPseudonym: (text: string) => boolean = () => false;
  /** A bit for each built-in detector that is enabled. */
  enabled = 0;
  /** Holds 1 for each country whose national numbers are enabled, in the order of `COUNTRIES`. */
  countries = ALL_COUNTRIES;
  /** The score that candidates must reach. */
  threshold = THRESHOLDS.medium;
  /** Receives every candidate while a text is explained. */
  private trace: Trace | undefined;

  begin(start: number, end: number, hints: number, enabled: number): void {
    this.count = 0;
    this.scans = (this.scans + 1) & 0x7fffffff;
    this.scan = this.scans;
    this.floor = start;
    this.end = end;
    this.lastEnd = start;
    this.hints = hints;
    this.readsDigits = hints !== 0;
    this.hasBarePosition = false;
    this.enabled = enabled;
  }

  /** Leaves the present text for one inside it. Pass the returned value to `enter` to come back. */
  leave(): OuterText {
    const { count, starts, ends, detectors, floor, end, lastEnd, hints, enabled, scan, hasBarePosition } = this;
    this.starts = [];
    this.ends = [];
    this.detectors = [];
    return { count, starts, ends, detectors, floor, end, lastEnd, hints, enabled, scan, hasBarePosition };
  }

  enter(text: OuterText): void {
    Object.assign(this, text);
    this.readsDigits = true;
  }

  /** Whether candidates that miss the default threshold are of interest, such as numbers with wrong check digits. */
  get isThorough(): boolean {
    return this.trace !== undefined || this.threshold < THRESHOLDS.medium;
  }

  /** Keeps every candidate from now on, until `endTrace`. */
  beginTrace(): Trace {
    this.trace = { candidates: [], texts: new Map() };
    return this.trace;
  }

  endTrace(): void {
    this.trace = undefined;
  }

  /** Call this when the scan of the present text begins. */
  traceText(b: Uint8Array): void {
    this.trace?.texts.set(this.scan, b);
  }

  /** Whether national numbers of all countries are enabled. */
  get hasAllCountries(): boolean {
    return this.countries === ALL_COUNTRIES;
  }

  isEnabled(detector: number): boolean {
    return (this.enabled & (1 << detector)) !== 0;
  }

  /**
   * Adds the candidate [start, end) if its evidence reaches the threshold, and returns its end, where the scan
   * continues. Otherwise returns NOT_FOUND.
   */
  propose(detector: number, start: number, end: number, evidence: number): number {
    const score = scoreOf(evidence);
    const isFound = score >= this.threshold;
    this.trace?.candidates.push({ detector, start, end, evidence, score, isFound, scan: this.scan });
    return isFound ? this.add(detector, start, end) : NOT_FOUND;
  }

  /**
   * Adds a match, and returns its end, where the scan continues. If it overlaps earlier ones, they become one match:
   * replacing both would write a text that is longer or shorter than its length says.
   */
  add(detector: number, start: number, end: number): number {
    if (start < this.lastEnd && this.count > 0) return this.join(start, end);
    const i = this.count++;
    this.starts[i] = start;
    this.ends[i] = end;
    this.detectors[i] = detector;
    this.lastEnd = end;
    return end;
  }

  private join(start: number, end: number): number {
    const { starts, ends } = this;
    let i = this.count - 1;
    this.lastEnd = Math.max(ends[i]!, end);
    while (i > 0 && start < ends[i - 1]!) i--;
    starts[i] = Math.min(starts[i]!, start);
    ends[i] = this.lastEnd;
    this.count = i + 1;
    return this.lastEnd;
  }

  /**
   * Inserts the ranges that one detector found, which are in order and do not overlap. Existing matches that overlap
   * them become part of them.
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

  /**
   * Adds a match, or extends the last one if they overlap. An extended match then belongs to the detector `joining`.
   */
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

/** Whether a mask that this processor has written ends before `p`. */
export function endsMask(b: Uint8Array, p: number): boolean {
  return p >= matches.floor + 4 && b[p - 1] === 42 && b[p - 2] === 42 && b[p - 3] === 42 && b[p - 4] === 42;
}

/** Whether such a mask begins at `p`. */
export function beginsMask(b: Uint8Array, p: number): boolean {
  return p + 4 <= matches.end && b[p] === 42 && b[p + 1] === 42 && b[p + 2] === 42 && b[p + 3] === 42;
}

export const matches = new Matches();

/**
 * Returned by a detector that finds nothing, but might with other digits in the same places. Everything below 0 means
 * that nothing was found.
 */
export const NOT_FOUND = -1;
/**
 * Returned by a detector that finds nothing, whatever the digits are: only their places counted. If a detector calls
 * others, its answer is the largest of theirs (`Math.max`): a match, or NOT_FOUND if any of them may depend on digits.
 * See `Matches.readsDigits`.
 */
export const RULED_OUT = -2;

/** Spaces, quotes, commas and angle brackets. Detectors do not look across them, except for numbers. */
const ISOLATING = new Uint8Array(256);
for (const c of " \t\r\n\"',;<>") ISOLATING[c.charCodeAt(0)] = 1;

/**
 * Whether every match is isolated, so that replacing it cannot reveal another match. Only characters such as spaces may
 * be next to it, and no digits beyond them that could become part of one number. With `isMasked`, a mask replaces the
 * match. Then the match may also follow a name and `=`, or precede `:` and a port, because no detector takes a mask for
 * a value or looks across it.
 *
 * The label of a position counts for some distance, and a mask brings the next position nearer to it. So a position is
 * never isolated, and nothing is if there is a position without a label.
 */
export function areIsolated(b: Uint8Array, isMasked: boolean): boolean {
  const { count, starts, ends, floor, end } = matches;
  if (matches.hasBarePosition) return false;
  for (let i = 0; i < count; i++) {
    if (matches.detectors[i] === GEO_LOCATION) return false;
    const start = starts[i]!;
    const stop = ends[i]!;
    if (!isIsolatedSide(b, start - 1, -1, floor, end) && !(isMasked && isAssigned(b, start, floor))) return false;
    if (!isIsolatedSide(b, stop, 1, floor, end) && !(isMasked && hasPort(b, stop, end))) return false;
  }
  return true;
}

/** Longer names could be the beginning of a match. */
const MAX_PLAIN_NAME = 24;
/** The number of digits of a port, which is less than any detector needs. */
const MAX_PORT_DIGITS = 5;

/** Whether a name of letters and `=` stand before it, with a space or the like before the name. */
function isAssigned(b: Uint8Array, start: number, floor: number): boolean {
  let p = start - 1;
  if (p <= floor || b[p] !== EQUALS) return false;
  const least = Math.max(floor, p - MAX_PLAIN_NAME);
  while (p > least && ((CHARACTER_BITS[b[p - 1]!]! & LETTER) !== 0 || b[p - 1] === 95)) p--;
  return p < start - 1 && (p === floor || ISOLATING[b[p - 1]!] === 1);
}

/** Whether `:` and a port follow, without more digits that could be part of the same number. */
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

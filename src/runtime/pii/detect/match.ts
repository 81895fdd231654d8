/**
 * What is found in one text: places of its bytes that do not overlap, in order. One list for the whole process, since a
 * scan never waits for anything: `begin` it, let detectors `add`, read it before the next scan.
 */
class Matches {
  count = 0;
  readonly starts: number[] = [];
  readonly ends: number[] = [];
  /** Numbers of detectors; those of users' patterns follow the built-in ones. */
  readonly detectors: number[] = [];
  /** Where the text begins and ends, and what the key says of it. */
  floor = 0;
  end = 0;
  hints = 0;
  /** A bit for each built-in detector that is on. */
  enabled = 0;

  begin(start: number, end: number, hints: number, enabled: number): void {
    this.count = 0;
    this.floor = start;
    this.end = end;
    this.hints = hints;
    this.enabled = enabled;
  }

  isOn(detector: number): boolean {
    return (this.enabled & (1 << detector)) !== 0;
  }

  /** The end of the last match: nothing before it can be found again. */
  get last(): number {
    return this.count === 0 ? this.floor : this.ends[this.count - 1]!;
  }

  /** Gives the end, where the scan goes on. */
  add(detector: number, start: number, end: number): number {
    const i = this.count++;
    this.starts[i] = start;
    this.ends[i] = end;
    this.detectors[i] = detector;
    return end;
  }

  /** Adds a match wherever it belongs; what it overlaps becomes part of it. */
  merge(detector: number, start: number, end: number): void {
    let first = 0;
    while (first < this.count && this.ends[first]! <= start) first++;
    let last = first;
    for (; last < this.count && this.starts[last]! < end; last++) {
      start = Math.min(start, this.starts[last]!);
      end = Math.max(end, this.ends[last]!);
    }
    this.trim();
    this.starts.splice(first, last - first, start);
    this.ends.splice(first, last - first, end);
    this.detectors.splice(first, last - first, detector);
    this.count = this.starts.length;
  }

  /** Lets go of what earlier scans have left behind the last match. */
  private trim(): void {
    this.starts.length = this.count;
    this.ends.length = this.count;
    this.detectors.length = this.count;
  }
}

export const matches = new Matches();

/** What a detector answers when it finds nothing. */
export const NOTHING = -1;

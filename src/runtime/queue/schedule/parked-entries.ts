import type { EntryRef } from "../store/store.js";

/** A range of entries in the store, both ends included. */
export interface RefRange {
  readonly from: EntryRef;
  readonly to: EntryRef;
}

/**
 * The ranges of the store with waiting entries that found no room in memory. Entries that wait for a retry are read
 * again when there is room. Entries that the backend refuses as a whole need not be read before the hold ends, so they
 * are kept apart by hold key, and no other entry waits behind them.
 */
export class ParkedEntries {
  private range: RefRange | undefined;
  private readonly held = new Map<string, RefRange>();

  get isEmpty(): boolean {
    return this.range === undefined && this.held.size === 0;
  }

  /** Whether there is a range to read. */
  get isReadable(): boolean {
    return this.range !== undefined;
  }

  /** Whether entries held under this key are parked. */
  hasHeld(key: string): boolean {
    return this.held.has(key);
  }

  add(ref: EntryRef): void {
    this.putBack({ from: ref, to: ref });
  }

  addHeld(key: string, ref: EntryRef): void {
    this.held.set(key, rangeCovering(this.held.get(key), { from: ref, to: ref })!);
  }

  /** Makes the entries held under this key readable. */
  endHold(key: string): void {
    this.putBack(this.held.get(key));
    this.held.delete(key);
  }

  /** Makes all held entries readable. */
  endHolds(): void {
    for (const key of [...this.held.keys()]) this.endHold(key);
  }

  /** Takes out the range to read. */
  take(): RefRange {
    const range = this.range!;
    this.range = undefined;
    return range;
  }

  /** Returns a range, or the rest of it, that still has to be read. */
  putBack(range: RefRange | undefined): void {
    this.range = rangeCovering(this.range, range);
  }
}

/** The shortest range that covers both. */
function rangeCovering(a: RefRange | undefined, b: RefRange | undefined): RefRange | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  return { from: Math.min(a.from, b.from), to: Math.max(a.to, b.to) };
}

/** The rest of the range after an entry; undefined if it is empty. */
export function restAfter(range: RefRange, ref: EntryRef): RefRange | undefined {
  return ref < range.to ? { from: Math.max(range.from, ref + 1), to: range.to } : undefined;
}

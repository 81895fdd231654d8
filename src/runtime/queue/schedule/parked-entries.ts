import type { EntryRef } from "../store/store.js";

/** A part of the store, from its first to its last entry. */
export interface RefRange {
  readonly from: EntryRef;
  readonly to: EntryRef;
}

/**
 * Where in the store the entries are that wait and found no room in memory. Those that wait for a retry are read again when
 * there is room. Those whose backend refuses everything come of no use before that ends: they are kept apart, by what is
 * refused as a whole, so that nobody else waits behind them.
 */
export class ParkedEntries {
  private range: RefRange | undefined;
  private readonly held = new Map<string, RefRange>();

  get isEmpty(): boolean {
    return this.range === undefined && this.held.size === 0;
  }

  /** There is something to read. */
  get isReadable(): boolean {
    return this.range !== undefined;
  }

  /** Something is parked that is refused as a whole, under this key. */
  hasHeld(key: string): boolean {
    return this.held.has(key);
  }

  add(ref: EntryRef): void {
    this.putBack({ from: ref, to: ref });
  }

  addHeld(key: string, ref: EntryRef): void {
    this.held.set(key, rangeCovering(this.held.get(key), { from: ref, to: ref })!);
  }

  /** What is held under this key is to be read again. */
  endHold(key: string): void {
    this.putBack(this.held.get(key));
    this.held.delete(key);
  }

  /** Whatever is held is to be read again. */
  endHolds(): void {
    for (const key of [...this.held.keys()]) this.endHold(key);
  }

  /** Takes out what is to be read. */
  take(): RefRange {
    const range = this.range!;
    this.range = undefined;
    return range;
  }

  /** All of it, or what is left of it, is still to be read. */
  putBack(range: RefRange | undefined): void {
    this.range = rangeCovering(this.range, range);
  }
}

/** The shortest one that covers both. */
function rangeCovering(a: RefRange | undefined, b: RefRange | undefined): RefRange | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  return { from: Math.min(a.from, b.from), to: Math.max(a.to, b.to) };
}

/** What is left of it behind an entry; undefined when that is nothing. */
export function restAfter(range: RefRange, ref: EntryRef): RefRange | undefined {
  return ref < range.to ? { from: Math.max(range.from, ref + 1), to: range.to } : undefined;
}

import type { EntryRef } from "./store/store.js";

/** A part of the store, from its first to its last entry. */
export interface RefRange {
  readonly from: EntryRef;
  readonly to: EntryRef;
}

/** The shortest one that covers both. */
export function rangeCovering(a: RefRange | undefined, b: RefRange | undefined): RefRange | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  return { from: Math.min(a.from, b.from), to: Math.max(a.to, b.to) };
}

/** What is left of it behind an entry; undefined when that is nothing. */
export function restAfter(range: RefRange, ref: EntryRef): RefRange | undefined {
  return ref < range.to ? { from: Math.max(range.from, ref + 1), to: range.to } : undefined;
}

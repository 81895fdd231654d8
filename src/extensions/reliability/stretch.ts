import type { EntryRef } from "./store/store.js";

/** A part of the store, from its first to its last entry. */
export interface Stretch {
  readonly from: EntryRef;
  readonly to: EntryRef;
}

/** The shortest one that covers both. */
export function joined(a: Stretch | undefined, b: Stretch | undefined): Stretch | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  return { from: Math.min(a.from, b.from), to: Math.max(a.to, b.to) };
}

/** What is left of it behind an entry; undefined when that is nothing. */
export function behind(stretch: Stretch, ref: EntryRef): Stretch | undefined {
  return ref < stretch.to ? { from: Math.max(stretch.from, ref + 1), to: stretch.to } : undefined;
}

import type { EntryRef } from "../store.js";

/**
 * A cache of the most recently used values, up to a total weight. It has two generations, and the older one is dropped
 * as a whole, because removing single entries from the front of a large map is slow.
 */
export class RecentCache<T> {
  private young = new Map<EntryRef, T>();
  private old = new Map<EntryRef, T>();
  private readonly limit: number;
  private readonly weigh: (value: T) => number;
  private weight = 0;

  constructor(limit: number, weigh: (value: T) => number) {
    this.limit = limit;
    this.weigh = weigh;
  }

  get(ref: EntryRef): T | undefined {
    return this.young.get(ref) ?? this.old.get(ref);
  }

  /** Returns the value and forgets it. */
  take(ref: EntryRef): T | undefined {
    const value = this.get(ref);
    if (value !== undefined) this.delete(ref);
    return value;
  }

  set(ref: EntryRef, value: T): void {
    this.delete(ref);
    this.young.set(ref, value);
    this.weight += this.weigh(value);
    if (this.weight <= this.limit / 2) return;
    this.old = this.young;
    this.young = new Map();
    this.weight = 0;
  }

  delete(ref: EntryRef): void {
    const value = this.young.get(ref);
    if (value !== undefined) this.weight -= this.weigh(value);
    this.young.delete(ref);
    this.old.delete(ref);
  }

  clear(): void {
    this.young.clear();
    this.old.clear();
    this.weight = 0;
  }
}

import type { EntryRef } from "../store.js";

/** The latest things known of entries, up to a total weight; the earliest are forgotten first. */
export class Recent<T> {
  private readonly kept = new Map<EntryRef, T>();
  private readonly limit: number;
  private readonly weigh: (value: T) => number;
  private weight = 0;

  constructor(limit: number, weigh: (value: T) => number) {
    this.limit = limit;
    this.weigh = weigh;
  }

  get(ref: EntryRef): T | undefined {
    return this.kept.get(ref);
  }

  /** What is kept, which is not kept any longer. */
  take(ref: EntryRef): T | undefined {
    const value = this.kept.get(ref);
    if (value !== undefined) this.delete(ref);
    return value;
  }

  set(ref: EntryRef, value: T): void {
    this.delete(ref);
    this.kept.set(ref, value);
    this.weight += this.weigh(value);
    for (const oldest of this.kept.keys()) {
      if (this.weight <= this.limit) break;
      this.delete(oldest);
    }
  }

  delete(ref: EntryRef): void {
    const value = this.kept.get(ref);
    if (value === undefined) return;
    this.kept.delete(ref);
    this.weight -= this.weigh(value);
  }

  clear(): void {
    this.kept.clear();
    this.weight = 0;
  }
}

import type { Entry } from "#contract/operations";
import { adjustAmount } from "../format/entry.js";
import type { Amount, EntryRef, FailedWatcher, StoredEntry } from "../store.js";
import { ZERO_AMOUNT } from "../store.js";

/** The entries of a store whose payloads are elsewhere, in memory, about a kilobyte each. */
export class EntryIndex {
  /** Ordered by ref. */
  private readonly pendingEntries = new Map<EntryRef, Entry>();
  private readonly failedEntries = new Map<EntryRef, Entry>();
  private readonly refs = new Map<string, EntryRef>();
  private readonly watchers = new Set<FailedWatcher>();
  private pendingAmount = ZERO_AMOUNT;
  private failedAmount = ZERO_AMOUNT;

  get pending(): Amount {
    return this.pendingAmount;
  }

  get failed(): Amount {
    return this.failedAmount;
  }

  get oldestPendingAt(): number | undefined {
    for (const { enqueuedAt } of this.pendingEntries.values()) return enqueuedAt;
    return undefined;
  }

  /** Entries do not fail in the order they came. */
  get oldestFailedAt(): number | undefined {
    let oldest: number | undefined;
    for (const { enqueuedAt } of this.failedEntries.values()) oldest = Math.min(oldest ?? enqueuedAt, enqueuedAt);
    return oldest;
  }

  get(ref: EntryRef): Entry | undefined {
    return this.pendingEntries.get(ref) ?? this.failedEntries.get(ref);
  }

  find(id: string): StoredEntry | undefined {
    const ref = this.refs.get(id);
    return ref === undefined ? undefined : { ref, entry: this.get(ref)! };
  }

  /** Adds an entry, or changes the state of an existing one. */
  set(ref: EntryRef, entry: Entry): void {
    const entries = entry.state === "failed" ? this.failedEntries : this.pendingEntries;
    const before = entries.get(ref);
    // An entry that stays in its state keeps its place in the order.
    if (before === undefined) this.forget(ref);
    else this.count(before, -1);
    entries.set(ref, entry);
    this.refs.set(entry.id, ref);
    this.count(entry, 1);
    this.notifyWatchers(ref, entry.state === "failed" ? entry : undefined);
  }

  remove(ref: EntryRef): void {
    if (this.forget(ref)) this.notifyWatchers(ref, undefined);
  }

  /** Replaces all entries. */
  reset(entries: Iterable<readonly [EntryRef, Entry]>): void {
    for (const map of [this.pendingEntries, this.failedEntries, this.refs]) map.clear();
    this.pendingAmount = this.failedAmount = ZERO_AMOUNT;
    for (const [ref, entry] of entries) this.set(ref, entry);
    for (const watcher of this.watchers) watcher.reset();
  }

  listPending(after: EntryRef | undefined, limit: number): StoredEntry[] {
    return list(this.pendingEntries, (ref) => after === undefined || ref > after, limit);
  }

  listFailed(after: EntryRef | undefined, limit: number, order: "oldest" | "newest"): StoredEntry[] {
    const sorted = [...this.failedEntries].sort(([a], [b]) => (order === "oldest" ? a - b : b - a));
    const isBehind = (ref: EntryRef) => after === undefined || (order === "oldest" ? ref > after : ref < after);
    return list(sorted, isBehind, limit);
  }

  watch(watcher: FailedWatcher): () => void {
    this.watchers.add(watcher);
    return () => this.watchers.delete(watcher);
  }

  private forget(ref: EntryRef): boolean {
    const entry = this.get(ref);
    if (entry === undefined) return false;
    this.pendingEntries.delete(ref);
    this.failedEntries.delete(ref);
    if (this.refs.get(entry.id) === ref) this.refs.delete(entry.id);
    this.count(entry, -1);
    return true;
  }

  private count(entry: Entry, sign: 1 | -1): void {
    if (entry.state === "failed") this.failedAmount = adjustAmount(this.failedAmount, entry, sign);
    else this.pendingAmount = adjustAmount(this.pendingAmount, entry, sign);
  }

  private notifyWatchers(ref: EntryRef, entry: Entry | undefined): void {
    for (const watcher of this.watchers) watcher.changed(ref, entry);
  }
}

function list(
  entries: Iterable<readonly [EntryRef, Entry]>,
  isWanted: (ref: EntryRef) => boolean,
  limit: number,
): StoredEntry[] {
  const found: StoredEntry[] = [];
  for (const [ref, entry] of entries) {
    if (found.length >= limit) break;
    if (isWanted(ref)) found.push({ ref, entry });
  }
  return found;
}

import type { Batch, Entry } from "../../../plugin.js";
import { counted, NOTHING } from "./amounts.js";
import { entryId, entryOf, newTag } from "./new-entry.js";
import {
  type EntryRef,
  type NewEntry,
  type OpenReport,
  type QueueStore,
  type StoredEntry,
  StoreError,
  type StoreStats,
} from "./store.js";

interface Kept {
  entry: Entry;
  readonly batch: Batch;
}

/** A queue that lives as long as its object: for tests, and for those who want no disk. Closing it forgets nothing. */
export class MemoryStore implements QueueStore {
  private readonly exporter: string;
  private readonly tag = newTag();
  /** In order of their refs, which only grow. */
  private readonly kept = new Map<EntryRef, Kept>();
  private readonly refs = new Map<string, EntryRef>();
  private last = 0;
  private pendingAmount = NOTHING;
  private failedAmount = NOTHING;
  private isOpen = false;
  private wasOpen = false;

  constructor(settings: { readonly exporter: string }) {
    this.exporter = settings.exporter;
  }

  async open(): Promise<OpenReport> {
    if (this.isOpen) throw new StoreError("locked", `the queue of ${this.exporter} is already open`);
    const isNew = !this.wasOpen;
    this.isOpen = this.wasOpen = true;
    return { isNew, lostEntries: 0, corruptEntries: 0, setAside: undefined };
  }

  async close(): Promise<void> {
    this.isOpen = false;
  }

  async put(entry: NewEntry): Promise<StoredEntry> {
    this.checkOpen();
    return this.add(entry);
  }

  ack(ref: EntryRef): void {
    if (this.isOpen) this.remove(ref);
  }

  update(ref: EntryRef, entry: Entry): void {
    const kept = this.kept.get(ref);
    if (this.isOpen && kept !== undefined) this.set(kept, { ...entry, state: kept.entry.state });
  }

  async fail(ref: EntryRef, entry: Entry): Promise<void> {
    this.set(this.get(ref), { ...entry, state: "failed" });
  }

  async replace(ref: EntryRef, parts: readonly NewEntry[]): Promise<StoredEntry[]> {
    this.get(ref);
    this.remove(ref);
    return parts.map((part) => this.add(part));
  }

  async replay(changes: readonly { readonly ref: EntryRef; readonly entry: Entry }[]): Promise<StoredEntry[]> {
    const wanted = new Map(changes.map(({ ref, entry }) => [ref, { entry, batch: this.getFailed(ref).batch }]));
    return [...wanted].map(([ref, { entry, batch }]) => {
      this.remove(ref);
      return this.keep({ ...entry, state: "pending" }, batch);
    });
  }

  async delete(refs: readonly EntryRef[]): Promise<void> {
    this.checkOpen();
    for (const ref of refs) this.remove(ref);
  }

  async pending(after: EntryRef | undefined, limit: number): Promise<StoredEntry[]> {
    return this.list("pending", this.kept, (ref) => after === undefined || ref > after, limit);
  }

  async failed(after: EntryRef | undefined, limit: number, order: "oldest" | "newest"): Promise<StoredEntry[]> {
    if (order === "oldest") return this.list("failed", this.kept, (ref) => after === undefined || ref > after, limit);
    return this.list("failed", [...this.kept].reverse(), (ref) => after === undefined || ref < after, limit);
  }

  async find(id: string): Promise<StoredEntry | undefined> {
    this.checkOpen();
    const ref = this.refs.get(id);
    return ref === undefined ? undefined : { ref, entry: this.kept.get(ref)!.entry };
  }

  async payload(ref: EntryRef): Promise<Batch> {
    return this.get(ref).batch;
  }

  get stats(): StoreStats {
    return {
      pending: this.pendingAmount,
      failed: this.failedAmount,
      oldestPendingAt: this.oldest("pending"),
      oldestFailedAt: this.oldest("failed"),
      corrupt: 0,
    };
  }

  private oldest(state: Entry["state"]): number | undefined {
    for (const { entry } of this.kept.values()) if (entry.state === state) return entry.enqueuedAt;
    return undefined;
  }

  private list(
    state: Entry["state"],
    all: Iterable<readonly [EntryRef, Kept]>,
    isBehind: (ref: EntryRef) => boolean,
    limit: number,
  ): StoredEntry[] {
    this.checkOpen();
    const found: StoredEntry[] = [];
    for (const [ref, { entry }] of all) {
      if (found.length >= limit) break;
      if (entry.state === state && isBehind(ref)) found.push({ ref, entry });
    }
    return found;
  }

  private add(fresh: NewEntry): StoredEntry {
    const wanted = fresh.fields?.id;
    const id = wanted !== undefined && !this.refs.has(wanted) ? wanted : entryId(this.tag, this.last + 1);
    return this.keep(entryOf(fresh, id, this.exporter), fresh.batch);
  }

  private keep(entry: Entry, batch: Batch): StoredEntry {
    const ref = ++this.last;
    this.kept.set(ref, { entry, batch });
    this.refs.set(entry.id, ref);
    this.count(entry, 1);
    return { ref, entry };
  }

  private set(kept: Kept, entry: Entry): void {
    this.count(kept.entry, -1);
    kept.entry = entry;
    this.count(entry, 1);
  }

  private remove(ref: EntryRef): void {
    const kept = this.kept.get(ref);
    if (kept === undefined) return;
    this.kept.delete(ref);
    this.refs.delete(kept.entry.id);
    this.count(kept.entry, -1);
  }

  private get(ref: EntryRef): Kept {
    this.checkOpen();
    const kept = this.kept.get(ref);
    if (kept === undefined) throw new StoreError("not_found", `there is no entry ${ref} in the queue`);
    return kept;
  }

  private getFailed(ref: EntryRef): Kept {
    const kept = this.get(ref);
    if (kept.entry.state !== "failed") throw new StoreError("not_found", `entry ${kept.entry.id} is not a dead letter`);
    return kept;
  }

  private count(entry: Entry, times: 1 | -1): void {
    if (entry.state === "pending") this.pendingAmount = counted(this.pendingAmount, entry, times);
    else this.failedAmount = counted(this.failedAmount, entry, times);
  }

  private checkOpen(): void {
    if (!this.isOpen) throw new StoreError("closed", `the queue of ${this.exporter} is closed`);
  }
}

import type { Entry } from "#contract/operations";
import type { Batch } from "#otlp";
import { adjustAmount, createEntry, entryId, hasState, newIdTag } from "./format/entry.js";
import {
  alreadyOpenError,
  closedError,
  type EntryRef,
  type ExchangedEntries,
  type FailedWatcher,
  type NewEntry,
  type Note,
  type NoteNumber,
  type NoteStore,
  noSuchEntry,
  type OpenReport,
  type QueueStore,
  type StoredEntry,
  StoreError,
  type StoreExchange,
  type StoreStats,
  ZERO_AMOUNT,
} from "./store.js";

interface MemoryEntry {
  entry: Entry;
  readonly batch: Batch;
}

/** A queue that lives as long as its object, for tests and for configs without a disk. Closing it loses nothing. */
export class MemoryStore implements QueueStore {
  private readonly exporter: string;
  private readonly tag = newIdTag();
  /** Ordered by ref, because refs only grow. */
  private readonly entries = new Map<EntryRef, MemoryEntry>();
  private readonly refs = new Map<string, EntryRef>();
  private lastRef = 0;
  private pendingAmount = ZERO_AMOUNT;
  private failedAmount = ZERO_AMOUNT;
  private readonly failedWatchers = new Set<FailedWatcher>();
  /** @internal See `QueueStore`. */
  readonly notes: NoteStore = new MemoryNotes();
  private isOpen = false;
  private wasOpen = false;

  constructor(settings: { readonly exporter: string }) {
    this.exporter = settings.exporter;
  }

  async open(): Promise<OpenReport> {
    if (this.isOpen) throw alreadyOpenError(this.exporter);
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
    const stored = this.entries.get(ref);
    if (this.isOpen && stored !== undefined && hasState(entry, stored.entry.state))
      this.set(ref, stored, { ...entry, state: stored.entry.state });
  }

  async fail(ref: EntryRef, entry: Entry): Promise<void> {
    this.set(ref, this.get(ref), { ...entry, state: "failed" });
  }

  async replace(ref: EntryRef, replacements: readonly NewEntry[]): Promise<StoredEntry[]> {
    this.get(ref);
    this.remove(ref);
    return replacements.map((replacement) => this.add(replacement));
  }

  async exchange({ removed, added, note, mustExist = false }: StoreExchange): Promise<ExchangedEntries> {
    this.checkOpen();
    if (mustExist && removed.every((ref) => !this.entries.has(ref))) throw noSuchEntry(removed[0]!);
    for (const ref of removed) this.remove(ref);
    const stored = added.map((fresh) => this.add(fresh));
    if (note === undefined) return { stored, note };
    const { replaces, ...fresh } = note;
    this.notes.remove(replaces);
    return { stored, note: this.notes.add(fresh) };
  }

  async replay(changes: readonly { readonly ref: EntryRef; readonly entry: Entry }[]): Promise<StoredEntry[]> {
    const replayed = new Map(changes.map(({ ref, entry }) => [ref, { entry, batch: this.getFailed(ref).batch }]));
    return [...replayed].map(([ref, { entry, batch }]) => {
      this.remove(ref);
      return this.insert({ ...entry, state: "pending" }, batch);
    });
  }

  async delete(refs: readonly EntryRef[]): Promise<void> {
    this.checkOpen();
    for (const ref of refs) this.remove(ref);
  }

  async pending(after: EntryRef | undefined, limit: number): Promise<StoredEntry[]> {
    return this.list("pending", this.entries, (ref) => after === undefined || ref > after, limit);
  }

  async failed(after: EntryRef | undefined, limit: number, order: "oldest" | "newest"): Promise<StoredEntry[]> {
    if (order === "oldest")
      return this.list("failed", this.entries, (ref) => after === undefined || ref > after, limit);
    return this.list("failed", [...this.entries].reverse(), (ref) => after === undefined || ref < after, limit);
  }

  async find(id: string): Promise<StoredEntry | undefined> {
    this.checkOpen();
    const ref = this.refs.get(id);
    return ref === undefined ? undefined : { ref, entry: this.entries.get(ref)!.entry };
  }

  async payload(ref: EntryRef): Promise<Batch> {
    return this.get(ref).batch;
  }

  /** @internal See `QueueStore`. */
  watchFailed(watcher: FailedWatcher): () => void {
    this.failedWatchers.add(watcher);
    return () => this.failedWatchers.delete(watcher);
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
    for (const { entry } of this.entries.values()) if (entry.state === state) return entry.enqueuedAt;
    return undefined;
  }

  private list(
    state: Entry["state"],
    candidates: Iterable<readonly [EntryRef, MemoryEntry]>,
    isAfter: (ref: EntryRef) => boolean,
    limit: number,
  ): StoredEntry[] {
    this.checkOpen();
    const found: StoredEntry[] = [];
    for (const [ref, { entry }] of candidates) {
      if (found.length >= limit) break;
      if (entry.state === state && isAfter(ref)) found.push({ ref, entry });
    }
    return found;
  }

  private add(fresh: NewEntry): StoredEntry {
    const givenId = fresh.fields?.id;
    const id = givenId !== undefined && !this.refs.has(givenId) ? givenId : entryId(this.tag, this.lastRef + 1);
    return this.insert(createEntry(fresh, id, this.exporter), fresh.batch);
  }

  private insert(entry: Entry, batch: Batch): StoredEntry {
    const ref = ++this.lastRef;
    this.entries.set(ref, { entry, batch });
    this.refs.set(entry.id, ref);
    this.count(entry, 1);
    this.notifyWatchers(ref, entry);
    return { ref, entry };
  }

  private set(ref: EntryRef, stored: MemoryEntry, entry: Entry): void {
    this.count(stored.entry, -1);
    stored.entry = entry;
    this.count(entry, 1);
    this.notifyWatchers(ref, entry);
  }

  private notifyWatchers(ref: EntryRef, entry: Entry | undefined): void {
    const failed = entry?.state === "failed" ? entry : undefined;
    for (const watcher of this.failedWatchers) watcher.changed(ref, failed);
  }

  private remove(ref: EntryRef): void {
    const stored = this.entries.get(ref);
    if (stored === undefined) return;
    this.entries.delete(ref);
    this.refs.delete(stored.entry.id);
    this.count(stored.entry, -1);
    this.notifyWatchers(ref, undefined);
  }

  private get(ref: EntryRef): MemoryEntry {
    this.checkOpen();
    const stored = this.entries.get(ref);
    if (stored === undefined) throw noSuchEntry(ref);
    return stored;
  }

  private getFailed(ref: EntryRef): MemoryEntry {
    const stored = this.get(ref);
    if (stored.entry.state !== "failed")
      throw new StoreError("not_found", `entry ${stored.entry.id} is not a dead letter`);
    return stored;
  }

  private count(entry: Entry, sign: 1 | -1): void {
    if (entry.state === "pending") this.pendingAmount = adjustAmount(this.pendingAmount, entry, sign);
    else this.failedAmount = adjustAmount(this.failedAmount, entry, sign);
  }

  private checkOpen(): void {
    if (!this.isOpen) throw closedError(this.exporter);
  }
}

class MemoryNotes implements NoteStore {
  private readonly kept = new Map<NoteNumber, Note>();
  private last: NoteNumber = 0;

  async load(): Promise<Note[]> {
    return [...this.kept.values()];
  }

  add(note: Omit<Note, "number">): NoteNumber {
    const number = ++this.last;
    // Copied, because the bytes may be a small part of a large buffer.
    this.kept.set(number, { ...note, number, bytes: Uint8Array.from(note.bytes) });
    return number;
  }

  remove(numbers: readonly NoteNumber[]): void {
    for (const number of numbers) this.kept.delete(number);
  }
}

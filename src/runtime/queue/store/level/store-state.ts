import type { Entry } from "#contract/operations";
import type { Batch } from "#otlp";
import { type EntryInfo, entryId, type Meta, newMeta, sequenceOfId } from "../format/entry.js";
import { FORMAT } from "../format/layout.js";
import { type EntryRef, type LevelStoreSettings, ZERO_AMOUNT } from "../store.js";
import type { StoreChange } from "./changes.js";
import { loadDamagedEntry } from "./damaged-entry.js";
import type { EncryptedDb, LevelDb } from "./level-db.js";
import { failedAfter, firstPending, loadEntry, UnreadableEntryError } from "./reader.js";
import { Transaction } from "./transaction.js";

/**
 * Limits the entries that the counters on disk leave out, because opening has to count them: about a third of a second
 * for this many bytes.
 */
const MAX_UNCOUNTED_BYTES = 128 * 1024 * 1024;

const NOTHING_LOADED: ReadonlyMap<EntryRef, EntryInfo> = new Map();

/** Changes that are ready to be written, and what they make of the store. */
interface PreparedCommit {
  readonly transaction: Transaction;
  readonly batch: ReturnType<EncryptedDb["protectedBatch"]>;
  /** Whether the write needs an fsync. */
  readonly sync: boolean;
  /** Approximate size of what the counters on disk leave out after this commit. */
  readonly uncountedBytes: number;
}

/**
 * The state of a store in memory: counters, recent entries and payloads, and the oldest entries. It changes only after
 * LevelDB has written.
 */
export class StoreState {
  meta: Meta;
  readonly infos = new RecentCache<EntryInfo>(50_000, () => 1);
  readonly payloads = new RecentCache<Batch>(16 * 1024 * 1024, (batch) => batch.byteLength + 64);
  oldest: OldestEntries | undefined;
  /** Number of commits of this process. */
  commits = 0;
  /** Whether data was written without an fsync. */
  hasUnsyncedWrites = false;
  /** Versions that do not know this format refuse to open the store. */
  private readonly format: number;
  private readonly durability: LevelStoreSettings["durability"];
  /** Bytes of entries that the counters on disk do not include yet. */
  private uncountedBytes = 0;

  constructor({ exporter, durability }: Pick<LevelStoreSettings, "exporter" | "durability">, format = FORMAT) {
    this.format = format;
    this.meta = newMeta(exporter);
    this.durability = durability;
  }

  /** Starts again with a newly opened database. */
  async reset(db: LevelDb, meta: Meta): Promise<void> {
    this.uncountedBytes = MAX_UNCOUNTED_BYTES;
    const { exporter } = this.meta; // the current exporter, which may have been renamed
    this.meta = { ...meta, exporter, format: this.format, last: Math.max(meta.last, this.meta.last) };
    this.clearCaches();
    this.oldest?.stop();
    this.oldest = new OldestEntries(
      db,
      () => this.meta,
      (ref) => this.infos.get(ref),
    );
    await this.oldest.find(this.meta);
  }

  /** Sets the expected numbers of entries of a store that cannot be opened yet. */
  expect(pending: number, failed: number): void {
    const amount = (entries: number) => ({ ...ZERO_AMOUNT, entries });
    this.meta = { ...this.meta, pending: amount(pending), failed: amount(failed) };
  }

  /** Applies changes to the state as it is, for one write. Those that cannot be applied are failed. */
  async prepare(db: EncryptedDb, changes: readonly StoreChange[]): Promise<PreparedCommit> {
    const unknown = this.unknownRefs(changes);
    const loaded = unknown.length === 0 ? NOTHING_LOADED : await this.loadInfos(db, unknown);
    const batch = db.protectedBatch();
    const lookUp = (ref: EntryRef) => this.infos.get(ref) ?? loaded.get(ref);
    const transaction = new Transaction(batch, this.meta, lookUp, db.protect);
    if (this.oldest !== undefined) Object.assign(transaction.meta, this.oldest.positions);
    let sync = false;
    for (const change of changes) {
      try {
        change.apply(transaction);
        sync ||= change.sync ?? (!change.lazy && this.durability === "fsync");
      } catch (error) {
        change.fail(error);
      }
    }
    const { wroteMeta } = transaction.finish(this.uncountedBytes < MAX_UNCOUNTED_BYTES);
    const uncountedBytes = wroteMeta ? 0 : this.uncountedBytes + changes.reduce((sum, { bytes }) => sum + bytes, 0);
    return { transaction, batch, sync, uncountedBytes };
  }

  /** Takes over a commit that LevelDB has written. */
  applyWritten({ transaction, sync, uncountedBytes }: PreparedCommit): void {
    this.hasUnsyncedWrites = !sync;
    this.uncountedBytes = uncountedBytes;
    this.meta = transaction.meta;
    this.commits++;
    for (const [ref, info] of transaction.infos) {
      if (info === null) {
        this.infos.delete(ref);
        this.payloads.delete(ref);
      } else this.infos.set(ref, info);
    }
    this.oldest?.applyCommit(transaction.infos, this.meta);
  }

  /** Whether this is the id of a future entry. */
  willAssignId(id: string): boolean {
    const sequence = sequenceOfId(id);
    return sequence !== undefined && sequence > this.meta.last && id === entryId(this.meta.tag, sequence);
  }

  clearCaches(): void {
    this.infos.clear();
    this.payloads.clear();
  }

  /** Entries that changes look up and that are not in memory; mostly none. */
  private unknownRefs(changes: readonly StoreChange[]): EntryRef[] {
    const unknown = new Set<EntryRef>();
    for (const { refs } of changes) for (const ref of refs) if (this.infos.get(ref) === undefined) unknown.add(ref);
    return [...unknown];
  }

  private async loadInfos(db: LevelDb, refs: readonly EntryRef[]): Promise<Map<EntryRef, EntryInfo>> {
    const loaded = new Map<EntryRef, EntryInfo>();
    const loadOne = async (ref: EntryRef) => {
      const info = await this.loadInfo(db, ref);
      if (info !== undefined) loaded.set(ref, info);
    };
    for (let i = 0; i < refs.length; i += 64) await Promise.all(refs.slice(i, i + 64).map(loadOne));
    return loaded;
  }

  /** Also works for an unreadable entry, as far as anything is left of it. */
  private async loadInfo(db: LevelDb, ref: EntryRef): Promise<EntryInfo | undefined> {
    try {
      return (await loadEntry(db, ref))?.info;
    } catch (error) {
      if (!(error instanceof UnreadableEntryError)) throw error;
      return (await loadDamagedEntry(db, ref, this.meta)).info;
    }
  }
}

/**
 * A cache of the most recently used values, up to a total weight. It has two generations, and the older one is dropped
 * as a whole, because removing single entries from the front of a large map is slow.
 */
class RecentCache<T> {
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

/** The oldest pending and the oldest failed entry of an open database. */
class OldestEntries {
  readonly pending: OldestEntry;
  readonly failed: OldestEntry;

  /** `meta` returns the current counters. `infoOfRef` returns what is known about an entry without reading it. */
  constructor(db: LevelDb, meta: () => Meta, infoOfRef: (ref: EntryRef) => EntryInfo | undefined) {
    const findPending = async (from: EntryRef) => {
      const ref = await firstPending(db, from, meta());
      if (ref === undefined) return undefined;
      return { ref, enqueuedAt: infoOfRef(ref)?.enqueuedAt ?? (await loadEntry(db, ref))?.entry.enqueuedAt };
    };
    const findFailed = async (from: EntryRef) => {
      const [first] = await failedAfter(db, undefined, 1, "oldest", { ...meta(), failedHead: from });
      return first === undefined ? undefined : { ref: first.ref, enqueuedAt: first.entry.enqueuedAt };
    };
    const lastRef = () => meta().last;
    this.pending = new OldestEntry("pending", meta().head, findPending, lastRef);
    this.failed = new OldestEntry("failed", meta().failedHead, findFailed, lastRef);
  }

  async find({ pending, failed }: Meta): Promise<void> {
    if (pending.entries > 0) await this.pending.find();
    if (failed.entries > 0) await this.failed.find();
  }

  applyCommit(infos: ReadonlyMap<EntryRef, EntryInfo | null>, { pending, failed }: Meta): void {
    this.pending.applyCommit(infos, pending.entries);
    this.failed.applyCommit(infos, failed.entries);
  }

  /** The positions from which reads may start, for the counters. */
  get positions(): Pick<Meta, "head" | "failedHead"> {
    return { head: this.pending.searchFrom, failedHead: this.failed.searchFrom };
  }

  withPositions(meta: Meta): Meta {
    return { ...meta, ...this.positions };
  }

  /** To be called when a pending entry may be before the first known one. */
  notePendingAt(ref: EntryRef): void {
    this.pending.noteUncountedAt(ref);
  }

  stop(): void {
    this.pending.stop();
    this.failed.stop();
  }
}

/** An entry found by scanning; `enqueuedAt` is undefined if it was removed before it could be read. */
interface OldestCandidate {
  readonly ref: EntryRef;
  readonly enqueuedAt: number | undefined;
}

/**
 * The oldest entry of one state. It is tracked as entries come and go. When it is gone, the next one is searched for a
 * moment later, so that a busy queue does not search at every commit.
 */
class OldestEntry {
  private firstPossibleRef: EntryRef;
  private oldestEnqueuedAt: number | undefined;
  private ref: EntryRef | undefined;
  private readonly state: Entry["state"];
  private readonly seek: (from: EntryRef) => Promise<OldestCandidate | undefined>;
  private readonly lastRef: () => EntryRef;
  private timer: NodeJS.Timeout | undefined;
  /** Whether there may be an entry that the counters do not include, so that they do not tell that there is none. */
  private mayBeUncounted = false;
  /** Entries removed during the search. */
  private removedDuringFind: Set<EntryRef> | undefined;
  /** The first ref that came into this state during the search, which may not see it. */
  private firstAddedDuringFind = Number.POSITIVE_INFINITY;

  constructor(
    state: Entry["state"],
    from: EntryRef,
    seek: (from: EntryRef) => Promise<OldestCandidate | undefined>,
    last: () => EntryRef,
  ) {
    this.state = state;
    this.firstPossibleRef = from;
    this.seek = seek;
    this.lastRef = last;
  }

  /** No entry of this state is before this ref. */
  get searchFrom(): EntryRef {
    return this.firstPossibleRef;
  }

  /** When the oldest entry was queued; undefined if there is none. */
  get enqueuedAt(): number | undefined {
    return this.oldestEnqueuedAt;
  }

  noteUncountedAt(ref: EntryRef): void {
    this.mayBeUncounted = true;
    this.noteEntryAt(ref);
  }

  applyCommit(infos: ReadonlyMap<EntryRef, EntryInfo | null>, entries: number): void {
    for (const [ref, info] of infos) this.observe(ref, info);
    if (entries === 0) this.oldestEnqueuedAt = undefined;
    if (entries === 0 && !this.mayBeUncounted) this.firstPossibleRef = this.lastRef() + 1;
    if (this.ref === undefined && this.firstPossibleRef <= this.lastRef() && this.removedDuringFind === undefined)
      this.findLater();
  }

  async find(): Promise<void> {
    this.stop();
    const from = this.firstPossibleRef;
    this.removedDuringFind = new Set();
    this.firstAddedDuringFind = Number.POSITIVE_INFINITY;
    const end = this.lastRef();
    const found = await this.seek(from).catch(() => "failed" as const);
    const removed = this.removedDuringFind;
    this.removedDuringFind = undefined;
    if (found === "failed") return;
    const wasRemoved = found !== undefined && (found.enqueuedAt === undefined || removed.has(found.ref));
    const first = found?.ref ?? end + 1;
    if (from !== this.firstPossibleRef || wasRemoved || this.firstAddedDuringFind < first) return this.findLater();
    this.firstPossibleRef = first;
    if (found === undefined) return;
    this.ref = found.ref;
    this.oldestEnqueuedAt = found.enqueuedAt;
  }

  stop(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
  }

  private findLater(): void {
    this.timer ??= setTimeout(() => this.find(), FIND_DELAY_MS).unref();
  }

  private noteEntryAt(ref: EntryRef): void {
    if (ref < this.firstPossibleRef) this.firstPossibleRef = ref;
  }

  private observe(ref: EntryRef, info: EntryInfo | null): void {
    if (info?.state !== this.state) {
      this.removedDuringFind?.add(ref);
      if (ref === this.ref) this.ref = undefined;
      return;
    }
    this.noteEntryAt(ref);
    this.firstAddedDuringFind = Math.min(this.firstAddedDuringFind, ref);
    if (this.oldestEnqueuedAt !== undefined && (this.ref === undefined || ref >= this.ref)) return;
    this.ref = ref;
    this.oldestEnqueuedAt = info.enqueuedAt;
  }
}

/** A search creates an iterator, which locks LevelDB, so a busy queue searches only a few times per second. */
const FIND_DELAY_MS = 200;

import type { Batch } from "#otlp";
import { type EntryInfo, entryId, type Meta, newMeta, sequenceOfId } from "../format/entry.js";
import { FORMAT } from "../format/frame.js";
import { type EntryRef, type LevelStoreSettings, ZERO_AMOUNT } from "../store.js";
import { loadDamagedEntry } from "./damaged-entry.js";
import type { StoreChange } from "./group-commit.js";
import type { EncryptedDb, LevelDb } from "./level-db.js";
import { OldestEntries } from "./oldest-entries.js";
import { loadEntry, UnreadableEntryError } from "./reader.js";
import { Transaction } from "./transaction.js";

/**
 * Limits the entries that the counters on disk leave out, because opening has to count them: about a third of a second
 * for this many bytes.
 */
const MAX_UNCOUNTED_BYTES = 128 * 1024 * 1024;

const NOTHING_LOADED: ReadonlyMap<EntryRef, EntryInfo> = new Map();

interface WriteHooks {
  /** Called before LevelDB writes, with the future counters. A returned promise is awaited. */
  readonly beforeWrite: (next: Meta) => Promise<void> | undefined;
  /**
   * Called when LevelDB reports a successful write. If it throws, the write does not count and nothing changes in
   * memory.
   */
  readonly afterWrite: () => void;
  /** Called when a transaction is written and its changes are in memory. */
  readonly onWritten: (transaction: Transaction) => void;
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
  private readonly hooks: WriteHooks;
  /** Bytes of entries that the counters on disk do not include yet. */
  private uncountedBytes = 0;

  constructor(
    { exporter, durability }: Pick<LevelStoreSettings, "exporter" | "durability">,
    hooks: WriteHooks,
    format = FORMAT,
  ) {
    this.format = format;
    this.meta = newMeta(exporter);
    this.durability = durability;
    this.hooks = hooks;
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

  /** Writes changes in one write. Changes that cannot be applied are failed. */
  async write(db: EncryptedDb, changes: readonly StoreChange[]): Promise<void> {
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
    const isEmpty = batch.length === 0;
    const preparation = this.hooks.beforeWrite(transaction.meta);
    if (preparation !== undefined) await preparation;
    await batch.write({ sync });
    if (!isEmpty) this.hooks.afterWrite();
    this.hasUnsyncedWrites = !sync;
    this.uncountedBytes = wroteMeta ? 0 : this.uncountedBytes + changes.reduce((sum, { bytes }) => sum + bytes, 0);
    this.applyWritten(transaction);
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

  private applyWritten(transaction: Transaction): void {
    this.meta = transaction.meta;
    this.commits++;
    for (const [ref, info] of transaction.infos) {
      if (info === null) {
        this.infos.delete(ref);
        this.payloads.delete(ref);
      } else this.infos.set(ref, info);
    }
    this.oldest?.applyCommit(transaction.infos, this.meta);
    this.hooks.onWritten(transaction);
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

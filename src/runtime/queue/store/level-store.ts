import type { Entry } from "#contract/operations";
import type { Batch } from "#otlp";
import { Keyring } from "./encryption/keyring.js";
import { ValueCipher } from "./encryption/value-cipher.js";
import { type EntryInfo, type Meta, subtractAmount } from "./format/entry.js";
import { BOUND_UNSEALED_FORMAT, FORMAT } from "./format/layout.js";
import { GroupCommit, LazyChanges, type StoreChange } from "./level/changes.js";
import { ChangesDuringReads } from "./level/changes-during-reads.js";
import { Compactor } from "./level/compactor.js";
import { type ReadDisk, sizeOfFiles } from "./level/disk/disk-plan.js";
import { type DiskUser, SharedDisk, StoreDisk } from "./level/disk/shared-disk.js";
import { toStoreError } from "./level/errors.js";
import { IdReservations } from "./level/id-reservations.js";
import { type MakeLevelDb, makeLevelDb } from "./level/level-db.js";
import { LevelNotes } from "./level/level-notes.js";
import { Database } from "./level/open/database.js";
import type { OpenedDirectory } from "./level/open/open-directory.js";
import { readSummaries, SummaryFile } from "./level/open/summary-file.js";
import { StoreState } from "./level/store-state.js";
import type { Transaction } from "./level/transaction.js";
import { WriteGuard } from "./level/write-guard.js";
import { eraseKeys, keysOfEntry } from "./level-erasure.js";
import { type CommitChange, LevelReads } from "./level-reads.js";
import {
  alreadyOpenError,
  closedError,
  type EntryRef,
  type ExchangedEntries,
  type FailedWatcher,
  type LevelStoreSettings,
  type NewEntry,
  noSuchEntry,
  type OpenReport,
  type QueueStore,
  type StoredEntry,
  type StoredFacts,
  type StoreExchange,
  type StoreStats,
  type WantedPayload,
} from "./store.js";

/** Limits the deletions per commit, because puts wait for the commit before them. */
const MAX_DELETED_PER_COMMIT = 256;
/** Estimated size of an entry without its payload: keys, times, attempts. */
const ENTRY_OVERHEAD_BYTES = 1000;
const QUIET_MS = 5000;
const CHECK_MS = 1000;

export interface LevelStoreOptions {
  readonly makeDb?: MakeLevelDb;
  readonly now?: () => number;
  /** Keys for decryption and encryption. Without it, nothing is encrypted. */
  readonly keyring?: Keyring | undefined;
  /** The disk that all stores of a directory share. Without it, the store has one of its own. */
  readonly disk?: SharedDisk;
  /** Reads the free disk space, if the store has a disk of its own. */
  readonly readDisk?: ReadDisk;
  /** Whether entries are handed on to other stores. Those are all opened before. */
  readonly isJournal?: boolean;
  /**
   * Whether the store counts as open even if the disk is too full to open it. It refuses new entries until there is
   * room.
   */
  readonly mayOpenLater?: boolean;
  /** Milliseconds without removals after which even a small amount of garbage is returned to the disk. */
  readonly quietMs?: number;
  /** Milliseconds between checks of the disk if nothing is written. */
  readonly checkMs?: number;
  /** Called when a full disk has room again for data that moves between stores. */
  readonly onRoom?: () => void;
  /**
   * Called when the store was reopened while in use, after damage or a failed write, and when an entry was set aside
   * while others were listed. The pending entries may have changed.
   */
  readonly onDamage?: (report: OpenReport) => void;
}

/**
 * A queue on disk: a LevelDB directory with a summary file next to it. docs/decisions/0006-queue-store.md describes the
 * layout, what each durability survives, and how damage is found.
 *
 * All changes go through one group commit, and into memory once LevelDB has written them. `LevelReads` reads.
 *
 * For one entry, the order of calls is the order in memory and the order on disk:
 *
 * - Changes wait in one line, in the order of the calls. Each is applied to the state that the changes before it left,
 *   and a write carries the newest state at the time of the write. After a failed commit, the changes that are tried
 *   again stay in front of all later ones.
 * - An update may replace an earlier one only while both would be neighbours in that line; see `LazyChanges`.
 * - A commit that was reported as failed may have been written. So a change that is tried again must do no harm then: an
 *   update made in one state of an entry is ignored in another one, and a removed entry stays removed.
 * - A read sees the last commit, whichever commits were made during it, and unwritten updates of that state.
 */
export class LevelStore implements QueueStore {
  private readonly settings: LevelStoreSettings;
  private readonly database: Database;
  private readonly storeState: StoreState;
  private readonly commits: GroupCommit;
  private readonly lazyChanges: LazyChanges;
  private readonly changesDuringReads = new ChangesDuringReads();
  private readonly reads: LevelReads;
  readonly notes: LevelNotes;
  private readonly idReservations = new IdReservations(async (id, replaced) => {
    const ref = this.storeState.willAssignId(id) ? -1 : (await this.find(id))?.ref;
    return ref !== undefined && ref !== replaced;
  });
  private readonly compactor: Compactor;
  private readonly summaryFile: SummaryFile;
  private readonly disk: StoreDisk;
  private readonly guard: WriteGuard;
  private readonly diskUser: DiskUser;
  private readonly mayOpenLater: boolean;
  private readonly failedWatchers = new Set<FailedWatcher>();
  private lifecycle: "closed" | "open" | "closing" = "closed";
  private syncTimer: NodeJS.Timeout | undefined;

  constructor(settings: LevelStoreSettings, options: LevelStoreOptions = {}) {
    const { directory, exporter } = settings;
    const { makeDb = makeLevelDb, now = Date.now, onDamage = () => {}, quietMs = QUIET_MS } = options;
    this.settings = settings;
    this.mayOpenLater = options.mayOpenLater ?? false;
    this.summaryFile = new SummaryFile(directory);
    const shared = options.disk ?? new SharedDisk(directory, options.readDisk);
    const disk = new StoreDisk(directory, shared, options.isJournal ?? false);
    this.disk = disk;
    this.guard = new WriteGuard({
      directory,
      disk,
      checkMs: options.checkMs ?? CHECK_MS,
      hasEntries: () => this.stats.pending.entries + this.stats.failed.entries > 0,
      tryWrite: () => this.sync(),
      onDiskFull: () => this.compactor.compactNow(),
    });
    this.compactor = new Compactor({
      db: () => this.database.current,
      threshold: () => disk.plan.compactAfter,
      quietMs,
      inTurn: (work) => disk.compact(work),
    });
    const { onRoom = () => {} } = options;
    this.diskUser = { compactNow: () => this.compactor.compactNow(), onRoom };
    const hooks = {
      beforeWrite: (next: Meta) => this.summaryFile.allow(next),
      afterWrite: () => this.guard.afterWrite(),
      onWritten: (transaction: Transaction) => this.onCommitted(transaction),
    };
    const { keyring = new Keyring() } = options;
    const hasKeys = keyring.all.length > 0;
    this.storeState = new StoreState(settings, hooks, hasKeys ? BOUND_UNSEALED_FORMAT : FORMAT);
    this.database = new Database({
      directory,
      exporter,
      makeDb: (path) => makeDb(path, disk.plan),
      cipher: new ValueCipher(keyring),
      now,
      beforeOpen: () => this.guard.beforeOpen(),
      mayReopen: () => this.guard.beforeReopen(),
      beforeReopen: () => this.beforeReopen(),
      onClosed: () => this.guard.onClosed(),
      onOpened: (opened) => this.onOpened(opened),
      onReopened: onDamage,
    });
    this.commits = new GroupCommit({
      commit: (changes) => this.guard.commit(this.commit(changes)),
      lazyMs: 20,
      retryMs: 1000,
      maxBytes: () => disk.plan.maxCommit,
    });
    this.lazyChanges = new LazyChanges({ add: (change) => this.commits.add(change) });
    this.notes = new LevelNotes({
      add: (change) => this.lifecycle === "open" && this.commits.add(change),
      db: () => this.database.current,
    });
    this.reads = new LevelReads({
      directory,
      database: this.database,
      state: this.storeState,
      lazyChanges: this.lazyChanges,
      changesDuringReads: this.changesDuringReads,
      commitChange: this.commitChange,
      checkOpen: () => this.checkOpen(),
      onDamage,
    });
  }

  async open(): Promise<OpenReport> {
    if (this.lifecycle !== "closed") throw alreadyOpenError(this.settings.exporter, this.settings.directory);
    try {
      const report = await this.openDatabase();
      this.lifecycle = "open";
      this.startSyncTimer();
      this.guard.start();
      this.disk.use(this.diskUser);
      return report;
    } catch (error) {
      await this.database.close().catch(() => {});
      throw toStoreError(error, this.settings.directory);
    }
  }

  async close(): Promise<void> {
    if (this.lifecycle !== "open") return;
    this.lifecycle = "closing";
    clearInterval(this.syncTimer);
    this.disk.leave(this.diskUser);
    await this.guard.stop();
    await this.sync();
    await this.commits.flush();
    this.commits.stop();
    await this.database.whenIdle();
    await this.compactor.pause();
    this.storeState.oldest?.stop();
    this.guard.onClosing();
    this.summaryFile.write(this.storeState.meta);
    await this.summaryFile.stop(true);
    await this.database.close();
    this.lifecycle = "closed";
    this.storeState.clearCaches();
    this.lazyChanges.clear();
  }

  async put(fresh: NewEntry): Promise<StoredEntry> {
    const { byteLength } = fresh.batch;
    const spaceCheck = this.guard.claim(byteLength, fresh.isNew ?? false);
    if (spaceCheck !== undefined) await spaceCheck;
    const putAs = (id?: string) => this.commitChange([], byteLength, (transaction) => transaction.put(fresh, id));
    try {
      if (fresh.fields?.id === undefined) return await putAs();
      return await this.idReservations.withReservedIds([fresh], ([id]) => putAs(id));
    } finally {
      this.disk.written(byteLength);
    }
  }

  ack(ref: EntryRef): void {
    if (this.lifecycle !== "open") return;
    this.storeState.payloads.delete(ref);
    const info = this.storeState.infos.get(ref);
    this.lazyChanges.ack(ref, info?.state === "pending" ? info : undefined);
  }

  update(ref: EntryRef, entry: Entry): void {
    if (this.lifecycle === "open") this.lazyChanges.update(ref, entry);
  }

  async fail(ref: EntryRef, entry: Entry): Promise<void> {
    await this.commitChange([ref], 2000, (transaction) => transaction.fail(ref, entry));
  }

  async replace(ref: EntryRef, replacements: readonly NewEntry[]): Promise<StoredEntry[]> {
    const bytes = replacements.reduce((sum, { batch }) => sum + batch.byteLength, 0);
    return this.idReservations.withReservedIds(
      replacements,
      (ids) => this.commitChange([ref], bytes, (transaction) => transaction.replace(ref, replacements, ids)),
      ref,
    );
  }

  async exchange({ removed, added, note, mustExist = false }: StoreExchange): Promise<ExchangedEntries> {
    const bytes = added.reduce((sum, { batch }) => sum + batch.byteLength, 0);
    const isNew = added.some((fresh) => fresh.isNew === true);
    const spaceCheck = this.guard.claim(bytes, isNew);
    if (spaceCheck !== undefined) await spaceCheck;
    try {
      return await this.idReservations.withReservedIds(added, (ids) =>
        this.commitChange([...removed], bytes + 100 * removed.length, (transaction) => {
          if (mustExist && removed.every((ref) => transaction.info(ref) === undefined)) throw noSuchEntry(removed[0]!);
          for (const ref of removed) transaction.remove(ref);
          const stored = added.map((fresh, i) => transaction.put(fresh, ids[i]));
          return { stored, note: note && this.notes.put(transaction, note) };
        }),
      );
    } finally {
      this.disk.written(bytes);
    }
  }

  async replay(changes: readonly { readonly ref: EntryRef; readonly entry: Entry }[]): Promise<StoredEntry[]> {
    const entries = new Map(changes.map(({ ref, entry }) => [ref, entry]));
    return this.commitChange([...entries.keys()], 2000 * entries.size, (transaction) => transaction.replay(entries));
  }

  async delete(refs: readonly EntryRef[]): Promise<void> {
    await this.deleteEntries(refs, () => {});
  }

  async erase(refs: readonly EntryRef[]): Promise<void> {
    const keys: Uint8Array[] = [];
    const places = new Set<EntryRef>();
    await this.deleteEntries(refs, (ref, info) => {
      keys.push(...keysOfEntry(ref, info));
      places.add(ref).add(info.origin);
    });
    const { commitChange, compactor, changesDuringReads: reads } = this;
    if (keys.length > 0) await eraseKeys(keys, [...places], { commitChange, compactor, reads });
  }

  async pending(after: EntryRef | undefined, limit: number): Promise<StoredEntry[]> {
    if (limit <= 0) return [];
    await this.compactor.waitUntilCaughtUp();
    return this.reads.pending(after, limit);
  }

  async failed(after: EntryRef | undefined, limit: number, order: "oldest" | "newest"): Promise<StoredEntry[]> {
    return limit <= 0 ? [] : this.reads.failed(after, limit, order);
  }

  failedFacts(after: EntryRef | undefined, limit: number): Promise<StoredFacts[]> {
    return this.reads.failedFacts(after, limit);
  }

  find(id: string): Promise<StoredEntry | undefined> {
    return this.reads.find(id);
  }

  async payload(ref: EntryRef): Promise<Batch> {
    const cached = this.storeState.payloads.take(ref);
    if (cached !== undefined && this.lifecycle === "open") return cached;
    await this.compactor.waitUntilCaughtUp();
    return this.reads.payload(ref);
  }

  payloads(wanted: readonly WantedPayload[]): Promise<(Batch | undefined)[]> {
    return this.reads.payloads(wanted);
  }

  watchFailed(watcher: FailedWatcher): () => void {
    this.failedWatchers.add(watcher);
    return () => this.failedWatchers.delete(watcher);
  }

  get stats(): StoreStats {
    const { failed, corrupt } = this.storeState.meta;
    const pending = subtractAmount(this.storeState.meta.pending, this.lazyChanges.ackedButCounted);
    return {
      pending,
      failed,
      oldestPendingAt: pending.entries === 0 ? undefined : this.storeState.oldest?.pending.enqueuedAt,
      oldestFailedAt: failed.entries === 0 ? undefined : this.storeState.oldest?.failed.enqueuedAt,
      corrupt,
      writeFailure: this.guard.failure,
      diskFreeBytes: this.disk.lastRoom?.free,
      ballastBytes: this.disk.lastRoom?.held,
    };
  }

  private async deleteEntries(
    refs: readonly EntryRef[],
    onDelete: (ref: EntryRef, info: EntryInfo) => void,
  ): Promise<void> {
    for (let i = 0; i < refs.length || i === 0; i += MAX_DELETED_PER_COMMIT) {
      const refsOfCommit = refs.slice(i, i + MAX_DELETED_PER_COMMIT);
      await this.commitChange(refsOfCommit, 100 * refsOfCommit.length, (transaction) => {
        for (const ref of refsOfCommit) {
          const info = transaction.info(ref);
          if (info !== undefined) onDelete(ref, info);
          transaction.remove(ref);
        }
      });
    }
  }

  private async openDatabase(): Promise<OpenReport> {
    try {
      return await this.database.open().catch((error) => this.retryOpening(error));
    } catch (error) {
      const storeError = toStoreError(error, this.settings.directory);
      if (!this.mayOpenLater || storeError.code !== "full") throw error;
      this.guard.noteFailure(storeError);
      this.database.openLater();
      await this.countFromSummary();
      return { isNew: false, lostEntries: 0, corruptEntries: 0, setAside: undefined };
    }
  }

  private async retryOpening(error: unknown): Promise<OpenReport> {
    if (toStoreError(error, this.settings.directory).code !== "full") throw error;
    await this.guard.onClosed();
    return this.database.open();
  }

  private async countFromSummary(): Promise<void> {
    const { newest } = await readSummaries(this.settings.directory);
    if (newest !== undefined) this.storeState.expect(newest.pending, newest.failed);
  }

  private async beforeReopen(): Promise<void> {
    this.guard.onClosing();
    await this.compactor.pause();
  }

  private async onOpened({ db, meta }: OpenedDirectory): Promise<void> {
    await this.guard.onOpened();
    this.compactor.resume();
    await this.storeState.reset(db, meta);
    for (const watcher of this.failedWatchers) watcher.reset();
    await this.summaryFile.start(this.storeState.meta);
    await this.noteInheritedGarbage(meta);
  }

  /**
   * Table space beyond the live data belongs to entries removed by earlier runs that has not been returned to the disk.
   */
  private async noteInheritedGarbage({ pending, failed, head, last }: Meta): Promise<void> {
    const { tables } = await sizeOfFiles(this.settings.directory);
    const live = pending.bytes + failed.bytes + (pending.entries + failed.entries) * ENTRY_OVERHEAD_BYTES;
    const garbage = tables - live;
    this.compactor.noteInherited(garbage, garbage > live ? last + 1 : head);
  }

  private commit(changes: readonly StoreChange[]): Promise<void> {
    const write = () => this.storeState.write(this.database.current, changes);
    return this.database.write(() => this.guard.checked(() => this.compactor.write(write)));
  }

  private readonly commitChange: CommitChange = <T>(
    refs: readonly EntryRef[],
    bytes: number,
    work: (transaction: Transaction) => T,
  ) =>
    new Promise<T>((resolve, reject) => {
      this.checkOpen();
      this.lazyChanges.closeUpdates(refs);
      let result: T;
      const apply = (transaction: Transaction) => {
        result = work(transaction);
      };
      this.commits.add({ refs, bytes, lazy: false, apply, done: () => resolve(result), fail: reject });
    });

  private onCommitted(transaction: Transaction): void {
    const { infos, entries, removed, meta } = transaction;
    if (this.changesDuringReads.activeReads.size > 0) this.changesDuringReads.noteCommit(transaction);
    for (const watcher of this.failedWatchers)
      for (const [ref, info] of infos) watcher.changed(ref, info?.state === "failed" ? entries.get(ref) : undefined);
    for (const [ref, info] of infos) if (info === null) this.lazyChanges.onUncounted(ref);
    this.compactor.noteRemoved(removed);
    this.summaryFile.write(meta);
  }

  private startSyncTimer(): void {
    if (this.settings.durability !== "interval") return;
    const sync = () => void (this.storeState.hasUnsyncedWrites && this.sync());
    this.syncTimer = setInterval(sync, Math.max(1, this.settings.intervalMs)).unref();
  }

  /**
   * Fsyncs earlier writes that were not synced. Never fails: callers that need durability learn of errors from their
   * own write.
   */
  private sync(): Promise<void> {
    return new Promise((resolve) => {
      const done = () => resolve();
      const apply = (transaction: Transaction) => transaction.requireMeta();
      this.commits.add({ refs: [], bytes: 100, lazy: false, sync: true, apply, done, fail: done });
    });
  }

  private checkOpen(): void {
    if (this.lifecycle !== "open") throw closedError(this.settings.exporter, this.settings.directory);
  }
}

import type { Batch } from "../../../plugin.js";
import type { Entry } from "../../../runtime/kit.js";
import { subtractAmount } from "./amounts.js";
import { ChangesDuringReads } from "./level/changes-during-reads.js";
import { Compactor } from "./level/compactor.js";
import { loadDamagedEntry } from "./level/damaged-entry.js";
import { toStoreError } from "./level/errors.js";
import { GroupCommit } from "./level/group-commit.js";
import { IdReservations } from "./level/id-reservations.js";
import { LazyChanges } from "./level/lazy-changes.js";
import { type LevelDb, type MakeLevelDb, makeLevelDb } from "./level/level-db.js";
import { Database } from "./level/open/database.js";
import { DiskSpace } from "./level/open/disk-space.js";
import { SummaryFile } from "./level/open/summary-file.js";
import {
  type FoundEntry,
  failedAfter,
  findRefById,
  firstPending,
  loadEntry,
  loadPayload,
  pendingFrom,
  UnreadableEntryError,
} from "./level/reader.js";
import { StoreState } from "./level/store-state.js";
import type { Transaction } from "./level/transaction.js";
import { sequenceOfId } from "./new-entry.js";
import {
  type EntryRef,
  type LevelStoreSettings,
  type NewEntry,
  type OpenReport,
  type QueueStore,
  type StoredEntry,
  StoreError,
  type StoreStats,
} from "./store.js";

/** Who puts an entry while others are deleted waits for that commit, so one commit deletes no more than this. */
const MAX_DELETED_PER_COMMIT = 256;

export interface LevelStoreOptions {
  readonly makeDb?: MakeLevelDb;
  readonly now?: () => number;
  /**
   * Called when the store was opened again while in use, after damage or a failed write, and when an entry was set
   * aside while others were listed. What is pending may not be what it was.
   */
  readonly onDamage?: (report: OpenReport) => void;
}

/**
 * A queue on disk: one LevelDB directory of its own, with a summary file next to it. How it is laid out, what each
 * durability survives and how damage is found is told in docs/decisions/0006-queue-store.md.
 *
 * All changes go through one group commit, and into memory once LevelDB has written them. Reads go to LevelDB;
 * what they find is compared with what commits changed during the read and with what is still to be written.
 */
export class LevelStore implements QueueStore {
  private readonly settings: LevelStoreSettings;
  private readonly onDamage: (report: OpenReport) => void;
  private readonly database: Database;
  private readonly storeState: StoreState;
  private readonly commits: GroupCommit;
  private readonly lazyChanges: LazyChanges;
  private readonly changesDuringReads = new ChangesDuringReads();
  private readonly idReservations = new IdReservations(
    async (id) => this.storeState.willAssignId(id) || (await this.find(id)) !== undefined,
  );
  private readonly compactor = new Compactor(() => this.database.current);
  private readonly summaryFile: SummaryFile;
  private readonly diskSpace: DiskSpace;
  private lifecycle: "closed" | "open" | "closing" = "closed";
  private syncTimer: NodeJS.Timeout | undefined;

  constructor(settings: LevelStoreSettings, options: LevelStoreOptions = {}) {
    const { directory, exporter } = settings;
    const { makeDb = makeLevelDb, now = Date.now, onDamage = () => {} } = options;
    this.settings = settings;
    this.onDamage = onDamage;
    this.summaryFile = new SummaryFile(directory);
    this.diskSpace = new DiskSpace(directory);
    this.storeState = new StoreState(settings, (transaction) => this.onCommitted(transaction));
    this.database = new Database({
      directory,
      exporter,
      makeDb,
      now,
      beforeReopen: () => this.compactor.pause(),
      onOpened: async ({ db, meta }) => {
        this.compactor.resume();
        await this.storeState.reset(db, meta);
      },
      onReopened: onDamage,
    });
    this.commits = new GroupCommit({
      commit: (changes) => this.database.write(() => this.storeState.write(this.database.current, changes)),
      lazyMs: 20,
      retryMs: 1000,
    });
    this.lazyChanges = new LazyChanges({
      add: (change) => this.commits.add(change),
      onUpdated: (ref, entry) => this.changesDuringReads.noteUpdate(ref, entry),
    });
  }

  async open(): Promise<OpenReport> {
    if (this.lifecycle !== "closed") throw this.storeError("locked", "is already open");
    try {
      const report = await this.database.open();
      await this.summaryFile.start(this.storeState.meta);
      this.lifecycle = "open";
      this.startSyncTimer();
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
    await this.sync();
    await this.commits.flush();
    this.commits.stop();
    await this.database.whenIdle();
    await this.compactor.pause();
    this.storeState.oldest?.stop();
    this.summaryFile.write(this.storeState.meta);
    await this.summaryFile.stop();
    await this.database.close();
    this.lifecycle = "closed";
    this.storeState.clearCaches();
    this.lazyChanges.clear();
  }

  async put(fresh: NewEntry): Promise<StoredEntry> {
    const spaceCheck = this.diskSpace.claim(fresh.batch.byteLength);
    if (spaceCheck !== undefined) await spaceCheck.catch((error) => this.onDiskFull(error));
    const [stored] = await this.idReservations.withReservedIds([fresh], ([id]) =>
      this.commitChange([], fresh.batch.byteLength, (transaction) => [transaction.put(fresh, id)]),
    );
    return stored!;
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

  async replace(ref: EntryRef, parts: readonly NewEntry[]): Promise<StoredEntry[]> {
    const bytes = parts.reduce((sum, { batch }) => sum + batch.byteLength, 0);
    return this.idReservations.withReservedIds(parts, (ids) =>
      this.commitChange([ref], bytes, (transaction) => transaction.replace(ref, parts, ids)),
    );
  }

  async replay(changes: readonly { readonly ref: EntryRef; readonly entry: Entry }[]): Promise<StoredEntry[]> {
    const wanted = new Map(changes.map(({ ref, entry }) => [ref, entry]));
    return this.commitChange([...wanted.keys()], 2000 * wanted.size, (transaction) => transaction.replay(wanted));
  }

  async delete(refs: readonly EntryRef[]): Promise<void> {
    for (let i = 0; i < refs.length || i === 0; i += MAX_DELETED_PER_COMMIT) {
      const refsOfCommit = refs.slice(i, i + MAX_DELETED_PER_COMMIT);
      await this.commitChange(refsOfCommit, 100 * refsOfCommit.length, (transaction) => {
        for (const ref of refsOfCommit) transaction.remove(ref);
      });
    }
  }

  async pending(after: EntryRef | undefined, limit: number): Promise<StoredEntry[]> {
    if (limit <= 0) return [];
    await this.compactor.waitUntilCaughtUp();
    return this.read(async (db) => {
      const { commits } = this.storeState;
      const found: StoredEntry[] = [];
      const from = Math.max(this.storeState.oldest?.pending.searchFrom ?? 0, after === undefined ? 0 : after + 1);
      for await (const page of pendingFrom(db, from, this.storeState.meta)) {
        for (const entry of page)
          if (found.length < limit && this.stillExists(entry.ref, "pending")) found.push(this.withLatestChanges(entry));
        if (found.length >= limit) break;
      }
      if (found.length === 0 && after === undefined) await this.checkNothingPending(db, commits);
      return found;
    });
  }

  async failed(after: EntryRef | undefined, limit: number, order: "oldest" | "newest"): Promise<StoredEntry[]> {
    if (limit <= 0) return [];
    return this.read(async (db) => {
      const positions = this.storeState.oldest?.withPositions(this.storeState.meta) ?? this.storeState.meta;
      const found: StoredEntry[] = [];
      // What went away meanwhile leaves room for more: a short page means that there are no others.
      for (let at = after; ; ) {
        const wanted = limit - found.length;
        const page = await failedAfter(db, at, wanted, order, positions);
        for (const entry of page) if (this.stillExists(entry.ref, "failed")) found.push(this.withLatestChanges(entry));
        if (page.length < wanted || found.length === limit) return found;
        at = page.at(-1)!.ref;
      }
    });
  }

  async find(id: string): Promise<StoredEntry | undefined> {
    return this.read(async (db) => {
      for (const ref of [sequenceOfId(id), await findRefById(db, id)]) {
        if (ref === undefined || !this.stillExists(ref)) continue;
        const found = await loadEntry(db, ref);
        if (found?.entry.id === id && this.stillExists(ref)) return this.withLatestChanges(found);
      }
      return undefined;
    });
  }

  async payload(ref: EntryRef): Promise<Batch> {
    const cached = this.storeState.payloads.take(ref);
    if (cached !== undefined && this.lifecycle === "open") return cached;
    return this.read(
      async (db) => {
        const info = this.stillExists(ref)
          ? (this.storeState.infos.get(ref) ?? (await loadEntry(db, ref))?.info)
          : undefined;
        if (info === undefined) throw new StoreError("not_found", `there is no entry ${ref} in the queue`);
        return loadPayload(db, ref, info);
      },
      (error) => {
        throw new StoreError("corrupt", `entry ${ref} of the queue was damaged and has been set aside`, {
          cause: error,
        });
      },
    );
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
    };
  }

  private commitChange<T>(refs: readonly EntryRef[], bytes: number, work: (transaction: Transaction) => T): Promise<T> {
    return new Promise((resolve, reject) => {
      if (this.lifecycle !== "open") return reject(this.storeError("closed", "is closed"));
      let result: T;
      const apply = (transaction: Transaction) => {
        result = work(transaction);
      };
      this.commits.add({ refs, bytes, lazy: false, apply, done: () => resolve(result), fail: reject });
    });
  }

  private onCommitted({ infos, removed, meta }: Transaction): void {
    this.changesDuringReads.noteCommit(infos);
    for (const [ref, info] of infos) if (info === null) this.lazyChanges.onUncounted(ref);
    this.compactor.noteRemoved(removed);
    this.summaryFile.write(meta);
  }

  /** Runs a read; sets aside what it finds unreadable, repairs the database if it is damaged, and tries again. */
  private async read<T>(work: (db: LevelDb) => Promise<T>, onUnreadable?: (error: unknown) => T): Promise<T> {
    for (let tries = 0; ; ) {
      if (this.lifecycle !== "open") throw this.storeError("closed", "is closed");
      const db = await this.database.whenRepaired();
      try {
        return await this.changesDuringReads.track(() => work(db));
      } catch (error) {
        if (error instanceof UnreadableEntryError) {
          const wasThere = await this.changesDuringReads.track(() => this.quarantine(error.ref));
          if (wasThere && onUnreadable !== undefined) return onUnreadable(error);
          if (wasThere) this.onDamage({ isNew: false, lostEntries: 0, corruptEntries: 1, setAside: undefined });
        } else if (tries++ >= 3 || !(await this.database.recover(error, db)))
          throw toStoreError(error, this.settings.directory);
      }
    }
  }

  /** Sets an entry aside; false when it was removed while it was being read, which is no damage. */
  private async quarantine(ref: EntryRef): Promise<boolean> {
    const { infos, meta } = this.storeState;
    const { info, values, possibleOrigin } = await loadDamagedEntry(this.database.current, ref, meta);
    return this.commitChange([], 1000, (transaction) => {
      if (info === undefined || this.changesDuringReads.info(ref) === null) return false;
      if (transaction.info(ref) === undefined) infos.set(ref, info);
      transaction.quarantine(ref, values);
      if (possibleOrigin !== undefined) transaction.restoreOrigin(possibleOrigin);
      this.searchPendingFrom(possibleOrigin ?? ref);
      return true;
    });
  }

  /** Nothing is pending though the counters say otherwise: what was there is lost, and must not be waited for. */
  private async checkNothingPending(db: LevelDb, commits: number): Promise<void> {
    const { pending } = this.storeState.meta;
    const isCertain = () => this.storeState.commits === commits && !this.lazyChanges.hasUnwrittenAcks;
    if (pending.entries === 0 || !isCertain()) return;
    const firstRef = await firstPending(db, 0, this.storeState.meta);
    if (firstRef !== undefined) this.searchPendingFrom(firstRef);
    else if (isCertain())
      await this.commitChange([], 100, (transaction) => isCertain() && transaction.uncountLostPending(pending));
  }

  /** There may be a pending entry here, before where the first one was thought to be. */
  private searchPendingFrom(ref: EntryRef): void {
    const pending = this.storeState.oldest?.pending;
    if (pending !== undefined) pending.searchFrom = Math.min(pending.searchFrom, ref);
  }

  private startSyncTimer(): void {
    if (this.settings.durability !== "interval") return;
    const sync = () => void (this.storeState.hasUnsyncedWrites && this.sync());
    this.syncTimer = setInterval(sync, Math.max(1, this.settings.intervalMs)).unref();
  }

  /** An fsync for what was written without one. Never fails: those who wait for safety are told by their own write. */
  private sync(): Promise<void> {
    return new Promise((resolve) => {
      const done = () => resolve();
      this.commits.add({ refs: [], bytes: 100, lazy: false, sync: true, apply() {}, done, fail: done });
    });
  }

  private withLatestChanges({ ref, entry, info, batch }: FoundEntry): StoredEntry {
    if (this.changesDuringReads.info(ref) === undefined) this.storeState.infos.set(ref, info);
    if (batch !== undefined) this.storeState.payloads.set(ref, batch);
    const changed = this.lazyChanges.unwrittenUpdate(ref) ?? this.changesDuringReads.entry(ref);
    return { ref, entry: changed === undefined ? entry : { ...changed, state: entry.state } };
  }

  /** Whether an entry that was read is still there, and still in that state. */
  private stillExists(ref: EntryRef, state?: Entry["state"]): boolean {
    const latest = this.changesDuringReads.info(ref);
    if (this.lazyChanges.isAcked(ref) || latest === null) return false;
    return latest === undefined || state === undefined || latest.state === state;
  }

  private onDiskFull(error: unknown): never {
    this.compactor.compactNow();
    throw toStoreError(error, this.settings.directory);
  }

  private storeError(code: "closed" | "locked", what: string): StoreError {
    return new StoreError(code, `the queue of ${this.settings.exporter} in ${this.settings.directory} ${what}`);
  }
}

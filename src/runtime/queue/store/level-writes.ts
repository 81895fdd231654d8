import { stat } from "node:fs/promises";
import { makePrivate, makePrivateDirectory, type ProcessHold } from "#system";
import { subtractAmount } from "./format/entry.js";
import { GroupCommit, LazyChanges, type StoreChange } from "./level/changes.js";
import { ChangesDuringReads } from "./level/changes-during-reads.js";
import { isClosedError, isDamageError, toStoreError } from "./level/errors.js";
import type { EncryptedDb, LevelDb } from "./level/level-db.js";
import { holdDirectory } from "./level/open/directory-access.js";
import { type OpenDirectoryOptions, type OpenedDirectory, openDirectory } from "./level/open/open-directory.js";
import { readSummaries, SummaryFile } from "./level/open/summary-file.js";
import type { StoreState } from "./level/store-state.js";
import type { Transaction } from "./level/transaction.js";
import type { LevelSpace } from "./level-space.js";
import { type Amount, closedError, type EntryRef, type FailedWatcher, type OpenReport } from "./store.js";

interface LevelWritesSettings extends Omit<OpenDirectoryOptions, "suspectDamage"> {
  readonly space: LevelSpace;
  readonly state: StoreState;
  readonly maxCommitBytes: () => number;
  /**
   * Whether the store counts as open even if the disk is too full to open it. It refuses new entries until there is
   * room.
   */
  readonly mayOpenLater: boolean;
  /** Called when the store was reopened while in use. */
  readonly onReopened: (report: OpenReport) => void;
}

/**
 * The LevelDB of a store, and everything that is written to it.
 *
 * Changes wait in one line and are committed in groups. Commits, openings and repairs are made one at a time. After a
 * failed write, LevelDB cannot be trusted with the next one, so the database is opened again before it. After damage, it
 * is repaired first.
 */
export class LevelWrites {
  readonly lazyChanges: LazyChanges;
  /** What is committed while a read is under way. */
  readonly changesDuringReads = new ChangesDuringReads();
  readonly failedWatchers = new Set<FailedWatcher>();
  /** Whether callers may change the store. */
  isOpen = false;
  private readonly settings: LevelWritesSettings;
  private readonly space: LevelSpace;
  private readonly state: StoreState;
  private readonly summaryFile: SummaryFile;
  private readonly commits: GroupCommit;
  private db: EncryptedDb | undefined;
  /** Kept while the database is closed in order to be reopened. */
  private hold: ProcessHold | undefined;
  private heldInode = 0;
  private lastWork: Promise<unknown> = Promise.resolve();
  private mustReopen = false;
  private repairing: Promise<void> | undefined;

  constructor(settings: LevelWritesSettings) {
    this.settings = settings;
    this.space = settings.space;
    this.state = settings.state;
    this.summaryFile = new SummaryFile(settings.directory);
    this.commits = new GroupCommit({
      commit: (changes) => this.space.commit(this.commit(changes)),
      lazyMs: 20,
      retryMs: 1000,
      maxBytes: settings.maxCommitBytes,
    });
    this.lazyChanges = new LazyChanges(this.commits);
  }

  get current(): EncryptedDb {
    if (this.db === undefined) throw this.closedError();
    return this.db;
  }

  /** What is pending, without acknowledged entries that are not removed yet. */
  get pending(): Amount {
    return subtractAmount(this.state.meta.pending, this.lazyChanges.ackedButCounted);
  }

  checkOpen(): void {
    if (!this.isOpen) throw this.closedError();
  }

  /** Adds a change if the store is open. Nobody waits for it. */
  add(change: StoreChange): void {
    if (this.isOpen) this.commits.add(change);
  }

  /**
   * Commits the changes that `work` makes to these entries, about `bytes` in size. Resolves with the result of `work`
   * once it is written.
   */
  commitChange<T>(refs: readonly EntryRef[], bytes: number, work: (transaction: Transaction) => T): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.checkOpen();
      this.lazyChanges.closeUpdates(refs);
      let result: T;
      const apply = (transaction: Transaction) => {
        result = work(transaction);
      };
      this.commits.add({ refs, bytes, lazy: false, apply, done: () => resolve(result), fail: reject });
    });
  }

  /**
   * Fsyncs earlier writes that were not synced. Never fails: callers that need durability learn of errors from their
   * own write.
   */
  sync(): Promise<void> {
    return new Promise((resolve) => {
      const done = () => resolve();
      const apply = (transaction: Transaction) => transaction.requireMeta();
      this.commits.add({ refs: [], bytes: 100, lazy: false, sync: true, apply, done, fail: done });
    });
  }

  async open(): Promise<OpenReport> {
    try {
      return await this.openFirst()
        .catch((error) => this.retryOpening(error))
        .catch((error) => this.openLater(error));
    } catch (error) {
      await this.closeDatabase().catch(() => {});
      throw toStoreError(error, this.settings.directory);
    }
  }

  /** Writes what waits, and closes the database. */
  async close(): Promise<void> {
    await this.sync();
    await this.commits.flush();
    this.commits.stop();
    await this.lastWork;
    this.state.oldest?.stop();
    await this.space.onClosing();
    this.summaryFile.write(this.state.meta);
    await this.summaryFile.stop(true);
    await this.closeDatabase();
    this.state.clearCaches();
    this.lazyChanges.clear();
  }

  /** Returns the database for the next read. Waits for the end of a repair. */
  async whenRepaired(): Promise<LevelDb> {
    await this.repairing;
    if (this.db === undefined) await this.exclusively(() => this.reopenIfNeeded());
    return this.current;
  }

  /** Tries to recover from a failed read. Returns false if nothing can be done. */
  async recover(error: unknown, db: LevelDb): Promise<boolean> {
    if (isDamageError(error)) await this.repair(db);
    else if (isClosedError(error)) await this.exclusively(() => this.reopenIfNeeded());
    else return false;
    return true;
  }

  /** Repairs the database while others wait. Does nothing if it was repaired meanwhile. */
  private repair(db: LevelDb): Promise<void> {
    this.repairing ??= this.exclusively(async () => {
      if (this.db === db) await this.reopen(true);
    }).finally(() => {
      this.repairing = undefined;
    });
    return this.repairing;
  }

  /** If LevelDB finds its files damaged, they are repaired and the changes are written once more. */
  private commit(changes: readonly StoreChange[]): Promise<void> {
    const write = () => this.space.checked(() => this.space.compactor.write(() => this.write(changes)));
    return this.exclusively(async () => {
      await this.reopenIfNeeded();
      try {
        await write();
      } catch (error) {
        this.mustReopen = true;
        if (!isDamageError(error)) throw error;
        await this.reopen(true);
        await write().catch((again) => {
          this.mustReopen = true;
          throw again;
        });
      }
    });
  }

  /** Writes changes in one write. If the files turn out to be gone, the write does not count. */
  private async write(changes: readonly StoreChange[]): Promise<void> {
    const commit = await this.state.prepare(this.current, changes);
    const { transaction, batch, sync } = commit;
    const isEmpty = batch.length === 0;
    const allowance = this.summaryFile.allow(transaction.meta);
    if (allowance !== undefined) await allowance;
    await batch.write({ sync });
    if (!isEmpty) this.space.afterWrite();
    this.state.applyWritten(commit);
    this.tell(transaction);
  }

  /** Tells everybody who follows the entries of a commit. */
  private tell(transaction: Transaction): void {
    const { infos, entries, removed, meta } = transaction;
    if (this.changesDuringReads.activeReads.size > 0) this.changesDuringReads.noteCommit(transaction);
    for (const watcher of this.failedWatchers)
      for (const [ref, info] of infos) watcher.changed(ref, info?.state === "failed" ? entries.get(ref) : undefined);
    for (const [ref, info] of infos) if (info === null) this.lazyChanges.onUncounted(ref);
    this.space.compactor.noteRemoved(removed);
    this.summaryFile.write(meta);
  }

  private async openFirst(): Promise<OpenReport> {
    const { directory } = this.settings;
    await makePrivateDirectory(directory);
    await this.holdDirectory();
    await makePrivate(directory);
    await this.space.beforeOpen();
    return this.openHeld(false);
  }

  private async retryOpening(error: unknown): Promise<OpenReport> {
    if (toStoreError(error, this.settings.directory).code !== "full") throw error;
    await this.space.onClosed();
    return this.openFirst();
  }

  /** Counts as open with what the summary knows. The next write or read tries again. */
  private async openLater(error: unknown): Promise<OpenReport> {
    const { directory, mayOpenLater } = this.settings;
    const storeError = toStoreError(error, directory);
    if (!mayOpenLater || storeError.code !== "full") throw error;
    this.space.noteFailure(storeError);
    this.mustReopen = true;
    const { newest } = await readSummaries(directory);
    if (newest !== undefined) this.state.expect(newest.pending, newest.failed);
    return { isNew: false, lostEntries: 0, corruptEntries: 0, setAside: undefined };
  }

  private async openHeld(suspectDamage: boolean): Promise<OpenReport> {
    const opened = await openDirectory({ ...this.settings, suspectDamage });
    this.db = opened.db;
    await this.begin(opened);
    return opened.report;
  }

  /** Prepares everything for a newly opened database, before anybody else may use it. */
  private async begin({ db, meta }: OpenedDirectory): Promise<void> {
    await this.space.onOpened(db);
    await this.state.reset(db, meta);
    for (const watcher of this.failedWatchers) watcher.reset();
    await this.summaryFile.start(this.state.meta);
    await this.space.noteInheritedGarbage(meta);
  }

  private async reopenIfNeeded(): Promise<void> {
    if (!this.mustReopen) return;
    await this.space.checkReopening(this.pending.entries + this.state.meta.failed.entries > 0);
    await this.reopen(false);
  }

  private async reopen(suspectDamage: boolean): Promise<void> {
    this.mustReopen = true;
    await this.space.onClosing();
    await this.db?.close();
    await this.space.onClosed();
    await this.holdDirectory();
    const report = await this.openHeld(suspectDamage);
    this.mustReopen = false;
    this.settings.onReopened(report);
  }

  /** Renews the hold if another directory has the name now. */
  private async holdDirectory(): Promise<void> {
    const { ino } = await stat(this.settings.directory);
    if (this.hold !== undefined && ino === this.heldInode) return;
    await this.hold?.release();
    this.hold = undefined;
    this.hold = await holdDirectory(this.settings.directory);
    this.heldInode = ino;
  }

  private async closeDatabase(): Promise<void> {
    try {
      await this.db?.close();
    } finally {
      await this.hold?.release();
      this.hold = undefined;
    }
  }

  private exclusively<T>(work: () => Promise<T>): Promise<T> {
    const run = this.lastWork.then(work).catch((error) => {
      throw toStoreError(error, this.settings.directory);
    });
    this.lastWork = run.catch(() => {});
    return run;
  }

  private closedError(): Error {
    return closedError(this.settings.exporter, this.settings.directory);
  }
}

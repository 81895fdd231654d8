import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { makePrivateDirectory } from "#system";
import type { Meta } from "./format/entry.js";
import { Compactor } from "./level/compactor.js";
import { sizeOfFiles } from "./level/disk/disk-plan.js";
import { checkWritable, type DiskUser, type StoreDisk } from "./level/disk/shared-disk.js";
import { toStoreError } from "./level/errors.js";
import { checkUnlocked, type LevelDb } from "./level/level-db.js";
import { OwnerOnlyFiles } from "./level/open/directory-access.js";
import { LOG_FILE } from "./leveldb-files/data-files.js";
import { StoreError } from "./store.js";

interface LevelSpaceSettings {
  readonly directory: string;
  readonly disk: StoreDisk;
  /** Milliseconds between checks of the disk if nothing is written. */
  readonly checkMs: number;
  /** Milliseconds without removals after which even a small amount of garbage is returned to the disk. */
  readonly quietMs: number;
  /** Called when a full disk has room again for data that moves between stores. */
  readonly onRoom: () => void;
}

/** Estimated size of an entry without its payload: keys, times, attempts. */
const ENTRY_OVERHEAD_BYTES = 1000;

/**
 * The space of a store: claims it, returns that of removed entries to the disk, and knows why nothing can be written at
 * the moment, even without a write: the disk is full, the last write failed, or the files were removed. It notices by
 * itself when that is over.
 */
export class LevelSpace implements DiskUser {
  readonly compactor: Compactor;
  private readonly settings: LevelSpaceSettings;
  private readonly liveFiles: LiveFiles;
  private readonly ownerOnlyFiles: OwnerOnlyFiles;
  private diskFailure: StoreError | undefined;
  private writeFailure: StoreError | undefined;
  private areFilesGone = false;
  private timer: NodeJS.Timeout | undefined;
  private checking: Promise<void> | undefined;

  constructor(settings: LevelSpaceSettings) {
    const { directory, disk, quietMs } = settings;
    this.settings = settings;
    this.liveFiles = new LiveFiles(directory);
    this.ownerOnlyFiles = new OwnerOnlyFiles(directory);
    this.compactor = new Compactor({
      threshold: () => disk.plan.compactAfter,
      quietMs,
      inTurn: (work) => disk.compact(work),
    });
  }

  get failure(): StoreError | undefined {
    return this.writeFailure ?? this.diskFailure;
  }

  /** Prepares the disk before a store is opened on it. */
  async beforeOpen(): Promise<void> {
    await this.settings.disk.makePlan();
    await this.settings.disk.makeRoomToOpen();
  }

  /**
   * Rejects if reopening the store after a failed write would be useless or harmful. `hasEntries`: entries were in the
   * files and may still be in memory.
   */
  async checkReopening(hasEntries: boolean): Promise<void> {
    const { directory, disk } = this.settings;
    if (this.areFilesGone && hasEntries) throw filesGoneError(directory);
    await makePrivateDirectory(directory);
    await disk.makeRoomToOpen();
    // Closing may free the only space there is.
    await checkWritable(directory).catch((error) => {
      if (error.code !== "ENOSPC") throw error;
    });
  }

  /** To be called before closing. The files are not watched or compacted until the store is open again. */
  async onClosing(): Promise<void> {
    this.liveFiles.end();
    await this.compactor.pause();
  }

  /** To be called when the store is closed and about to be reopened. */
  async onClosed(): Promise<void> {
    await checkUnlocked(this.settings.directory);
    await this.settings.disk.removeOrphans();
  }

  /** To be called with a newly opened database, before anything is written. */
  async onOpened(db: LevelDb): Promise<void> {
    this.areFilesGone = false;
    this.liveFiles.begin();
    await this.ownerOnlyFiles.check();
    this.compactor.resume(db);
  }

  /**
   * Table space beyond the live data belongs to entries removed by earlier runs that has not been returned to the disk.
   */
  async noteInheritedGarbage({ pending, failed, head, last }: Meta): Promise<void> {
    const { tables } = await sizeOfFiles(this.settings.directory);
    const live = pending.bytes + failed.bytes + (pending.entries + failed.entries) * ENTRY_OVERHEAD_BYTES;
    const garbage = tables - live;
    this.compactor.noteInherited(garbage, garbage > live ? last + 1 : head);
  }

  /** Checks the disk from now on. `tryWrite` tries to write something after a failure; it never rejects. */
  start(tryWrite: () => Promise<void>): void {
    this.settings.disk.use(this);
    this.timer ??= setInterval(() => {
      this.checking ??= this.check(tryWrite).finally(() => {
        this.checking = undefined;
      });
    }, this.settings.checkMs).unref();
  }

  async stop(): Promise<void> {
    this.settings.disk.leave(this);
    clearInterval(this.timer);
    this.timer = undefined;
    await this.checking;
    await this.ownerOnlyFiles.check();
  }

  compactNow(): void {
    this.compactor.compactNow();
  }

  onRoom(): void {
    this.settings.onRoom();
  }

  /** Claims space for an entry; see `StoreDisk.claim`. */
  claim(bytes: number, isNew: boolean): Promise<void> | undefined {
    return this.settings.disk.claim(bytes, isNew)?.then(
      () => {
        if (isNew) this.diskFailure = undefined;
      },
      (error) => {
        throw this.onNoSpace(error);
      },
    );
  }

  /** Runs a LevelDB write, unless the files are gone. If the write fails because they are, that is the error. */
  async checked(work: () => Promise<void>): Promise<void> {
    this.require(this.liveFiles.logExists());
    try {
      await work();
    } catch (error) {
      this.require(this.liveFiles.exist());
      throw error;
    }
  }

  /** Throws if the files are gone although a write has just succeeded. */
  afterWrite(): void {
    this.require(this.liveFiles.logHasGrown());
  }

  /** Remembers the result of a commit. */
  async commit(work: Promise<void>): Promise<void> {
    try {
      await work;
      this.writeFailure = undefined;
    } catch (error) {
      this.noteFailure(error);
      throw error;
    }
  }

  noteFailure(error: unknown): void {
    if (!this.areFilesGone) this.writeFailure = toStoreError(error, this.settings.directory);
  }

  private require(areFilesThere: boolean): void {
    this.note(areFilesThere);
    if (this.areFilesGone) throw this.writeFailure;
  }

  private note(areFilesThere: boolean): void {
    if (this.areFilesGone || areFilesThere) return;
    this.areFilesGone = true;
    this.writeFailure = filesGoneError(this.settings.directory);
  }

  private async check(tryWrite: () => Promise<void>): Promise<void> {
    await this.ownerOnlyFiles.check();
    try {
      await this.settings.disk.check();
      this.diskFailure = undefined;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOSPC") this.onNoSpace(error);
    }
    this.note(this.liveFiles.exist());
    // Also on a full disk, because a failed merge shows only when something is written, and LevelDB frees nothing until
    // it is reopened.
    if (this.failure !== undefined) await tryWrite();
  }

  private onNoSpace(error: unknown): StoreError {
    this.diskFailure = toStoreError(error, this.settings.directory);
    this.compactNow();
    return this.diskFailure;
  }
}

function filesGoneError(directory: string): StoreError {
  return new StoreError(
    "io",
    `the files of the queue in ${directory} were removed or replaced while it was in use: new data is refused until the entries in memory have been delivered or the agent is restarted`,
  );
}

/**
 * Notices if files of an open store are removed or replaced. LevelDB keeps them open, so it would keep writing to
 * files that are lost later. The current log is checked before and after every write, which takes a few
 * microseconds. CURRENT is checked now and then: without it, a store is rebuilt from its other files, so nothing is
 * lost.
 */
class LiveFiles {
  private readonly directory: string;
  private log: LogFile | undefined;

  constructor(directory: string) {
    this.directory = directory;
  }

  /** To be called when the database has been opened. */
  begin(): void {
    this.log = this.newestLog();
  }

  /** To be called before the database is closed. Files are not checked until it has been opened again. */
  end(): void {
    this.log = undefined;
  }

  /** Whether the log still exists. */
  logExists(): boolean {
    return this.log === undefined || this.logNow(this.log) !== undefined;
  }

  /** Whether all files still exist. */
  exist(): boolean {
    return this.log === undefined || (this.hasCurrent() && this.logExists());
  }

  /** Like `logExists`, but to be called after a write. Also checks that the log has grown or a new one has begun. */
  logHasGrown(): boolean {
    const { log } = this;
    if (log === undefined) return true;
    const same = this.logNow(log);
    const isLonger = same !== undefined && (same.number > log.number || same.size > log.size);
    const now = isLonger ? same : this.logAfter(log);
    this.log = now ?? log;
    return now !== undefined;
  }

  private hasCurrent(): boolean {
    return statSync(join(this.directory, "CURRENT"), NO_ERROR) !== undefined;
  }

  /** Returns the current state of the log, or of its successor; undefined if it was removed or replaced. */
  private logNow(log: LogFile): LogFile | undefined {
    const now = readLog(log.path, log.number);
    return now?.inode === log.inode ? now : this.logAfter(log);
  }

  private logAfter({ number }: LogFile): LogFile | undefined {
    const newest = this.newestLog();
    return newest !== undefined && newest.number > number ? newest : undefined;
  }

  private newestLog(): LogFile | undefined {
    const numbers = namesIn(this.directory).flatMap((name) => LOG_FILE.exec(name)?.[1] ?? []);
    if (numbers.length === 0) return undefined;
    const newest = Math.max(...numbers.map(Number));
    return readLog(join(this.directory, `${String(newest).padStart(6, "0")}.log`), newest);
  }
}

interface LogFile {
  readonly path: string;
  readonly number: number;
  readonly inode: number;
  readonly size: number;
}

function readLog(path: string, number: number): LogFile | undefined {
  const file = statSync(path, NO_ERROR);
  return file && { path, number, inode: file.ino, size: file.size };
}

const NO_ERROR = { throwIfNoEntry: false } as const;

function namesIn(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch {
    return [];
  }
}

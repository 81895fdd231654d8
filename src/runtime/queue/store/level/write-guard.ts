import { readdirSync, statSync } from "node:fs";
import { stat } from "node:fs/promises";
import { join } from "node:path";
import { makePrivate, makePrivateDirectory } from "#system";
import { LOG_FILE } from "../leveldb-files/data-files.js";
import { StoreError } from "../store.js";
import { checkWritable, type StoreDisk } from "./disk/shared-disk.js";
import { toStoreError } from "./errors.js";
import { checkUnlocked } from "./level-db.js";

interface WriteGuardSettings {
  readonly directory: string;
  readonly disk: StoreDisk;
  /** Milliseconds between checks of the disk if nothing is written. */
  readonly checkMs: number;
  /** Whether there are entries that were in the files and may still be in memory. */
  readonly hasEntries: () => boolean;
  /** Tries to write something. Never rejects. */
  readonly tryWrite: () => Promise<void>;
  readonly onDiskFull: () => void;
}

/**
 * Knows why nothing can be written at the moment, even without a write: the disk is full, the last write failed, or the
 * files were removed. It notices by itself when that is over.
 */
export class WriteGuard {
  private readonly settings: WriteGuardSettings;
  private readonly liveFiles: LiveFiles;
  private readonly ownerOnlyFiles: OwnerOnlyFiles;
  private diskFailure: StoreError | undefined;
  private writeFailure: StoreError | undefined;
  private areFilesGone = false;
  private timer: NodeJS.Timeout | undefined;
  private checking: Promise<void> | undefined;

  constructor(settings: WriteGuardSettings) {
    this.settings = settings;
    this.liveFiles = new LiveFiles(settings.directory);
    this.ownerOnlyFiles = new OwnerOnlyFiles(settings.directory);
  }

  get failure(): StoreError | undefined {
    return this.writeFailure ?? this.diskFailure;
  }

  /** Prepares the disk before a store is opened on it. */
  async beforeOpen(): Promise<void> {
    await this.settings.disk.makePlan();
    await this.settings.disk.makeRoomToOpen();
  }

  /** Rejects if reopening the store after a failed write would be useless or harmful. */
  async beforeReopen(): Promise<void> {
    const { directory, disk, hasEntries } = this.settings;
    if (this.areFilesGone && hasEntries()) throw filesGoneError(directory);
    await makePrivateDirectory(directory);
    await disk.makeRoomToOpen();
    // Closing may free the only space there is.
    await checkWritable(directory).catch((error) => {
      if (error.code !== "ENOSPC") throw error;
    });
  }

  /** To be called before closing. The files are not watched until the store is open again. */
  onClosing(): void {
    this.liveFiles.end();
  }

  /** To be called when the store is closed and about to be reopened. */
  async onClosed(): Promise<void> {
    await checkUnlocked(this.settings.directory);
    await this.settings.disk.removeOrphans();
  }

  async onOpened(): Promise<void> {
    this.areFilesGone = false;
    this.liveFiles.begin();
    await this.ownerOnlyFiles.check();
  }

  start(): void {
    this.timer ??= setInterval(() => {
      this.checking ??= this.check().finally(() => {
        this.checking = undefined;
      });
    }, this.settings.checkMs).unref();
  }

  async stop(): Promise<void> {
    clearInterval(this.timer);
    this.timer = undefined;
    await this.checking;
    await this.ownerOnlyFiles.check();
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

  private async check(): Promise<void> {
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
    if (this.failure !== undefined) await this.settings.tryWrite();
  }

  private onNoSpace(error: unknown): StoreError {
    this.diskFailure = toStoreError(error, this.settings.directory);
    this.settings.onDiskFull();
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

/**
 * Makes the files of a store accessible only to their owner. LevelDB creates files with the umask of the process, which
 * belongs to the program that embeds Sluice. So the directory is closed to others, and new files are changed.
 */
class OwnerOnlyFiles {
  private readonly directory: string;
  private checkedAt = 0;

  constructor(directory: string) {
    this.directory = directory;
  }

  /** Checks the files if any were added or removed since the last call. Never rejects. */
  async check(): Promise<void> {
    const changedAt = await stat(this.directory).then(
      ({ mtimeMs }) => mtimeMs,
      () => 0,
    );
    if (changedAt === this.checkedAt) return;
    this.checkedAt = changedAt;
    await makePrivate(this.directory);
  }
}

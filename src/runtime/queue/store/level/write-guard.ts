import { makePrivateDirectory } from "#system";
import { StoreError } from "../store.js";
import { checkWritable, type StoreDisk } from "./disk/store-disk.js";
import { toStoreError } from "./errors.js";
import { checkUnlocked } from "./level-db.js";
import { LiveFiles } from "./live-files.js";
import { OwnerOnlyFiles } from "./open/owner-only-files.js";

export interface WriteGuardSettings {
  readonly directory: string;
  readonly disk: StoreDisk;
  /** How often the disk is looked at when nobody writes. */
  readonly checkMs: number;
  /** Whether there is anything that the files held and memory may still have. */
  readonly hasEntries: () => boolean;
  /** Tries to write something; never rejects. */
  readonly tryWrite: () => Promise<void>;
  readonly onDiskFull: () => void;
}

/**
 * Knows why nothing can be written at the moment, also when nobody tries to: the disk is full, the last write failed, or
 * the files have been taken away. It finds out by itself when that is over.
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

  /** Looks at the disk before a store is opened on it. */
  async beforeOpen(): Promise<void> {
    await this.settings.disk.makePlan();
    await this.settings.disk.makeRoomToOpen();
  }

  /** Rejects while it is of no use, or would do harm, to open the store again after a failed write. */
  async beforeReopen(): Promise<void> {
    const { directory, disk, hasEntries } = this.settings;
    if (this.areFilesGone && hasEntries()) throw filesGoneError(directory);
    await makePrivateDirectory(directory);
    await disk.makeRoomToOpen();
    // What closing makes room for may be all the room there is.
    await checkWritable(directory).catch((error) => {
      if (error.code !== "ENOSPC") throw error;
    });
  }

  /** The files may be moved about until the store is open again. */
  onClosing(): void {
    this.liveFiles.end();
  }

  /** The store is closed, and about to be opened again. */
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

  /** Takes room for an entry: see `StoreDisk.claim`. */
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

  /** Runs a write of LevelDB, unless the files are gone; when it fails because they are, that is the error. */
  async checked(work: () => Promise<void>): Promise<void> {
    this.require(this.liveFiles.isLogThere());
    try {
      await work();
    } catch (error) {
      this.require(this.liveFiles.areThere());
      throw error;
    }
  }

  /** Throws when the files are not there any more, although a write has just succeeded. */
  afterWrite(): void {
    this.require(this.liveFiles.haveGrown());
  }

  /** Remembers how a commit ended. */
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
    this.note(this.liveFiles.areThere());
    // On a full disk too: a merge that failed is seen only by who writes, and LevelDB frees nothing until it is opened again.
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
    `the files of the queue in ${directory} were removed or replaced while it was in use: nothing new is taken until all that is still in memory has been delivered, or the agent is restarted`,
  );
}

import { stat } from "node:fs/promises";
import { type HoldOwner, holdName, makePrivate, makePrivateDirectory, type ProcessHold } from "#system";
import { closedError, type OpenReport, StoreError } from "../../store.js";
import { isClosedError, isDamageError, toStoreError } from "../errors.js";
import type { EncryptedDb, LevelDb } from "../level-db.js";
import { type OpenDirectoryOptions, type OpenedDirectory, openDirectory } from "./open-directory.js";

interface DatabaseSettings extends Omit<OpenDirectoryOptions, "suspectDamage"> {
  /** Called before the first opening. Rejects if it is not possible. */
  readonly beforeOpen: () => Promise<void>;
  /**
   * Called before a reopening after a failed write. Rejects while it is not possible; the data can still be read then.
   */
  readonly mayReopen: () => Promise<void>;
  /** Called before the database is closed in order to be reopened. All its users must stop. */
  readonly beforeReopen: () => Promise<void>;
  /** Called when the database was closed in order to be reopened. */
  readonly onClosed: () => Promise<void>;
  /** Called with a newly opened database, before anybody else may use it. */
  readonly onOpened: (opened: OpenedDirectory) => Promise<void>;
  readonly onReopened: (report: OpenReport) => void;
}

/**
 * A store's LevelDB, which is reopened when necessary. After a failed write, LevelDB cannot be trusted with the next
 * one. After damage, it must be repaired. Writes and repairs are made one at a time.
 */
export class Database {
  private readonly settings: DatabaseSettings;
  private db: EncryptedDb | undefined;
  /** Kept while the database is closed in order to be reopened. */
  private hold: ProcessHold | undefined;
  private heldInode = 0;
  private lastWork: Promise<unknown> = Promise.resolve();
  private mustReopen = false;
  private repairing: Promise<void> | undefined;

  constructor(settings: DatabaseSettings) {
    this.settings = settings;
  }

  get current(): EncryptedDb {
    if (this.db === undefined) throw closedError(this.settings.exporter, this.settings.directory);
    return this.db;
  }

  async open(): Promise<OpenReport> {
    await makePrivateDirectory(this.settings.directory);
    await this.holdDirectory();
    await makePrivate(this.settings.directory);
    await this.settings.beforeOpen();
    return this.openHeld(false);
  }

  /** To be called when opening failed. The next write or read tries again. */
  openLater(): void {
    this.mustReopen = true;
  }

  async close(): Promise<void> {
    try {
      await this.db?.close();
    } finally {
      await this.hold?.release();
      this.hold = undefined;
    }
  }

  /** Resolves when no write and no repair is under way. */
  async whenIdle(): Promise<void> {
    await this.lastWork;
  }

  /** Returns the database for the next read. Waits for the end of a repair. */
  async whenRepaired(): Promise<LevelDb> {
    await this.repairing;
    if (this.db === undefined) await this.exclusively(() => this.reopenIfNeeded());
    return this.current;
  }

  /** Runs a write. If LevelDB finds its files damaged, they are repaired and the write is tried once more. */
  write(work: () => Promise<void>): Promise<void> {
    return this.exclusively(async () => {
      await this.reopenIfNeeded();
      try {
        await work();
      } catch (error) {
        this.mustReopen = true;
        if (!isDamageError(error)) throw error;
        await this.reopen(true);
        await work().catch((again) => {
          this.mustReopen = true;
          throw again;
        });
      }
    });
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

  private async reopenIfNeeded(): Promise<void> {
    if (!this.mustReopen) return;
    await this.settings.mayReopen();
    await this.reopen(false);
  }

  private async openHeld(suspectDamage: boolean): Promise<OpenReport> {
    const { onOpened } = this.settings;
    const opened = await openDirectory({ ...this.settings, suspectDamage });
    this.db = opened.db;
    await onOpened(opened);
    return opened.report;
  }

  private async reopen(suspectDamage: boolean): Promise<void> {
    this.mustReopen = true;
    await this.settings.beforeReopen();
    await this.db?.close();
    await this.settings.onClosed();
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

  private exclusively<T>(work: () => Promise<T>): Promise<T> {
    const run = this.lastWork.then(work).catch((error) => {
      throw toStoreError(error, this.settings.directory);
    });
    this.lastWork = run.catch(() => {});
    return run;
  }
}

/**
 * Holds a queue's directory for this process, in addition to LevelDB's lock. LevelDB's lock is a file: removing the
 * file lets a second process in, and POSIX drops the lock when any part of the process closes the same file, as a
 * refused second instance does. The hold is named after the directory itself (device and inode).
 *
 * Between containers that share a directory, only LevelDB's lock works.
 *
 * Creates the directory if necessary. Rejects with a `StoreError` "locked" that names the process holding it.
 */
export async function holdDirectory(directory: string): Promise<ProcessHold> {
  await makePrivateDirectory(directory);
  const { dev, ino } = await stat(directory, { bigint: true });
  const hold = await holdName(`sluice-queue-${dev}-${ino}`);
  if ("heldBy" in hold) throw heldError(directory, hold.heldBy);
  return hold;
}

function heldError(directory: string, owner: HoldOwner): StoreError {
  const advice =
    owner === undefined || owner.since !== undefined
      ? "stop that one, or give this one a directory of its own"
      : `it does not answer and may be stopped: let it continue with kill -CONT ${owner.pid}, or end it with kill -KILL ${owner.pid}`;
  return new StoreError("locked", `the queue directory ${directory} is in use by ${describe(owner)}: ${advice}`);
}

function describe(owner: HoldOwner): string {
  if (owner === undefined) return "another process";
  const { pid, since } = owner;
  const start = since === undefined ? "" : `, since ${since}`;
  return pid === process.pid ? `another instance in this process${start}` : `process ${pid}${start}`;
}

import { stat } from "node:fs/promises";
import { makePrivate, makePrivateDirectory } from "#system";
import { closedError, type OpenReport } from "../../store.js";
import { isClosedError, isDamageError, toStoreError } from "../errors.js";
import type { LevelDb } from "../level-db.js";
import { type DirectoryHold, holdDirectory } from "./directory-hold.js";
import { type OpenDirectoryOptions, type OpenedDirectory, openDirectory } from "./open-directory.js";

export interface DatabaseSettings extends Omit<OpenDirectoryOptions, "suspectDamage"> {
  /** Called before it is first opened; rejects when it cannot be. */
  readonly beforeOpen: () => Promise<void>;
  /** Called when it should be opened again after a failed write; rejects while it cannot be. What is there can still be read. */
  readonly mayReopen: () => Promise<void>;
  /** Called before the database is closed to be opened again: whoever uses it must stop. */
  readonly beforeReopen: () => Promise<void>;
  /** Called when it has been closed to be opened again. */
  readonly onClosed: () => Promise<void>;
  /** Called with a database that has just been opened, before anybody else may use it. */
  readonly onOpened: (opened: OpenedDirectory) => Promise<void>;
  readonly onReopened: (report: OpenReport) => void;
}

/**
 * A store's LevelDB, opened again when it must be: after a write that failed LevelDB cannot be trusted with the next one,
 * and after damage it has to be repaired. Writes and repairs happen one at a time.
 */
export class Database {
  private readonly settings: DatabaseSettings;
  private db: LevelDb | undefined;
  /** Kept while the database is closed to be opened again. */
  private hold: DirectoryHold | undefined;
  private heldInode = 0;
  private lastWork: Promise<unknown> = Promise.resolve();
  private mustReopen = false;
  private repairing: Promise<void> | undefined;

  constructor(settings: DatabaseSettings) {
    this.settings = settings;
  }

  get current(): LevelDb {
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

  /** It could not be opened: that is tried again when it is next written to or read. */
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

  /** The database for the next read; waits for the end of a repair, if one is under way. */
  async whenRepaired(): Promise<LevelDb> {
    await this.repairing;
    if (this.db === undefined) await this.exclusively(() => this.reopenIfNeeded());
    return this.current;
  }

  /** Runs a write; once more after a repair, when LevelDB finds its files damaged. */
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

  /** Does what can be done about a read that failed; false when that is nothing. */
  async recover(error: unknown, db: LevelDb): Promise<boolean> {
    if (isDamageError(error)) await this.repair(db);
    else if (isClosedError(error)) await this.exclusively(() => this.reopenIfNeeded());
    else return false;
    return true;
  }

  /** Repairs it while others wait; not again if somebody has done so meanwhile. */
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

  /** What has its name may be another directory now. */
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

import { closedError, type OpenReport } from "../../store.js";
import { isClosedError, isDamageError, toStoreError } from "../errors.js";
import type { LevelDb } from "../level-db.js";
import { type DirectoryHold, holdDirectory } from "./directory-hold.js";
import { checkDiskSpace } from "./disk-space.js";
import { type OpenDirectoryOptions, type OpenedDirectory, openDirectory } from "./open-directory.js";

export interface DatabaseSettings extends Omit<OpenDirectoryOptions, "suspectDamage"> {
  /** Called before the database is closed to be opened again: whoever uses it must stop. */
  readonly beforeReopen: () => Promise<void>;
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

  async open(suspectDamage = false): Promise<OpenReport> {
    const { beforeReopen: _, onOpened, onReopened: __, ...options } = this.settings;
    this.hold ??= await holdDirectory(options.directory);
    const opened = await openDirectory({ ...options, suspectDamage });
    this.db = opened.db;
    await onOpened(opened);
    return opened.report;
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
    return this.current;
  }

  /** Runs a write; once more after a repair, when LevelDB finds its files damaged. */
  write(work: () => Promise<void>): Promise<void> {
    return this.exclusively(async () => {
      if (this.mustReopen) await this.reopenIfSpace();
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
    else if (isClosedError(error))
      await this.exclusively(async () => (this.mustReopen ? this.reopenIfSpace() : undefined));
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

  /** Opens it again after a failed write, once there is disk space. Until then what is there can still be read. */
  private async reopenIfSpace(): Promise<void> {
    await checkDiskSpace(this.settings.directory);
    await this.reopen(false);
  }

  private async reopen(suspectDamage: boolean): Promise<void> {
    await this.settings.beforeReopen();
    await this.db?.close();
    const report = await this.open(suspectDamage);
    this.mustReopen = false;
    this.settings.onReopened(report);
  }

  private exclusively<T>(work: () => Promise<T>): Promise<T> {
    const run = this.lastWork.then(work).catch((error) => {
      throw toStoreError(error, this.settings.directory);
    });
    this.lastWork = run.catch(() => {});
    return run;
  }
}

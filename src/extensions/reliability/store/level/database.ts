import { type OpenReport, StoreError } from "../store.js";
import { isClosed, isDamage, storeErrorOf } from "./errors.js";
import type { LevelDb } from "./level-db.js";
import { type Opened, type OpeningOptions, openDirectory } from "./opening.js";
import { checkRoom } from "./room.js";

export interface DatabaseSettings extends Omit<OpeningOptions, "suspect"> {
  /** Lets go of the database before it is closed to be opened again. */
  readonly letGo: () => Promise<void>;
  /** Takes it over. */
  readonly take: (opened: Opened) => Promise<void>;
  readonly onReopened: (report: OpenReport) => void;
}

/**
 * A store's LevelDB, opened again when it must be: after a write that failed LevelDB cannot be trusted with the next one,
 * and after damage it has to be repaired. Writes and repairs happen one at a time.
 */
export class Database {
  private readonly settings: DatabaseSettings;
  private db: LevelDb | undefined;
  private lane: Promise<unknown> = Promise.resolve();
  private mustReopen = false;
  private healing: Promise<void> | undefined;

  constructor(settings: DatabaseSettings) {
    this.settings = settings;
  }

  get current(): LevelDb {
    if (this.db === undefined)
      throw new StoreError("closed", `the queue of ${this.settings.exporter} in ${this.settings.directory} is closed`);
    return this.db;
  }

  async open(suspect = false): Promise<OpenReport> {
    const { letGo: _, take, onReopened: __, ...options } = this.settings;
    const opened = await openDirectory({ ...options, suspect });
    this.db = opened.db;
    await take(opened);
    return opened.report;
  }

  async close(): Promise<void> {
    await this.db?.close();
  }

  /** Resolves when no write and no repair is under way. */
  async settled(): Promise<void> {
    await this.lane;
  }

  /** For the next read: when a repair is over, if there is one. */
  async whole(): Promise<LevelDb> {
    await this.healing;
    return this.current;
  }

  /** Runs a write; once more after a repair, when LevelDB finds its files damaged. */
  write(work: () => Promise<void>): Promise<void> {
    return this.exclusively(async () => {
      if (this.mustReopen) await this.reopenWithRoom();
      try {
        await work();
      } catch (error) {
        this.mustReopen = true;
        if (!isDamage(error)) throw error;
        await this.reopen(true);
        await work().catch((again) => {
          this.mustReopen = true;
          throw again;
        });
      }
    });
  }

  /** Does what can be done about a read that failed; false when that is nothing. */
  async mend(error: unknown, db: LevelDb): Promise<boolean> {
    if (isDamage(error)) await this.heal(db);
    else if (isClosed(error)) await this.exclusively(async () => (this.mustReopen ? this.reopenWithRoom() : undefined));
    else return false;
    return true;
  }

  /** Repairs it while others wait; not again if somebody has done so meanwhile. */
  private heal(db: LevelDb): Promise<void> {
    this.healing ??= this.exclusively(async () => {
      if (this.db === db) await this.reopen(true);
    }).finally(() => {
      this.healing = undefined;
    });
    return this.healing;
  }

  /** After a failed write: once there is room again. Until then what is there can still be read. */
  private async reopenWithRoom(): Promise<void> {
    await checkRoom(this.settings.directory);
    await this.reopen(false);
  }

  private async reopen(suspect: boolean): Promise<void> {
    await this.settings.letGo();
    await this.db?.close();
    const report = await this.open(suspect);
    this.mustReopen = false;
    this.settings.onReopened(report);
  }

  private exclusively<T>(work: () => Promise<T>): Promise<T> {
    const run = this.lane.then(work).catch((error) => {
      throw storeErrorOf(error, this.settings.directory);
    });
    this.lane = run.catch(() => {});
    return run;
  }
}

import type { Batch, Entry } from "../../../plugin.js";
import { less } from "./amounts.js";
import { Database } from "./level/database.js";
import { storeErrorOf } from "./level/errors.js";
import { GroupCommit } from "./level/group-commit.js";
import { ImportIds } from "./level/import-ids.js";
import { Ledger } from "./level/ledger.js";
import { type LevelDb, type MakeLevelDb, makeLevelDb } from "./level/level-db.js";
import { Meanwhile } from "./level/meanwhile.js";
import {
  type FoundEntry,
  failedBehind,
  firstPending,
  loadEntry,
  loadPayload,
  lookUpId,
  pendingFrom,
  UnreadableEntry,
} from "./level/reader.js";
import { Reclaim } from "./level/reclaim.js";
import { remainsOf } from "./level/remains.js";
import { Riders } from "./level/riders.js";
import { Room } from "./level/room.js";
import type { Transaction } from "./level/transaction.js";
import { Witness } from "./level/witness.js";
import { sequenceOf } from "./new-entry.js";
import {
  type EntryRef,
  type NewEntry,
  type OpenReport,
  type QueueStore,
  type StoredEntry,
  StoreError,
  type StoreSettings,
  type StoreStats,
} from "./store.js";

/** In one commit: who puts an entry meanwhile waits for all of it. */
const MOST_DELETED = 256;

export interface LevelStoreTools {
  readonly makeDb?: MakeLevelDb;
  readonly now?: () => number;
  /**
   * Called when the store was opened again while in use, after damage or a failed write, and when an entry was set
   * aside while others were listed. What is pending may not be what it was.
   */
  readonly onDamage?: (report: OpenReport) => void;
}

/**
 * A queue on disk: one LevelDB directory of its own, with a witness file next to it. How it is laid out, what each
 * durability survives and how damage is found is told in docs/decisions/0006-queue-store.md.
 *
 * All changes go through one group commit, and into the ledger once LevelDB has written them. Reads go to LevelDB; what
 * they find is held against what was changed meanwhile and what is still to be written.
 */
export class LevelStore implements QueueStore {
  private readonly settings: StoreSettings;
  private readonly onDamage: (report: OpenReport) => void;
  private readonly database: Database;
  private readonly ledger: Ledger;
  private readonly commits: GroupCommit;
  private readonly riders: Riders;
  private readonly meanwhile = new Meanwhile();
  private readonly importIds = new ImportIds(
    async (id) => this.ledger.willGive(id) || (await this.find(id)) !== undefined,
  );
  private readonly reclaim = new Reclaim(() => this.database.current);
  private readonly witness: Witness;
  private readonly room: Room;
  private state: "closed" | "open" | "closing" = "closed";
  private syncTimer: NodeJS.Timeout | undefined;

  constructor(settings: StoreSettings, tools: LevelStoreTools = {}) {
    const { directory, exporter } = settings;
    const { makeDb = makeLevelDb, now = Date.now, onDamage = () => {} } = tools;
    this.settings = settings;
    this.onDamage = onDamage;
    this.witness = new Witness(directory);
    this.room = new Room(directory);
    this.ledger = new Ledger(settings, (transaction) => this.written(transaction));
    this.database = new Database({
      directory,
      exporter,
      makeDb,
      now,
      letGo: () => this.reclaim.pause(),
      take: async ({ db, meta }) => {
        this.reclaim.resume();
        await this.ledger.takeOver(db, meta);
      },
      onReopened: onDamage,
    });
    this.commits = new GroupCommit({
      commit: (changes) => this.database.write(() => this.ledger.write(this.database.current, changes)),
      lazyMs: 20,
      retryMs: 1000,
    });
    this.riders = new Riders({
      add: (change) => this.commits.add(change),
      onUpdated: (ref, entry) => this.meanwhile.noteUpdate(ref, entry),
    });
  }

  async open(): Promise<OpenReport> {
    if (this.state !== "closed") throw this.problem("locked", "is already open");
    try {
      const report = await this.database.open();
      await this.witness.start(this.ledger.meta);
      this.state = "open";
      this.startSyncing();
      return report;
    } catch (error) {
      await this.database.close().catch(() => {});
      throw storeErrorOf(error, this.settings.directory);
    }
  }

  async close(): Promise<void> {
    if (this.state !== "open") return;
    this.state = "closing";
    clearInterval(this.syncTimer);
    await this.sync();
    await this.commits.flush();
    this.commits.stop();
    await this.database.settled();
    await this.reclaim.pause();
    this.ledger.oldest?.stop();
    this.witness.note(this.ledger.meta);
    await this.witness.stop();
    await this.database.close();
    this.state = "closed";
    this.ledger.forget();
    this.riders.clear();
  }

  async put(fresh: NewEntry): Promise<StoredEntry> {
    const looking = this.room.claim(fresh.batch.byteLength);
    if (looking !== undefined) await looking.catch((error) => this.noRoom(error));
    const [stored] = await this.importIds.hold([fresh], ([id]) =>
      this.change([], fresh.batch.byteLength, (transaction) => [transaction.put(fresh, id)]),
    );
    return stored!;
  }

  ack(ref: EntryRef): void {
    if (this.state !== "open") return;
    this.ledger.payloads.delete(ref);
    const info = this.ledger.infos.get(ref);
    this.riders.ack(ref, info?.state === "pending" ? info : undefined);
  }

  update(ref: EntryRef, entry: Entry): void {
    if (this.state === "open") this.riders.update(ref, entry);
  }

  async fail(ref: EntryRef, entry: Entry): Promise<void> {
    await this.change([ref], 2000, (transaction) => transaction.fail(ref, entry));
  }

  async replace(ref: EntryRef, parts: readonly NewEntry[]): Promise<StoredEntry[]> {
    const bytes = parts.reduce((sum, { batch }) => sum + batch.byteLength, 0);
    return this.importIds.hold(parts, (ids) =>
      this.change([ref], bytes, (transaction) => transaction.replace(ref, parts, ids)),
    );
  }

  async replay(changes: readonly { readonly ref: EntryRef; readonly entry: Entry }[]): Promise<StoredEntry[]> {
    const wanted = new Map(changes.map(({ ref, entry }) => [ref, entry]));
    return this.change([...wanted.keys()], 2000 * wanted.size, (transaction) => transaction.replay(wanted));
  }

  async delete(refs: readonly EntryRef[]): Promise<void> {
    for (let i = 0; i < refs.length || i === 0; i += MOST_DELETED) {
      const some = refs.slice(i, i + MOST_DELETED);
      await this.change(some, 100 * some.length, (transaction) => {
        for (const ref of some) transaction.remove(ref);
      });
    }
  }

  async pending(after: EntryRef | undefined, limit: number): Promise<StoredEntry[]> {
    if (limit <= 0) return [];
    await this.reclaim.keepUp();
    return this.read(async (db) => {
      const { commits } = this.ledger;
      const found: StoredEntry[] = [];
      const from = Math.max(this.ledger.oldest?.pending.from ?? 0, after === undefined ? 0 : after + 1);
      for await (const page of pendingFrom(db, from, this.ledger.meta)) {
        for (const entry of page)
          if (found.length < limit && this.isThere(entry.ref, "pending")) found.push(this.seen(entry));
        if (found.length >= limit) break;
      }
      if (found.length === 0 && after === undefined) await this.checkEmpty(db, commits);
      return found;
    });
  }

  async failed(after: EntryRef | undefined, limit: number, order: "oldest" | "newest"): Promise<StoredEntry[]> {
    if (limit <= 0) return [];
    return this.read(async (db) => {
      const floor = this.ledger.oldest?.positionsIn(this.ledger.meta) ?? this.ledger.meta;
      const found: StoredEntry[] = [];
      // What went away meanwhile leaves room for more: a short page means that there are no others.
      for (let at = after; ; ) {
        const wanted = limit - found.length;
        const page = await failedBehind(db, at, wanted, order, floor);
        for (const entry of page) if (this.isThere(entry.ref, "failed")) found.push(this.seen(entry));
        if (page.length < wanted || found.length === limit) return found;
        at = page.at(-1)!.ref;
      }
    });
  }

  async find(id: string): Promise<StoredEntry | undefined> {
    return this.read(async (db) => {
      for (const ref of [sequenceOf(id), await lookUpId(db, id)]) {
        if (ref === undefined || !this.isThere(ref)) continue;
        const found = await loadEntry(db, ref);
        if (found?.entry.id === id && this.isThere(ref)) return this.seen(found);
      }
      return undefined;
    });
  }

  async payload(ref: EntryRef): Promise<Batch> {
    const cached = this.ledger.payloads.take(ref);
    if (cached !== undefined && this.state === "open") return cached;
    return this.read(
      async (db) => {
        const info = this.isThere(ref) ? (this.ledger.infos.get(ref) ?? (await loadEntry(db, ref))?.info) : undefined;
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
    const { failed, corrupt } = this.ledger.meta;
    const pending = less(this.ledger.meta.pending, this.riders.stillCounted);
    return {
      pending,
      failed,
      oldestPendingAt: pending.entries === 0 ? undefined : this.ledger.oldest?.pending.at,
      oldestFailedAt: failed.entries === 0 ? undefined : this.ledger.oldest?.failed.at,
      corrupt,
    };
  }

  private change<T>(refs: readonly EntryRef[], bytes: number, work: (transaction: Transaction) => T): Promise<T> {
    return new Promise((resolve, reject) => {
      if (this.state !== "open") return reject(this.problem("closed", "is closed"));
      let result: T;
      const apply = (transaction: Transaction) => {
        result = work(transaction);
      };
      this.commits.add({ refs, bytes, lazy: false, apply, done: () => resolve(result), fail: reject });
    });
  }

  private written({ infos, removed, meta }: Transaction): void {
    this.meanwhile.noteCommit(infos);
    for (const [ref, info] of infos) if (info === null) this.riders.uncounted(ref);
    this.reclaim.note(removed);
    this.witness.note(meta);
  }

  /** Runs a read; sets aside what it finds unreadable, repairs the database if it is damaged, and tries again. */
  private async read<T>(work: (db: LevelDb) => Promise<T>, onUnreadable?: (error: unknown) => T): Promise<T> {
    for (let tries = 0; ; ) {
      if (this.state !== "open") throw this.problem("closed", "is closed");
      const db = await this.database.whole();
      try {
        return await this.meanwhile.during(() => work(db));
      } catch (error) {
        if (error instanceof UnreadableEntry) {
          const wasThere = await this.meanwhile.during(() => this.quarantine(error.ref));
          if (wasThere && onUnreadable !== undefined) return onUnreadable(error);
          if (wasThere) this.onDamage({ isNew: false, lostEntries: 0, corruptEntries: 1, setAside: undefined });
        } else if (tries++ >= 3 || !(await this.database.mend(error, db)))
          throw storeErrorOf(error, this.settings.directory);
      }
    }
  }

  /** Sets an entry aside; false when it was removed while it was being read, which is no damage. */
  private async quarantine(ref: EntryRef): Promise<boolean> {
    const { infos, meta } = this.ledger;
    const { info, values, holder } = await remainsOf(this.database.current, ref, meta);
    return this.change([], 1000, (transaction) => {
      if (info === undefined || this.meanwhile.info(ref) === null) return false;
      if (transaction.info(ref) === undefined) infos.set(ref, info);
      transaction.quarantine(ref, values);
      if (holder !== undefined) transaction.restore(holder);
      this.lookFrom(holder ?? ref);
      return true;
    });
  }

  /** Nothing is pending though the counters say otherwise: what was there is lost, and must not be waited for. */
  private async checkEmpty(db: LevelDb, commits: number): Promise<void> {
    const { pending } = this.ledger.meta;
    const isCertain = () => this.ledger.commits === commits && !this.riders.hasAcks;
    if (pending.entries === 0 || !isCertain()) return;
    const stray = await firstPending(db, 0, this.ledger.meta);
    if (stray !== undefined) this.lookFrom(stray);
    else if (isCertain()) await this.change([], 100, (transaction) => isCertain() && transaction.writeOff(pending));
  }

  /** There may be a pending entry here, before where the first one was thought to be. */
  private lookFrom(ref: EntryRef): void {
    const pending = this.ledger.oldest?.pending;
    if (pending !== undefined) pending.from = Math.min(pending.from, ref);
  }

  private startSyncing(): void {
    if (this.settings.durability !== "interval") return;
    const sync = () => void (this.ledger.isUnsynced && this.sync());
    this.syncTimer = setInterval(sync, Math.max(1, this.settings.intervalMs)).unref();
  }

  /** An fsync for what was written without one. Never fails: those who wait for safety are told by their own write. */
  private sync(): Promise<void> {
    return new Promise((resolve) => {
      const done = () => resolve();
      this.commits.add({ refs: [], bytes: 100, lazy: false, sync: true, apply() {}, done, fail: done });
    });
  }

  private seen({ ref, entry, info, batch }: FoundEntry): StoredEntry {
    if (this.meanwhile.info(ref) === undefined) this.ledger.infos.set(ref, info);
    if (batch !== undefined) this.ledger.payloads.set(ref, batch);
    const changed = this.riders.updated(ref) ?? this.meanwhile.entry(ref);
    return { ref, entry: changed === undefined ? entry : { ...changed, state: entry.state } };
  }

  /** Whether an entry that was read is still there, and still in that state. */
  private isThere(ref: EntryRef, state?: Entry["state"]): boolean {
    const now = this.meanwhile.info(ref);
    if (this.riders.isAcked(ref) || now === null) return false;
    return now === undefined || state === undefined || now.state === state;
  }

  private noRoom(error: unknown): never {
    this.reclaim.hurry();
    throw storeErrorOf(error, this.settings.directory);
  }

  private problem(code: "closed" | "locked", what: string): StoreError {
    return new StoreError(code, `the queue of ${this.settings.exporter} in ${this.settings.directory} ${what}`);
  }
}

import type { Batch, Entry } from "../../../plugin.js";
import type { Info } from "./level/entry-value.js";
import { isClosed, isDamage, storeErrorOf } from "./level/errors.js";
import { type Change, GroupCommit } from "./level/group-commit.js";
import { ImportIds } from "./level/import-ids.js";
import { type LevelDb, type MakeLevelDb, makeLevelDb } from "./level/level-db.js";
import { type Meta, newMeta } from "./level/meta.js";
import { type Found, Oldest } from "./level/oldest.js";
import { type Opened, openDirectory } from "./level/opening.js";
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
import { Recent } from "./level/recent.js";
import { Reclaim } from "./level/reclaim.js";
import { remainsOf } from "./level/remains.js";
import { checkRoom, Room } from "./level/room.js";
import { Transaction } from "./level/transaction.js";
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

/** What is counted on opening takes time: about a third of a second for this much. */
const MAX_UNCOUNTED = 128 * 1024 * 1024;

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
 * All changes go through one group commit; nothing in memory changes before LevelDB has written. After a write that
 * failed LevelDB cannot be trusted with the next one, so the database is opened again first, as soon as there is room.
 */
export class LevelStore implements QueueStore {
  private readonly settings: StoreSettings;
  private readonly makeDb: MakeLevelDb;
  private readonly now: () => number;
  private readonly onDamage: (report: OpenReport) => void;
  private readonly commits = new GroupCommit({ commit: (changes) => this.commit(changes), lazyMs: 20, retryMs: 1000 });
  private readonly reclaim = new Reclaim(() => this.database());
  private readonly witness: Witness;
  private readonly room: Room;
  private db: LevelDb | undefined;
  private meta: Meta;
  private state: "closed" | "open" | "closing" = "closed";
  private infos = new Recent<Info>(50_000, () => 1);
  private payloads = new Recent<Batch>(16 * 1024 * 1024, (batch) => batch.byteLength + 64);
  /** Acknowledged and changed, but not yet written. */
  private readonly acking = new Set<EntryRef>();
  private readonly updating = new Map<EntryRef, Entry>();
  private readonly importIds = new ImportIds(async (id) => (await this.find(id)) !== undefined);
  /** What commits changed while reads are under way, which may not have seen it. */
  private readonly touched = new Map<EntryRef, Info | null>();
  /** Updates that were written while something is being read, which may have seen what was there before. */
  private readonly rewritten = new Map<EntryRef, Entry>();
  private reads = 0;
  /** Commits and repairs, one at a time. */
  private lane: Promise<unknown> = Promise.resolve();
  private mustReopen = false;
  private healing: Promise<void> | undefined;
  private unsynced = false;
  /** Bytes of entries that the counters on disk do not know yet. */
  private uncounted = 0;
  /** Commits of this process. */
  private changes = 0;
  private syncTimer: NodeJS.Timeout | undefined;
  private oldestPending = new Oldest(
    "pending",
    1,
    async () => undefined,
    () => 0,
  );
  private oldestFailed = new Oldest(
    "failed",
    1,
    async () => undefined,
    () => 0,
  );

  constructor(settings: StoreSettings, tools: LevelStoreTools = {}) {
    this.settings = settings;
    this.makeDb = tools.makeDb ?? makeLevelDb;
    this.now = tools.now ?? Date.now;
    this.onDamage = tools.onDamage ?? (() => {});
    this.meta = newMeta(settings.exporter);
    this.witness = new Witness(settings.directory);
    this.room = new Room(settings.directory);
  }

  async open(): Promise<OpenReport> {
    if (this.state !== "closed") throw this.problem("locked", "is already open");
    try {
      const { report } = await this.openDatabase(false);
      await this.witness.start(this.meta);
      this.state = "open";
      this.startSyncing();
      return report;
    } catch (error) {
      await this.db?.close().catch(() => {});
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
    await this.lane;
    await this.reclaim.pause();
    this.oldestPending.stop();
    this.oldestFailed.stop();
    this.witness.note(this.meta);
    await this.witness.stop();
    await this.db?.close();
    this.state = "closed";
    this.forget();
    this.acking.clear();
    this.updating.clear();
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
    if (this.state !== "open" || this.acking.has(ref)) return;
    this.acking.add(ref);
    this.payloads.delete(ref);
    this.updating.delete(ref);
    const done = () => void this.acking.delete(ref);
    this.commits.add({ refs: [ref], bytes: 100, lazy: true, apply: (t) => t.remove(ref), done, fail: done });
  }

  update(ref: EntryRef, entry: Entry): void {
    if (this.state !== "open" || this.acking.has(ref)) return;
    const waiting = this.updating.has(ref);
    this.updating.set(ref, entry);
    if (waiting) return;
    let written: Entry | undefined;
    const apply = (transaction: Transaction) => {
      written = this.updating.get(ref);
      if (written !== undefined) transaction.update(ref, written);
    };
    const done = () => {
      const latest = this.updating.get(ref);
      this.updating.delete(ref);
      if (this.reads > 0 && written !== undefined) this.rewritten.set(ref, written);
      if (latest !== undefined && latest !== written) this.update(ref, latest);
    };
    this.commits.add({ refs: [ref], bytes: 1000, lazy: true, apply, done, fail: done });
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
      const changes = this.changes;
      const found: StoredEntry[] = [];
      const from = Math.max(this.oldestPending.from, after === undefined ? 0 : after + 1);
      for await (const page of pendingFrom(db, from, this.meta)) {
        for (const entry of page)
          if (found.length < limit && this.isThere(entry.ref, "pending")) found.push(this.seen(entry));
        if (found.length >= limit) break;
      }
      if (found.length === 0 && after === undefined) await this.checkEmpty(db, changes);
      return found;
    });
  }

  async failed(after: EntryRef | undefined, limit: number, order: "oldest" | "newest"): Promise<StoredEntry[]> {
    if (limit <= 0) return [];
    return this.read(async (db) => {
      const floor = { ...this.meta, failedHead: this.oldestFailed.from };
      const found = await failedBehind(db, after, limit, order, floor);
      return found.filter(({ ref }) => this.isThere(ref, "failed")).map((entry) => this.seen(entry));
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
    const cached = this.payloads.take(ref);
    if (cached !== undefined && this.state === "open") return cached;
    return this.read(
      async (db) => {
        const info = this.isThere(ref) ? (this.infos.get(ref) ?? (await loadEntry(db, ref))?.info) : undefined;
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
    const { pending, failed, corrupt } = this.meta;
    return {
      pending,
      failed,
      oldestPendingAt: pending.entries === 0 ? undefined : this.oldestPending.at,
      oldestFailedAt: failed.entries === 0 ? undefined : this.oldestFailed.at,
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

  private commit(changes: readonly Change[]): Promise<void> {
    return this.exclusively(async () => {
      if (this.mustReopen) await this.reopen();
      try {
        await this.tryCommit(changes);
      } catch (error) {
        this.mustReopen = true;
        if (!isDamage(error)) throw error;
        await this.reopenDatabase(true);
        await this.tryCommit(changes).catch((again) => {
          this.mustReopen = true;
          throw again;
        });
      }
    });
  }

  private exclusively<T>(work: () => Promise<T>): Promise<T> {
    const run = this.lane.then(work).catch((error) => {
      throw storeErrorOf(error, this.settings.directory);
    });
    this.lane = run.catch(() => {});
    return run;
  }

  private async tryCommit(changes: readonly Change[]): Promise<void> {
    const loaded = await this.loadInfos(changes);
    const db = this.database();
    const batch = db.batch();
    const meta = { ...this.meta, head: this.oldestPending.from, failedHead: this.oldestFailed.from };
    const transaction = new Transaction(batch, meta, (ref) => this.infos.get(ref) ?? loaded.get(ref));
    let sync = false;
    for (const change of changes) {
      try {
        change.apply(transaction);
        sync ||= change.sync ?? (!change.lazy && this.settings.durability === "fsync");
      } catch (error) {
        change.fail(error);
      }
    }
    const { wroteMeta } = transaction.finish(this.uncounted < MAX_UNCOUNTED);
    await batch.write({ sync });
    this.unsynced = !sync;
    this.uncounted = wroteMeta ? 0 : this.uncounted + changes.reduce((sum, { bytes }) => sum + bytes, 0);
    this.adopt(transaction);
  }

  /** What LevelDB has written is true now. */
  private adopt(transaction: Transaction): void {
    this.meta = transaction.meta;
    this.changes++;
    for (const [ref, info] of transaction.infos) {
      if (this.reads > 0) this.touched.set(ref, info);
      this.rewritten.delete(ref);
      if (info === null) {
        this.infos.delete(ref);
        this.payloads.delete(ref);
      } else this.infos.set(ref, info);
    }
    this.oldestPending.follow(transaction.infos, this.meta.pending.entries);
    this.oldestFailed.follow(transaction.infos, this.meta.failed.entries);
    this.reclaim.note(transaction.removed);
    this.witness.note(this.meta);
  }

  private async loadInfos(changes: readonly Change[]): Promise<Map<EntryRef, Info>> {
    const loaded = new Map<EntryRef, Info>();
    const wanted = new Set(changes.flatMap(({ refs }) => refs));
    const unknown = [...wanted].filter((ref) => this.infos.get(ref) === undefined);
    const db = this.database();
    const load = async (ref: EntryRef) => {
      const info = await loadEntry(db, ref).then(
        (found) => found?.info,
        (error) =>
          error instanceof UnreadableEntry ? remainsOf(db, ref, this.meta).then((r) => r.info) : Promise.reject(error),
      );
      if (info !== undefined) loaded.set(ref, info);
    };
    for (let i = 0; i < unknown.length; i += 64) await Promise.all(unknown.slice(i, i + 64).map(load));
    return loaded;
  }

  /** Runs a read; sets aside what it finds unreadable, repairs the database if it is damaged, and tries again. */
  private async read<T>(work: (db: LevelDb) => Promise<T>, onUnreadable?: (error: unknown) => T): Promise<T> {
    for (let tries = 0; ; ) {
      if (this.state !== "open") throw this.problem("closed", "is closed");
      await this.healing;
      const db = this.database();
      try {
        return await this.watched(() => work(db));
      } catch (error) {
        if (error instanceof UnreadableEntry) {
          const wasThere = await this.watched(() => this.quarantine(error.ref));
          if (wasThere && onUnreadable !== undefined) return onUnreadable(error);
          if (wasThere) this.onDamage({ isNew: false, lostEntries: 0, corruptEntries: 1, setAside: undefined });
        } else if (tries++ >= 3 || !(await this.mend(error, db))) throw storeErrorOf(error, this.settings.directory);
      }
    }
  }

  private async watched<T>(work: () => Promise<T>): Promise<T> {
    this.reads++;
    try {
      return await work();
    } finally {
      if (--this.reads === 0) this.forgetChanges();
    }
  }

  /** Does what can be done about a failed read; false when that is nothing. */
  private async mend(error: unknown, db: LevelDb): Promise<boolean> {
    if (isDamage(error)) await this.heal(db);
    else if (isClosed(error)) await this.exclusively(async () => (this.mustReopen ? this.reopen() : undefined));
    else return false;
    return true;
  }

  /** Sets an entry aside; false when it was removed while it was being read, which is no damage. */
  private async quarantine(ref: EntryRef): Promise<boolean> {
    const { info, values, holder } = await remainsOf(this.database(), ref, this.meta);
    return this.change([], 1000, (transaction) => {
      if (info === undefined || this.touched.get(ref) === null) return false;
      if (transaction.info(ref) === undefined) this.infos.set(ref, info);
      transaction.quarantine(ref, values);
      if (holder !== undefined) transaction.restore(holder);
      this.oldestPending.from = Math.min(this.oldestPending.from, holder ?? ref);
      return true;
    });
  }

  /** Repairs the database while others wait; not again if somebody has done so meanwhile. */
  private heal(db: LevelDb): Promise<void> {
    this.healing ??= this.exclusively(async () => {
      if (this.db === db) await this.reopenDatabase(true);
    }).finally(() => {
      this.healing = undefined;
    });
    return this.healing;
  }

  /** After a failed write: once there is room again. Until then what is there can still be read. */
  private async reopen(): Promise<void> {
    await checkRoom(this.settings.directory);
    await this.reopenDatabase(false);
  }

  private async reopenDatabase(suspect: boolean): Promise<void> {
    await this.reclaim.pause();
    await this.db?.close();
    const { report } = await this.openDatabase(suspect);
    this.mustReopen = false;
    this.onDamage(report);
  }

  private async openDatabase(suspect: boolean): Promise<Opened> {
    this.uncounted = MAX_UNCOUNTED;
    const { directory, exporter } = this.settings;
    const opened = await openDirectory({ directory, exporter, makeDb: this.makeDb, now: this.now, suspect });
    this.db = opened.db;
    this.meta = { ...opened.meta, last: Math.max(opened.meta.last, this.meta.last) };
    this.forget();
    this.reclaim.resume();
    await this.startFollowing(opened.db);
    return opened;
  }

  private async startFollowing(db: LevelDb): Promise<void> {
    this.oldestPending.stop();
    this.oldestFailed.stop();
    const last = () => this.meta.last;
    const pendingFrom = async (from: EntryRef) => {
      const ref = await firstPending(db, from, this.meta);
      return ref === undefined ? undefined : this.cameAt(db, ref);
    };
    const failedFrom = async (from: EntryRef) => {
      const [first] = await failedBehind(db, undefined, 1, "oldest", { ...this.meta, failedHead: from });
      return first === undefined ? undefined : { ref: first.ref, at: first.entry.enqueuedAt };
    };
    this.oldestPending = new Oldest("pending", this.meta.head, pendingFrom, last);
    this.oldestFailed = new Oldest("failed", this.meta.failedHead, failedFrom, last);
    if (this.meta.pending.entries > 0) await this.oldestPending.find();
    if (this.meta.failed.entries > 0) await this.oldestFailed.find();
  }

  private async cameAt(db: LevelDb, ref: EntryRef): Promise<Found> {
    return { ref, at: this.infos.get(ref)?.enqueuedAt ?? (await loadEntry(db, ref))?.entry.enqueuedAt };
  }

  /** Nothing is pending though the counters say otherwise: what was there is lost, and must not be waited for. */
  private async checkEmpty(db: LevelDb, changes: number): Promise<void> {
    const { pending } = this.meta;
    const isCertain = () => this.changes === changes && this.acking.size === 0;
    if (pending.entries === 0 || !isCertain()) return;
    const stray = await firstPending(db, 0, this.meta);
    if (stray !== undefined) this.oldestPending.from = Math.min(this.oldestPending.from, stray);
    else if (isCertain()) await this.change([], 100, (transaction) => isCertain() && transaction.writeOff(pending));
  }

  private startSyncing(): void {
    if (this.settings.durability !== "interval") return;
    const sync = () => void (this.unsynced && this.sync());
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
    if (!this.touched.has(ref)) this.infos.set(ref, info);
    if (batch !== undefined) this.payloads.set(ref, batch);
    const changed = this.updating.get(ref) ?? this.rewritten.get(ref);
    return { ref, entry: changed === undefined ? entry : { ...changed, state: entry.state } };
  }

  /** Whether an entry that was read is still there, and still in that state. */
  private isThere(ref: EntryRef, state?: Entry["state"]): boolean {
    const now = this.touched.get(ref);
    if (this.acking.has(ref) || now === null) return false;
    return now === undefined || state === undefined || now.state === state;
  }

  private forgetChanges(): void {
    this.touched.clear();
    this.rewritten.clear();
  }

  private forget(): void {
    this.infos.clear();
    this.payloads.clear();
  }

  private database(): LevelDb {
    if (this.db === undefined) throw this.problem("closed", "is closed");
    return this.db;
  }

  private noRoom(error: unknown): never {
    this.reclaim.hurry();
    throw storeErrorOf(error, this.settings.directory);
  }

  private problem(code: "closed" | "locked", what: string): StoreError {
    return new StoreError(code, `the queue of ${this.settings.exporter} in ${this.settings.directory} ${what}`);
  }
}

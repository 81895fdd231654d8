import type { Entry } from "#contract/operations";
import type { Batch } from "#otlp";
import { Keyring } from "./encryption/keyring.js";
import { ValueCipher } from "./encryption/value-cipher.js";
import type { EntryInfo } from "./format/entry.js";
import { BOUND_UNSEALED_FORMAT, FORMAT } from "./format/layout.js";
import type { ReadDisk } from "./level/disk/disk-plan.js";
import { SharedDisk, StoreDisk } from "./level/disk/shared-disk.js";
import { IdReservations } from "./level/id-reservations.js";
import { type MakeLevelDb, makeLevelDb } from "./level/level-db.js";
import { LevelNotes } from "./level/level-notes.js";
import { StoreState } from "./level/store-state.js";
import { eraseKeys, keysOfEntry } from "./level-erasure.js";
import { LevelReads } from "./level-reads.js";
import { LevelSpace } from "./level-space.js";
import { LevelWrites } from "./level-writes.js";
import {
  alreadyOpenError,
  type EntryRef,
  type ExchangedEntries,
  type FailedWatcher,
  type LevelStoreSettings,
  type NewEntry,
  noSuchEntry,
  type OpenReport,
  type QueueStore,
  type StoredEntry,
  type StoredFacts,
  type StoreExchange,
  type StoreStats,
  type WantedPayload,
} from "./store.js";

/** Limits the deletions per commit, because puts wait for the commit before them. */
const MAX_DELETED_PER_COMMIT = 256;
const QUIET_MS = 5000;
const CHECK_MS = 1000;

export interface LevelStoreOptions {
  readonly makeDb?: MakeLevelDb;
  readonly now?: () => number;
  /** Keys for decryption and encryption. Without it, nothing is encrypted. */
  readonly keyring?: Keyring | undefined;
  /** The disk that all stores of a directory share. Without it, the store has one of its own. */
  readonly disk?: SharedDisk;
  /** Reads the free disk space, if the store has a disk of its own. */
  readonly readDisk?: ReadDisk;
  /** Whether entries are handed on to other stores. Those are all opened before. */
  readonly isJournal?: boolean;
  /**
   * Whether the store counts as open even if the disk is too full to open it. It refuses new entries until there is
   * room.
   */
  readonly mayOpenLater?: boolean;
  /** Milliseconds without removals after which even a small amount of garbage is returned to the disk. */
  readonly quietMs?: number;
  /** Milliseconds between checks of the disk if nothing is written. */
  readonly checkMs?: number;
  /** Called when a full disk has room again for data that moves between stores. */
  readonly onRoom?: () => void;
  /**
   * Called when the store was reopened while in use, after damage or a failed write, and when an entry was set aside
   * while others were listed. The pending entries may have changed.
   */
  readonly onDamage?: (report: OpenReport) => void;
}

/**
 * A queue on disk: a LevelDB directory with a summary file next to it. docs/decisions/0006-queue-store.md describes the
 * layout, what each durability survives, and how damage is found.
 *
 * Its three parts know only those before them:
 *
 * 1. `LevelSpace` claims space for what is written, and returns that of removed entries to the disk.
 * 2. `LevelWrites` has the database. All changes go through one group commit, and into `StoreState` once LevelDB has
 *    written them.
 * 3. `LevelReads` reads, and has unreadable entries set aside.
 *
 * For one entry, the order of calls is the order in memory and the order on disk:
 *
 * - Changes wait in one line, in the order of the calls. Each is applied to the state that the changes before it left,
 *   and a write carries the newest state at the time of the write. After a failed commit, the changes that are tried
 *   again stay in front of all later ones.
 * - An update may replace an earlier one only while both would be neighbours in that line; see `LazyChanges`.
 * - A commit that was reported as failed may have been written. So a change that is tried again must do no harm then: an
 *   update made in one state of an entry is ignored in another one, and a removed entry stays removed.
 * - A read sees the last commit, whichever commits were made during it, and unwritten updates of that state.
 */
export class LevelStore implements QueueStore {
  readonly notes: LevelNotes;
  private readonly settings: LevelStoreSettings;
  private readonly state: StoreState;
  private readonly disk: StoreDisk;
  private readonly space: LevelSpace;
  private readonly writes: LevelWrites;
  private readonly reads: LevelReads;
  private readonly idReservations: IdReservations;
  private isClosed = true;
  private syncTimer: NodeJS.Timeout | undefined;

  constructor(settings: LevelStoreSettings, options: LevelStoreOptions = {}) {
    const { directory, exporter } = settings;
    const { makeDb = makeLevelDb, keyring = new Keyring(), now = Date.now } = options;
    const { mayOpenLater = false, onDamage = () => {}, onRoom = () => {} } = options;
    const { quietMs = QUIET_MS, checkMs = CHECK_MS } = options;
    this.settings = settings;
    this.state = new StoreState(settings, keyring.all.length > 0 ? BOUND_UNSEALED_FORMAT : FORMAT);
    const sharedDisk = options.disk ?? new SharedDisk(directory, options.readDisk);
    const disk = new StoreDisk(directory, sharedDisk, options.isJournal ?? false);
    this.disk = disk;
    const { state } = this;
    const space = new LevelSpace({ directory, disk, checkMs, quietMs, onRoom });
    const writes = new LevelWrites({
      directory,
      exporter,
      space,
      state,
      makeDb: (path) => makeDb(path, disk.plan),
      cipher: new ValueCipher(keyring),
      now,
      maxCommitBytes: () => disk.plan.maxCommit,
      mayOpenLater,
      onReopened: onDamage,
    });
    const reads = new LevelReads({ directory, space, writes, state, onDamage });
    this.space = space;
    this.writes = writes;
    this.reads = reads;
    this.notes = new LevelNotes(writes);
    this.idReservations = new IdReservations(async (id, replaced) => {
      const ref = state.willAssignId(id) ? -1 : (await reads.find(id))?.ref;
      return ref !== undefined && ref !== replaced;
    });
  }

  async open(): Promise<OpenReport> {
    if (!this.isClosed) throw alreadyOpenError(this.settings.exporter, this.settings.directory);
    const report = await this.writes.open();
    this.isClosed = false;
    this.writes.isOpen = true;
    this.startSyncTimer();
    this.space.start(() => this.writes.sync());
    return report;
  }

  async close(): Promise<void> {
    if (!this.writes.isOpen) return;
    this.writes.isOpen = false;
    clearInterval(this.syncTimer);
    await this.space.stop();
    await this.writes.close();
    this.isClosed = true;
  }

  async put(fresh: NewEntry): Promise<StoredEntry> {
    const { byteLength } = fresh.batch;
    const spaceCheck = this.space.claim(byteLength, fresh.isNew ?? false);
    if (spaceCheck !== undefined) await spaceCheck;
    const putAs = (id?: string) =>
      this.writes.commitChange([], byteLength, (transaction) => transaction.put(fresh, id));
    try {
      if (fresh.fields?.id === undefined) return await putAs();
      return await this.idReservations.withReservedIds([fresh], ([id]) => putAs(id));
    } finally {
      this.disk.written(byteLength);
    }
  }

  ack(ref: EntryRef): void {
    if (!this.writes.isOpen) return;
    this.state.payloads.delete(ref);
    const info = this.state.infos.get(ref);
    this.writes.lazyChanges.ack(ref, info?.state === "pending" ? info : undefined);
  }

  update(ref: EntryRef, entry: Entry): void {
    if (this.writes.isOpen) this.writes.lazyChanges.update(ref, entry);
  }

  async fail(ref: EntryRef, entry: Entry): Promise<void> {
    await this.writes.commitChange([ref], 2000, (transaction) => transaction.fail(ref, entry));
  }

  async replace(ref: EntryRef, replacements: readonly NewEntry[]): Promise<StoredEntry[]> {
    const bytes = replacements.reduce((sum, { batch }) => sum + batch.byteLength, 0);
    return this.idReservations.withReservedIds(
      replacements,
      (ids) => this.writes.commitChange([ref], bytes, (transaction) => transaction.replace(ref, replacements, ids)),
      ref,
    );
  }

  async exchange({ removed, added, note, mustExist = false }: StoreExchange): Promise<ExchangedEntries> {
    const bytes = added.reduce((sum, { batch }) => sum + batch.byteLength, 0);
    const isNew = added.some((fresh) => fresh.isNew === true);
    const spaceCheck = this.space.claim(bytes, isNew);
    if (spaceCheck !== undefined) await spaceCheck;
    try {
      return await this.idReservations.withReservedIds(added, (ids) =>
        this.writes.commitChange([...removed], bytes + 100 * removed.length, (transaction) => {
          if (mustExist && removed.every((ref) => transaction.info(ref) === undefined)) throw noSuchEntry(removed[0]!);
          for (const ref of removed) transaction.remove(ref);
          const stored = added.map((fresh, i) => transaction.put(fresh, ids[i]));
          return { stored, note: note && this.notes.put(transaction, note) };
        }),
      );
    } finally {
      this.disk.written(bytes);
    }
  }

  async replay(changes: readonly { readonly ref: EntryRef; readonly entry: Entry }[]): Promise<StoredEntry[]> {
    const entries = new Map(changes.map(({ ref, entry }) => [ref, entry]));
    return this.writes.commitChange([...entries.keys()], 2000 * entries.size, (transaction) =>
      transaction.replay(entries),
    );
  }

  async delete(refs: readonly EntryRef[]): Promise<void> {
    await this.deleteEntries(refs, () => {});
  }

  async erase(refs: readonly EntryRef[]): Promise<void> {
    const keys: Uint8Array[] = [];
    const places = new Set<EntryRef>();
    await this.deleteEntries(refs, (ref, info) => {
      keys.push(...keysOfEntry(ref, info));
      places.add(ref).add(info.origin);
    });
    const { writes, space } = this;
    const services = { writes, compactor: space.compactor, reads: writes.changesDuringReads };
    if (keys.length > 0) await eraseKeys(keys, [...places], services);
  }

  pending(after: EntryRef | undefined, limit: number): Promise<StoredEntry[]> {
    return this.reads.pending(after, limit);
  }

  failed(after: EntryRef | undefined, limit: number, order: "oldest" | "newest"): Promise<StoredEntry[]> {
    return this.reads.failed(after, limit, order);
  }

  failedFacts(after: EntryRef | undefined, limit: number): Promise<StoredFacts[]> {
    return this.reads.failedFacts(after, limit);
  }

  find(id: string): Promise<StoredEntry | undefined> {
    return this.reads.find(id);
  }

  async payload(ref: EntryRef): Promise<Batch> {
    const cached = this.state.payloads.take(ref);
    if (cached !== undefined && this.writes.isOpen) return cached;
    await this.space.compactor.waitUntilCaughtUp();
    return this.reads.payload(ref);
  }

  payloads(wanted: readonly WantedPayload[]): Promise<(Batch | undefined)[]> {
    return this.reads.payloads(wanted);
  }

  watchFailed(watcher: FailedWatcher): () => void {
    const { failedWatchers } = this.writes;
    failedWatchers.add(watcher);
    return () => failedWatchers.delete(watcher);
  }

  get stats(): StoreStats {
    const { pending } = this.writes;
    const { oldest, meta } = this.state;
    const { failed, corrupt } = meta;
    return {
      pending,
      failed,
      oldestPendingAt: pending.entries === 0 ? undefined : oldest?.pending.enqueuedAt,
      oldestFailedAt: failed.entries === 0 ? undefined : oldest?.failed.enqueuedAt,
      corrupt,
      writeFailure: this.space.failure,
      diskFreeBytes: this.disk.lastRoom?.free,
      ballastBytes: this.disk.lastRoom?.held,
    };
  }

  private async deleteEntries(
    refs: readonly EntryRef[],
    onDelete: (ref: EntryRef, info: EntryInfo) => void,
  ): Promise<void> {
    for (let i = 0; i < refs.length || i === 0; i += MAX_DELETED_PER_COMMIT) {
      const refsOfCommit = refs.slice(i, i + MAX_DELETED_PER_COMMIT);
      await this.writes.commitChange(refsOfCommit, 100 * refsOfCommit.length, (transaction) => {
        for (const ref of refsOfCommit) {
          const info = transaction.info(ref);
          if (info !== undefined) onDelete(ref, info);
          transaction.remove(ref);
        }
      });
    }
  }

  private startSyncTimer(): void {
    if (this.settings.durability !== "interval") return;
    const sync = () => void (this.state.hasUnsyncedWrites && this.writes.sync());
    this.syncTimer = setInterval(sync, Math.max(1, this.settings.intervalMs)).unref();
  }
}

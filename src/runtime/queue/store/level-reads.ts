import type { Entry } from "#contract/operations";
import type { Batch } from "#otlp";
import { hasState, sequenceOfId } from "./format/entry.js";
import { loadDamagedEntry } from "./level/damaged-entry.js";
import { toStoreError } from "./level/errors.js";
import type { LevelDb } from "./level/level-db.js";
import {
  type FoundEntry,
  failedAfter,
  failedFactsAfter,
  findRefById,
  firstPending,
  loadEntry,
  loadPayload,
  loadWholePayloads,
  pendingFrom,
  UnreadableEntryError,
} from "./level/reader.js";
import type { StoreState } from "./level/store-state.js";
import type { LevelSpace } from "./level-space.js";
import type { LevelWrites } from "./level-writes.js";
import {
  type EntryRef,
  isEntryGone,
  noSuchEntry,
  type OpenReport,
  type StoredEntry,
  type StoredFacts,
  StoreError,
  type WantedPayload,
} from "./store.js";

interface LevelReadsSettings {
  readonly directory: string;
  readonly space: LevelSpace;
  readonly writes: LevelWrites;
  readonly state: StoreState;
  readonly onDamage: (report: OpenReport) => void;
}

const MAX_TRIES = 3;

/**
 * The reads of an open store. Their results are corrected by commits made during the read and by changes still to be
 * written. An entry that cannot be read is set aside and the read starts again, as it does after a repair of the
 * database.
 */
export class LevelReads {
  private readonly settings: LevelReadsSettings;
  private readonly writes: LevelWrites;
  private readonly state: StoreState;

  constructor(settings: LevelReadsSettings) {
    this.settings = settings;
    this.writes = settings.writes;
    this.state = settings.state;
  }

  async pending(after: EntryRef | undefined, limit: number): Promise<StoredEntry[]> {
    if (limit <= 0) return [];
    await this.settings.space.compactor.waitUntilCaughtUp();
    return this.read(async (db) => {
      const { commits } = this.state;
      const found: StoredEntry[] = [];
      const from = Math.max(this.state.oldest?.pending.searchFrom ?? 0, after === undefined ? 0 : after + 1);
      for await (const page of pendingFrom(db, from, this.state.meta)) {
        for (const entry of page)
          if (found.length < limit && this.stillExists(entry.ref, "pending")) found.push(this.withLatestChanges(entry));
        if (found.length >= limit) break;
      }
      if (found.length === 0 && after === undefined) await this.checkNothingPending(db, commits);
      return found;
    });
  }

  async failed(after: EntryRef | undefined, limit: number, order: "oldest" | "newest"): Promise<StoredEntry[]> {
    if (limit <= 0) return [];
    return this.read(async (db) => {
      const positions = this.state.oldest?.withPositions(this.state.meta) ?? this.state.meta;
      const found: StoredEntry[] = [];
      // If entries were removed meanwhile, reading continues, because a short page means that there are no more.
      for (let at = after; ; ) {
        const missing = limit - found.length;
        const page = await failedAfter(db, at, missing, order, positions);
        for (const entry of page) if (this.stillExists(entry.ref, "failed")) found.push(this.withLatestChanges(entry));
        if (page.length < missing || found.length === limit) return found;
        at = page.at(-1)!.ref;
      }
    });
  }

  /** Leaves out changes made during the read. Watchers hear of them. */
  failedFacts(after: EntryRef | undefined, limit: number): Promise<StoredFacts[]> {
    return this.read(async (db) => {
      const positions = this.state.oldest?.withPositions(this.state.meta) ?? this.state.meta;
      return failedFactsAfter(db, after, limit, positions);
    });
  }

  find(id: string): Promise<StoredEntry | undefined> {
    return this.read(async (db) => {
      for (const ref of [sequenceOfId(id), await findRefById(db, id)]) {
        if (ref === undefined || !this.stillExists(ref)) continue;
        const found = await loadEntry(db, ref);
        if (found?.entry.id === id && this.stillExists(ref)) return this.withLatestChanges(found);
      }
      return undefined;
    });
  }

  payload(ref: EntryRef): Promise<Batch> {
    return this.read(
      async (db) => {
        const info = this.stillExists(ref)
          ? (this.state.infos.get(ref) ?? (await loadEntry(db, ref))?.info)
          : undefined;
        if (info === undefined) throw noSuchEntry(ref);
        return loadPayload(db, ref, info);
      },
      (error) => {
        throw new StoreError("corrupt", `entry ${ref} of the queue was damaged and has been set aside`, {
          cause: error,
        });
      },
    );
  }

  /** Payloads stored in one value with their entry, which is nearly all, are read together. */
  async payloads(wanted: readonly WantedPayload[]): Promise<(Batch | undefined)[]> {
    const found = await this.read((db) => loadWholePayloads(db, wanted));
    for (const [i, { ref }] of wanted.entries()) found[i] ??= await this.payloadIfExists(ref);
    return found;
  }

  private async payloadIfExists(ref: EntryRef): Promise<Batch | undefined> {
    try {
      return await this.payload(ref);
    } catch (error) {
      if (isEntryGone(error)) return undefined;
      throw error;
    }
  }

  /** Runs a read. Sets aside unreadable entries, repairs a damaged database, and tries again. */
  private async read<T>(work: (db: LevelDb) => Promise<T>, onUnreadable?: (error: unknown) => T): Promise<T> {
    const { directory, onDamage } = this.settings;
    for (let tries = 0; ; ) {
      this.writes.checkOpen();
      const db = await this.writes.whenRepaired();
      try {
        return await this.writes.changesDuringReads.track(() => work(db));
      } catch (error) {
        if (error instanceof UnreadableEntryError) {
          const existed = await this.writes.changesDuringReads.track(() => this.quarantine(error.ref));
          if (existed && onUnreadable !== undefined) return onUnreadable(error);
          if (existed) onDamage({ isNew: false, lostEntries: 0, corruptEntries: 1, setAside: undefined });
        } else if (tries++ >= MAX_TRIES || !(await this.writes.recover(error, db)))
          throw toStoreError(error, directory);
      }
    }
  }

  /**
   * Sets an entry aside. Returns false if it was changed or removed while it was being read, so that it must be read
   * again.
   */
  private async quarantine(ref: EntryRef): Promise<boolean> {
    const { infos, meta } = this.state;
    const before = this.writes.changesDuringReads.info(ref);
    const { info, values, possibleOrigin } = await loadDamagedEntry(this.writes.current, ref, meta);
    return this.writes.commitChange([], 1000, (transaction) => {
      const hasChanged = this.writes.changesDuringReads.info(ref) !== before || transaction.infos.has(ref);
      if (info === undefined || before === null || hasChanged) return false;
      if (transaction.info(ref) === undefined) infos.set(ref, info);
      transaction.quarantine(ref, values);
      if (possibleOrigin !== undefined) transaction.restoreOrigin(possibleOrigin);
      this.state.oldest?.notePendingAt(possibleOrigin ?? ref);
      return true;
    });
  }

  /**
   * If nothing is pending although the counters say otherwise, the missing entries are lost, and the counters are
   * corrected.
   */
  private async checkNothingPending(db: LevelDb, commits: number): Promise<void> {
    const { pending } = this.state.meta;
    const isCertain = () => this.state.commits === commits && !this.writes.lazyChanges.hasUnwrittenAcks;
    if (pending.entries === 0 || !isCertain()) return;
    const firstRef = await firstPending(db, 0, this.state.meta);
    if (firstRef !== undefined) this.state.oldest?.notePendingAt(firstRef);
    else if (isCertain())
      await this.writes.commitChange([], 100, (transaction) => isCertain() && transaction.uncountLostPending(pending));
  }

  private withLatestChanges({ ref, entry, info, batch }: FoundEntry): StoredEntry {
    if (this.writes.changesDuringReads.info(ref) === undefined) this.state.infos.set(ref, info);
    if (batch !== undefined) this.state.payloads.set(ref, batch);
    const written = this.writes.changesDuringReads.entry(ref) ?? entry;
    const update = this.writes.lazyChanges.unwrittenUpdate(ref);
    const isNewer = update !== undefined && hasState(update, written.state);
    return { ref, entry: isNewer ? { ...update, state: written.state } : written };
  }

  /** Whether an entry that was read still exists and is still in that state. */
  private stillExists(ref: EntryRef, state?: Entry["state"]): boolean {
    const latest = this.writes.changesDuringReads.info(ref);
    if (this.writes.lazyChanges.isAcked(ref) || latest === null) return false;
    return latest === undefined || state === undefined || latest.state === state;
  }
}

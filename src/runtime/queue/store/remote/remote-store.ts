import type { Entry } from "#contract/operations";
import { Batch } from "#otlp";
import { Keyring } from "../encryption/keyring.js";
import { createEntry, entryId, hasState } from "../format/entry.js";
import { IdReservations } from "../level/id-reservations.js";
import {
  alreadyOpenError,
  closedError,
  type EntryRef,
  type ExchangedEntries,
  type FailedWatcher,
  isStoreError,
  type NewEntry,
  noSuchEntry,
  type OpenReport,
  type QueueStore,
  type StoredEntry,
  StoreError,
  type StoreExchange,
  type StoreStats,
  type WantedPayload,
} from "../store.js";
import { EntryIndex } from "./entry-index.js";
import { EntryTable, type TableContents } from "./entry-table.js";
import { RemoteNotes } from "./remote-notes.js";
import type { RowTable } from "./row-table.js";
import { TableWriter, type WantedChange } from "./table-writer.js";

export interface RemoteStoreOptions {
  /** Whether the store may open while the server is unreachable. It refuses new entries until the server is reached. */
  readonly mayOpenLater?: boolean;
  /** How long `open` waits for an unreachable server, if the store may not open later. */
  readonly waitMs?: number;
  /** Keys for decryption and encryption. Without it, nothing is encrypted. */
  readonly keyring?: Keyring | undefined;
  /** Called when the server was reached again after a disconnect. The pending entries may have changed. */
  readonly onDamage?: (report: OpenReport) => void;
  /** Called once per reason why the queue cannot be used. `onFound` is called when it can be used again. */
  readonly onLost?: (error: unknown) => void;
  readonly onFound?: () => void;
}

const RETRY_MS = 1000;
/** How long `close` waits for the server to take changes that no caller waits for. */
const FLUSH_LIMIT_MS = 5000;

/**
 * A queue on a server, for agents without a disk. The entries are in memory without their payloads. Every change goes
 * to the server first, and into memory when the server has it. If the agent dies, entries whose acknowledgement was not
 * written yet are sent again.
 *
 * For one entry, the order of calls is the order on the server and in memory; see `TableWriter`.
 *
 * After a disconnect, the store reconnects until it succeeds and then reads everything again, because it is not known
 * whether the last commit was made. Until then it refuses new entries, and entries in memory can be listed but not
 * sent.
 */
export class RemoteStore implements QueueStore {
  private readonly exporter: string;
  private readonly table: EntryTable;
  private readonly options: RemoteStoreOptions;
  private readonly index = new EntryIndex();
  private readonly writer: TableWriter;
  readonly notes: RemoteNotes;
  private readonly ids = new IdReservations(async (id, replaced) => {
    const ref = this.index.find(id)?.ref;
    return ref !== undefined && ref !== replaced;
  });
  private tag = "";
  private lastRef: EntryRef = 0;
  private corrupt = 0;
  private isOpen = false;
  private writeFailure: StoreError | undefined;
  private retry: NodeJS.Timeout | undefined;

  constructor(settings: { readonly exporter: string }, rows: RowTable, options: RemoteStoreOptions = {}) {
    this.exporter = settings.exporter;
    this.table = new EntryTable(rows, options.keyring ?? new Keyring());
    this.options = options;
    this.writer = new TableWriter(this.table, () => this.lastRef);
    this.notes = new RemoteNotes(this.writer, () => this.table.notes());
  }

  async open(): Promise<OpenReport> {
    if (this.isOpen) throw alreadyOpenError(this.exporter);
    const giveUpAt = performance.now() + (this.options.waitMs ?? 0);
    for (let isWaiting = false; ; isWaiting = true) {
      try {
        const contents = await this.table.open((error) => this.lost(error));
        this.notes.found(await this.table.notes());
        this.isOpen = true;
        if (isWaiting) this.options.onFound?.();
        return this.found(contents);
      } catch (error) {
        await this.table.close();
        const isAway = isStoreError(error) && error.code === "io";
        if (isAway && this.options.mayOpenLater) return this.openLater(error);
        if (!isAway || performance.now() >= giveUpAt) throw error;
        if (!isWaiting) this.options.onLost?.(error);
      }
      await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
    }
  }

  async close(): Promise<void> {
    if (!this.isOpen) return;
    this.isOpen = false;
    clearTimeout(this.retry);
    let timer: NodeJS.Timeout | undefined;
    const limit = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, FLUSH_LIMIT_MS);
    });
    await Promise.race([this.writer.flush(), limit]);
    clearTimeout(timer);
    this.writer.stop(closedError(this.exporter));
    await this.table.close();
  }

  put(fresh: NewEntry): Promise<StoredEntry> {
    return this.insert([fresh]).then(([stored]) => stored!);
  }

  ack(ref: EntryRef): void {
    if (!this.isOpen || this.index.get(ref) === undefined) return;
    this.index.remove(ref);
    this.writer.acknowledge(ref);
  }

  update(ref: EntryRef, entry: Entry): void {
    const known = this.isOpen ? this.index.get(ref) : undefined;
    if (known === undefined || !hasState(entry, known.state)) return;
    const updated = { ...entry, state: known.state };
    this.index.set(ref, updated);
    this.writer.update(ref, updated);
  }

  async fail(ref: EntryRef, entry: Entry): Promise<void> {
    this.get(ref);
    const failed: Entry = { ...entry, state: "failed" };
    await this.writer.write({
      moves: [{ from: ref, to: ref, entry: failed }],
      apply: () => this.index.get(ref) !== undefined && this.index.set(ref, failed),
    });
  }

  async replace(ref: EntryRef, replacements: readonly NewEntry[]): Promise<StoredEntry[]> {
    this.get(ref);
    return this.insert(replacements, [ref]);
  }

  async exchange({ removed, added, note, mustExist = false }: StoreExchange): Promise<ExchangedEntries> {
    const there = removed.filter((ref) => this.index.get(ref) !== undefined);
    if (mustExist && there.length === 0) throw noSuchEntry(removed[0]!);
    const written = note && this.notes.create(note);
    const stored = await this.insert(added, there, written && { notes: [written], removedNotes: note.replaces });
    return { stored, note: written?.number };
  }

  async replay(changes: readonly { readonly ref: EntryRef; readonly entry: Entry }[]): Promise<StoredEntry[]> {
    for (const { ref } of changes) this.getFailed(ref);
    const unique = [...new Map(changes.map((change) => [change.ref, change])).values()];
    const moves = unique.map(({ ref, entry }) => ({
      from: ref,
      to: ++this.lastRef,
      entry: { ...entry, state: "pending" as const },
    }));
    const apply = () => {
      for (const { from, to, entry } of moves) {
        this.index.remove(from);
        this.index.set(to, entry);
      }
    };
    await this.writer.write({ moves, apply });
    return moves.map(({ to, entry }) => ({ ref: to, entry }));
  }

  async delete(refs: readonly EntryRef[]): Promise<void> {
    this.checkOpen();
    const there = [...new Set(refs)].filter((ref) => this.index.get(ref) !== undefined);
    for (let at = 0; at < there.length; at += DELETED_AT_ONCE) {
      const deletes = there.slice(at, at + DELETED_AT_ONCE);
      const apply = () => {
        for (const ref of deletes) this.index.remove(ref);
      };
      await this.writer.write({ deletes, apply });
    }
  }

  async pending(after: EntryRef | undefined, limit: number): Promise<StoredEntry[]> {
    this.checkOpen();
    return this.index.listPending(after, limit);
  }

  async failed(after: EntryRef | undefined, limit: number, order: "oldest" | "newest"): Promise<StoredEntry[]> {
    this.checkOpen();
    return this.index.listFailed(after, limit, order);
  }

  async find(id: string): Promise<StoredEntry | undefined> {
    this.checkOpen();
    return this.index.find(id);
  }

  async payload(ref: EntryRef): Promise<Batch> {
    const { signal, items } = this.get(ref);
    const [batch] = await this.payloads([{ ref, signal, items }]);
    if (batch !== undefined) return batch;
    if (this.index.get(ref) !== undefined) throw noSuchEntry(ref);
    throw new StoreError("corrupt", `entry ${ref} of the queue was damaged and has been set aside`);
  }

  async payloads(wanted: readonly WantedPayload[]): Promise<(Batch | undefined)[]> {
    this.checkOpen();
    if (this.writeFailure !== undefined) throw this.writeFailure;
    const found = await this.table.payloads(wanted.map(({ ref }) => ref));
    for (const [ref, bytes] of found) if (bytes === "damaged") await this.setAside(ref);
    return wanted.map(({ ref, signal, items }) => {
      const bytes = found.get(ref);
      return bytes === undefined || bytes === "damaged" ? undefined : Batch.trusted(signal, bytes, items);
    });
  }

  watchFailed(watcher: FailedWatcher): () => void {
    return this.index.watch(watcher);
  }

  get stats(): StoreStats {
    const { pending, failed, oldestPendingAt, oldestFailedAt } = this.index;
    const { corrupt, writeFailure } = this;
    return { pending, failed, oldestPendingAt, oldestFailedAt, corrupt, writeFailure };
  }

  private insert(
    fresh: readonly NewEntry[],
    deletes: readonly EntryRef[] = [],
    others: Pick<WantedChange, "notes" | "removedNotes"> = {},
  ): Promise<StoredEntry[]> {
    return this.ids.withReservedIds(
      fresh,
      async (ids) => {
        this.checkOpen();
        const stored = fresh.map((each, i) => {
          const ref = ++this.lastRef;
          return { ref, entry: createEntry(each, ids[i] ?? entryId(this.tag, ref), this.exporter) };
        });
        const inserts = stored.map(({ ref, entry }, i) => ({ ref, entry, payload: fresh[i]!.batch.bytes }));
        const change: WantedChange = {
          ...others,
          inserts,
          deletes,
          apply: () => {
            for (const ref of deletes) this.index.remove(ref);
            for (const { ref, entry } of stored) this.index.set(ref, entry);
          },
        };
        await this.writer.write(change);
        return stored;
      },
      deletes.length === 1 ? deletes[0] : undefined,
    );
  }

  private async setAside(ref: EntryRef): Promise<void> {
    const entry = this.index.get(ref);
    if (entry === undefined) return;
    this.writer.forgetUpdate(ref);
    await this.table.setAside(ref, entry, this.lastRef);
    if (this.index.get(ref) === undefined) return;
    this.index.remove(ref);
    this.corrupt += 1;
  }

  private found({ isNew, tag, lastRef, entries, corrupt, newCorrupt }: TableContents): OpenReport {
    this.tag = tag;
    this.lastRef = Math.max(this.lastRef, lastRef);
    this.corrupt = corrupt;
    this.writeFailure = undefined;
    // Entries acknowledged meanwhile are still on the server until that is written.
    const kept = entries.filter(([ref]) => !this.writer.isAcknowledged(ref));
    this.index.reset(kept.map(([ref, entry]) => [ref, this.writer.latest(ref, entry)] as const));
    this.writer.resume();
    return { isNew, lostEntries: 0, corruptEntries: newCorrupt, setAside: undefined };
  }

  private lost(error: unknown): void {
    if (!this.isOpen || this.writeFailure !== undefined) return;
    this.cannotWrite(error);
    this.scheduleReconnect();
  }

  private cannotWrite(error: unknown): void {
    this.writeFailure = isStoreError(error) ? error : new StoreError("io", String(error), { cause: error });
    this.writer.stop(this.writeFailure);
    this.options.onLost?.(error);
  }

  private openLater(error: StoreError): OpenReport {
    this.isOpen = true;
    this.lost(error);
    return { isNew: false, lostEntries: 0, corruptEntries: 0, setAside: undefined };
  }

  private scheduleReconnect(): void {
    this.retry = setTimeout(() => void this.reconnect(), RETRY_MS);
  }

  private async reconnect(): Promise<void> {
    try {
      const contents = await this.table.open((error) => this.lost(error));
      if (!this.isOpen) return void (await this.table.close());
      const report = this.found(contents);
      this.options.onFound?.();
      this.options.onDamage?.(report);
    } catch (error) {
      if (!this.isOpen) return;
      if (isStoreError(error) && error.code !== this.writeFailure?.code) this.cannotWrite(error);
      this.scheduleReconnect();
    }
  }

  private get(ref: EntryRef): Entry {
    this.checkOpen();
    const entry = this.index.get(ref);
    if (entry === undefined) throw noSuchEntry(ref);
    return entry;
  }

  private getFailed(ref: EntryRef): void {
    const { id, state } = this.get(ref);
    if (state !== "failed") throw new StoreError("not_found", `entry ${id} is not a dead letter`);
  }

  private checkOpen(): void {
    if (!this.isOpen) throw closedError(this.exporter);
  }
}

/** Limits the deletions per write, so that puts need not wait for all of them. */
const DELETED_AT_ONCE = 256;

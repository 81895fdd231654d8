import type { Entry } from "#contract/operations";
import type { Batch } from "#otlp";

/**
 * Stores one exporter's entries: pending ones in order, and failed ones, which are its dead letters. A store belongs to
 * one exporter and is opened by one process at a time.
 *
 * Promises: an entry for which `put` resolved is there after a crash (or power loss, depending on durability). A change
 * of state is atomic: an entry is never in two states and never in none. An unreadable entry does not hide others.
 * Methods reject with a `StoreError` whose `code` tells the problem. A failed write leaves the store unchanged.
 */
export interface QueueStore {
  /** Opens the store, determines its contents, and repairs damage. Rejects with a `StoreError` if it cannot be used. */
  open(): Promise<OpenReport>;
  close(): Promise<void>;

  /** Stores a new entry. Resolves with it when it is as safe as the durability setting says. */
  put(entry: NewEntry): Promise<StoredEntry>;
  /** Removes a delivered entry with the next commit. After a crash before that, the entry is sent again. */
  ack(ref: EntryRef): void;
  /**
   * Stores what an attempt changed in an entry. Like `ack`, it is written with the next commit, and never over a later
   * change of the entry. Ignored if the entry is in another state by now.
   */
  update(ref: EntryRef, entry: Entry): void;
  /** Turns an entry into a dead letter. Its ref stays. */
  fail(ref: EntryRef, entry: Entry): Promise<void>;
  /**
   * Replaces an entry with new pending (or failed) ones in one write. One of them may have the id of the replaced
   * entry.
   */
  replace(ref: EntryRef, replacements: readonly NewEntry[]): Promise<StoredEntry[]>;
  /**
   * Removes entries, stores new ones and a note, all in one write: after a crash there is all of it or nothing. Missing
   * entries are ignored, unless `mustExist` is set.
   */
  exchange(exchange: StoreExchange): Promise<ExchangedEntries>;
  /** Turns dead letters into pending entries at the end of the queue. Their ids stay, their refs are new. */
  replay(changes: readonly { readonly ref: EntryRef; readonly entry: Entry }[]): Promise<StoredEntry[]>;
  /** Removes entries permanently, whatever their state. Missing ones are ignored. */
  delete(refs: readonly EntryRef[]): Promise<void>;

  /**
   * @internal Like `delete`, but resolves only when no file of the store has their data any more. A store without this
   * method does not promise that.
   */
  erase?(refs: readonly EntryRef[]): Promise<void>;

  /**
   * Lists pending entries after `after` (or from the beginning), in order. Returns fewer than `limit` only if there are
   * no more. Payloads are not read.
   */
  pending(after: EntryRef | undefined, limit: number): Promise<StoredEntry[]>;
  /** Lists failed entries after `after`, ordered by ref. Returns fewer than `limit` only if there are no more. */
  failed(after: EntryRef | undefined, limit: number, order: "oldest" | "newest"): Promise<StoredEntry[]>;
  /** Finds an entry by its id, in any state. */
  find(id: string): Promise<StoredEntry | undefined>;
  /**
   * Returns the batch of an entry. Rejects with a `StoreError` "corrupt" if it cannot be read; then it has been set
   * aside.
   */
  payload(ref: EntryRef): Promise<Batch>;
  /**
   * @internal Reads several payloads together, which is much cheaper; undefined for entries that are gone or cannot be
   * read. Without this method, each payload is read on its own.
   */
  payloads?(wanted: readonly WantedPayload[]): Promise<(Batch | undefined)[]>;
  /**
   * @internal Like `failed`, the oldest first, but with only the facts of each, which is much cheaper. Without this
   * method, the whole entries are read.
   */
  failedFacts?(after: EntryRef | undefined, limit: number): Promise<StoredFacts[]>;
  /**
   * @internal Reports later changes of dead letters, once they are written. A store without this method has to be
   * scanned.
   */
  watchFailed?(watcher: FailedWatcher): () => void;

  readonly stats: StoreStats;
  /** @internal Notes of a pipeline's journal, stored next to its entries. An exporter's queue works without them. */
  readonly notes?: NoteStore;
}

/**
 * Small pieces of data stored next to the entries. They are written with the next commit, in order with
 * acknowledgements: if an acknowledgement is on disk, so is every note that was added before it.
 */
export interface NoteStore {
  /** False until the server that has the notes was reached for the first time. They cannot be read before. */
  readonly isReached?: boolean;
  /** Returns all readable notes, oldest first. To be called after the store was opened, before anything is added. */
  load(): Promise<Note[]>;
  add(note: Omit<Note, "number">): NoteNumber;
  remove(numbers: readonly NoteNumber[]): void;
}

/** The changes that `exchange` makes in one write. */
export interface StoreExchange {
  readonly removed: readonly EntryRef[];
  readonly added: readonly NewEntry[];
  /** A note to keep, and the older ones that it replaces. */
  readonly note?: Omit<Note, "number"> & { readonly replaces: readonly NoteNumber[] };
  /** Rejects with "not_found" if none of the entries to remove exists, because then an earlier try has removed them. */
  readonly mustExist?: boolean;
}

/** The entries and the note that `exchange` has stored. */
export interface ExchangedEntries {
  readonly stored: readonly StoredEntry[];
  /** The number of the note, if there was one. */
  readonly note: NoteNumber | undefined;
}

/** Grows with every note of a store. */
export type NoteNumber = number;

export interface Note {
  readonly number: NoteNumber;
  /** The component that wrote the note. */
  readonly owner: string;
  /** The last entry that had been handed on when the note was added. */
  readonly after: EntryRef;
  readonly bytes: Uint8Array;
}

/** Prefix of note owners that belong to the queue itself; other owners are processors. */
export const QUEUE_NOTE_PREFIX = "queue:";

export function isQueueNote(owner: string): boolean {
  return owner.startsWith(QUEUE_NOTE_PREFIX);
}

/**
 * Identifies an entry inside its store and gives its place in the queue. Cheap enough to keep hundred thousands in
 * memory.
 */
export type EntryRef = number;

/** A batch to be stored, and where it came from. */
export interface NewEntry {
  readonly batch: Batch;
  readonly pipeline: string;
  readonly source: Entry["source"];
  readonly enqueuedAt: number;
  readonly generation: string;
  /**
   * Fields that differ from those of a new pending entry. Used for parts of another entry and for imports. An id is
   * kept unless the store already has it; then the entry gets a new one.
   */
  readonly fields?: Partial<Entry>;
  /**
   * Whether the entry has just come from outside, so that no other store has it. On a full disk such entries are
   * refused first.
   */
  readonly isNew?: boolean;
}

/** An entry with its ref. */
export interface StoredEntry {
  readonly ref: EntryRef;
  readonly entry: Entry;
}

/**
 * The properties of a dead letter that filters and counts need. They are also stored after the head of its value, so
 * that a hundred thousand can be scanned without decoding their histories. Values written by older versions have none.
 */
export interface FailureFacts {
  readonly at: number;
  readonly items: number;
  readonly bytes: number;
  readonly attempts: number;
  /** Whether the dead letter was deleted. It can still be restored. */
  readonly isDeleted: boolean;
  /** The tag in the id; empty if the id has another form. */
  readonly tag: string;
  readonly sequence: number;
  /** The same for all dead letters with the same signal, reason, exporter, category and signature. */
  readonly causeKey: string;
  /** The same for all dead letters with the same names. */
  readonly namesKey: string;
}

/** The facts of a dead letter that are known without decoding it, if it has any. `entry` decodes it. */
export interface StoredFacts {
  readonly ref: EntryRef;
  readonly facts: FailureFacts | undefined;
  entry(): Entry;
}

export interface Amount {
  readonly entries: number;
  readonly items: number;
  readonly bytes: number;
}

/** An entry whose payload is wanted, with its known properties. */
export type WantedPayload = Pick<Entry, "signal" | "items"> & { readonly ref: EntryRef };

/** Receives changes in the order in which they were written. */
export interface FailedWatcher {
  /** Called with a dead letter when it was written. Without `entry`, the ref is not, or no longer, a dead letter. */
  changed(ref: EntryRef, entry: Entry | undefined): void;
  /** Called when the store was reopened. Everything known about it may be wrong. */
  reset(): void;
}

/** The contents of a store. */
export interface StoreStats {
  /** Does not include acknowledged entries, whether that is written yet or not. */
  readonly pending: Amount;
  readonly failed: Amount;
  /** When the oldest pending entry was queued, if there is one. */
  readonly oldestPendingAt: number | undefined;
  readonly oldestFailedAt: number | undefined;
  /** Number of entries that could not be read and were set aside since the store was created. */
  readonly corrupt: number;
  /** Why nothing can be written at the moment, if so. */
  readonly writeFailure?: StoreError | undefined;
  /** @internal Free disk space at the last check; undefined for a store without a disk. */
  readonly diskFreeBytes?: number | undefined;
  /** @internal Size of the ballast at that time, for all stores of the directory together. */
  readonly ballastBytes?: number | undefined;
}

/** The findings on opening. Anything but zeros and false should be logged as an error. */
export interface OpenReport {
  readonly isNew: boolean;
  /** Number of entries that are missing. It is exact unless `lostBounds` is set. */
  readonly lostEntries: number;
  /**
   * Set if the exact number cannot be known. `atMost` is undefined if there is no upper bound either. `lostEntries` is
   * then the upper bound, or the lower one, but at least 1.
   */
  readonly lostBounds?: { readonly atLeast: number; readonly atMost: number | undefined } | undefined;
  readonly corruptEntries: number;
  /** Number of dead letters whose failure an older version has overwritten, and which are listed again; none if unset. */
  readonly repairedEntries?: number;
  /** Where the damaged files were moved, if the store was repaired. */
  readonly setAside: string | undefined;
}

export type LostBounds = NonNullable<OpenReport["lostBounds"]>;

type StoreErrorCode = "closed" | "full" | "locked" | "corrupt" | "newer_version" | "wrong_key" | "io" | "not_found";

/** An error of a store; `code` tells the kind. */
export class StoreError extends Error {
  override readonly name = "StoreError";
  readonly code: StoreErrorCode;

  constructor(code: StoreErrorCode, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.code = code;
  }
}

export function isStoreError(error: unknown): error is StoreError {
  return (error as Partial<StoreError> | undefined)?.name === "StoreError";
}

/** Whether the entry cannot be read or no longer exists, so that a retry is pointless. */
export function isEntryGone(error: unknown): error is StoreError {
  return isStoreError(error) && (error.code === "corrupt" || error.code === "not_found");
}

export interface LevelStoreSettings {
  readonly exporter: string;
  readonly directory: string;
  readonly durability: "fsync" | "interval" | "process";
  readonly intervalMs: number;
}

/** The error for a ref without an entry. */
export function noSuchEntry(ref: EntryRef): StoreError {
  return new StoreError("not_found", `there is no entry ${ref} in the queue`);
}

/** The error for a store that was not opened or has been closed. */
export function closedError(exporter: string, directory?: string): StoreError {
  return new StoreError("closed", `${queueName(exporter, directory)} is closed`);
}

/** The error for a store that is already open. */
export function alreadyOpenError(exporter: string, directory?: string): StoreError {
  return new StoreError("locked", `${queueName(exporter, directory)} is already open`);
}

function queueName(exporter: string, directory: string | undefined): string {
  return `the queue of ${exporter}${directory === undefined ? "" : ` in ${directory}`}`;
}

/** How long to wait before the store is used again after an error. */
export const STORE_RETRY_MS = 5000;

export const ZERO_AMOUNT: Amount = { entries: 0, items: 0, bytes: 0 };

import type { Entry } from "#contract/operations";
import type { Batch } from "#otlp";
import type { FailureFacts } from "./format/failure-facts.js";

/**
 * Where one exporter's entries are kept: pending ones in the order they came, and failed ones, which are its dead
 * letters. One store belongs to one exporter and is opened by one process at a time.
 *
 * Promises: what `put` resolved for is there after a crash (or power loss, by durability). A change of state is atomic:
 * an entry is never in two states and never in none. One unreadable entry hides no other. Methods reject with a
 * `StoreError` whose `code` says what is wrong; a failed write leaves the store as it was.
 */
export interface QueueStore {
  /** Opens it, finds out what is inside, and repairs what must be. Rejects with a `StoreError` if it cannot be used. */
  open(): Promise<OpenReport>;
  close(): Promise<void>;

  /** Keeps a new entry. Resolves with it when it is as safe as the store's durability says. */
  put(entry: NewEntry): Promise<StoredEntry>;
  /** Forgets a delivered entry. It goes with the next commit; after a crash before that the entry is sent again. */
  ack(ref: EntryRef): void;
  /** Keeps what was learnt by an attempt. It is written with the next commit, like `ack`. */
  update(ref: EntryRef, entry: Entry): void;
  /** Turns an entry into a dead letter. Its ref stays. */
  fail(ref: EntryRef, entry: Entry): Promise<void>;
  /** Puts new pending (or failed) entries in the place of one, in one step. One of them may have the id of the one that goes. */
  replace(ref: EntryRef, replacements: readonly NewEntry[]): Promise<StoredEntry[]>;
  /**
   * @internal Removes entries, puts new ones and keeps a note, all in one step: after a crash there is all of it or nothing.
   * Entries that are gone already do not matter, unless `mustExist` is set.
   */
  exchange(exchange: StoreExchange): Promise<ExchangedEntries>;
  /** Turns dead letters into pending entries, at the end of the queue: their ids stay, their refs are new. */
  replay(changes: readonly { readonly ref: EntryRef; readonly entry: Entry }[]): Promise<StoredEntry[]>;
  /** Removes entries for good, whatever their state. Those that are gone already do not matter. */
  delete(refs: readonly EntryRef[]): Promise<void>;

  /** @internal The same, and resolves when nothing of them is in any file of the store any more. Without it, that is not promised. */
  erase?(refs: readonly EntryRef[]): Promise<void>;

  /** Pending entries behind `after` (from the beginning without), in order, at most `limit`, fewer when there are no more. Payloads are not read. */
  pending(after: EntryRef | undefined, limit: number): Promise<StoredEntry[]>;
  /** Failed entries behind `after` in the given order, which is that of their refs; fewer than `limit` when there are no more. */
  failed(after: EntryRef | undefined, limit: number, order: "oldest" | "newest"): Promise<StoredEntry[]>;
  /** Finds an entry by its id, in any state. */
  find(id: string): Promise<StoredEntry | undefined>;
  /** The batch of an entry. Rejects with a `StoreError` "corrupt" when it cannot be read; then it has been set aside. */
  payload(ref: EntryRef): Promise<Batch>;
  /** @internal Those of several at once, much cheaper each; undefined for one that is gone or cannot be read. Without it each is asked for. */
  payloads?(wanted: readonly WantedPayload[]): Promise<(Batch | undefined)[]>;
  /** @internal The same as `failed`, the oldest first, with no more than the facts of each: much cheaper. Without it they are read whole. */
  failedFacts?(after: EntryRef | undefined, limit: number): Promise<StoredFacts[]>;
  /** @internal Tells what becomes of dead letters from now on, once it is written. A store without it has to be walked. */
  watchFailed?(watcher: FailedWatcher): () => void;

  readonly stats: StoreStats;
  /** @internal What a pipeline's journal keeps beside its entries. A store without it is good enough for an exporter. */
  readonly notes?: NoteStore;
}

/**
 * Small things kept beside the entries. They are written with the next commit, like acknowledgements, and in order with
 * them: when an acknowledgement is on disk, so is every note that was added before it.
 */
export interface NoteStore {
  /** False while the server that keeps the notes has never been reached: they cannot be read then. */
  readonly isReached?: boolean;
  /** All notes that can be read, oldest first. To be called after the store was opened, before anything is added. */
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
  /** Rejects with "not_found" when none of the entries to remove is there: then an earlier try has removed them. */
  readonly mustExist?: boolean;
}

/** The entries and the note that `exchange` has put. */
export interface ExchangedEntries {
  readonly stored: readonly StoredEntry[];
  /** The number of the note, if there was one. */
  readonly note: NoteNumber | undefined;
}

/** Grows with every note of a store. */
export type NoteNumber = number;

export interface Note {
  readonly number: NoteNumber;
  /** Whose it is. */
  readonly owner: string;
  /** The last entry that had been handed on when the note was added. */
  readonly after: EntryRef;
  readonly bytes: Uint8Array;
}

/** Owners of notes that are the queue's own begin with this; the others are processors. */
export const QUEUE_NOTE_PREFIX = "queue:";

export function isQueueNote(owner: string): boolean {
  return owner.startsWith(QUEUE_NOTE_PREFIX);
}

/** Names an entry inside its store, and its place in the queue. Cheap to keep in memory by the hundred thousand. */
export type EntryRef = number;

/** A batch that is to be kept, and where it came from. */
export interface NewEntry {
  readonly batch: Batch;
  readonly pipeline: string;
  readonly source: Entry["source"];
  readonly enqueuedAt: number;
  readonly generation: string;
  /**
   * Fields that are not those of a fresh pending entry; for parts of another entry and for imports. An id is kept unless
   * the store has it already; then the entry gets a new one.
   */
  readonly fields?: Partial<Entry>;
  /** It has just come from outside: no other store has it. On a full disk such entries are refused first. */
  readonly isNew?: boolean;
}

/** An entry, and what the store finds it by. */
export interface StoredEntry {
  readonly ref: EntryRef;
  readonly entry: Entry;
}

/** What is known of a dead letter without decoding it, if it says how it failed; `entry` decodes it. */
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

/** An entry whose payload is asked for, as far as it is known. */
export type WantedPayload = Pick<Entry, "signal" | "items"> & { readonly ref: EntryRef };

/** Told of changes in the order in which they were written. */
export interface FailedWatcher {
  /** This is a dead letter now, with what is known of it; undefined: it is none, and mostly was none. */
  changed(ref: EntryRef, entry: Entry | undefined): void;
  /** The store was opened anew: all that was known of it may be wrong. */
  reset(): void;
}

/** What a store holds. */
export interface StoreStats {
  /** Without those that were acknowledged, written or not. */
  readonly pending: Amount;
  readonly failed: Amount;
  /** When the oldest of them came, if there is one. */
  readonly oldestPendingAt: number | undefined;
  readonly oldestFailedAt: number | undefined;
  /** Entries that could not be read and were set aside since the store was made. */
  readonly corrupt: number;
  /** Why nothing can be written at the moment, if so. */
  readonly writeFailure?: StoreError | undefined;
  /** @internal What was free on its disk when that was looked at last; undefined for a store without one. */
  readonly diskFreeBytes?: number | undefined;
  /** @internal What the ballast held then, for all stores of the directory together. */
  readonly ballastBytes?: number | undefined;
}

/** What was found on opening. Anything but zeros and false is worth an error in the log. */
export interface OpenReport {
  readonly isNew: boolean;
  /** Entries that were there before and are gone: exactly so many, unless `lostBounds` is there. */
  readonly lostEntries: number;
  /**
   * Set when the exact number cannot be known: `atMost` is undefined when there is no upper bound either. `lostEntries` is then the
   * upper bound, or the lower one, but at least 1.
   */
  readonly lostBounds?: { readonly atLeast: number; readonly atMost: number | undefined } | undefined;
  readonly corruptEntries: number;
  /** Where the damaged files were put, when the store had to be repaired. */
  readonly setAside: string | undefined;
}

export type LostBounds = NonNullable<OpenReport["lostBounds"]>;

export type StoreErrorCode =
  | "closed"
  | "full"
  | "locked"
  | "corrupt"
  | "newer_version"
  | "wrong_key"
  | "io"
  | "not_found";

/** A store that could not do what it was asked; `code` says why. */
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

/** The entry cannot be read, or is not there any more: asking again is of no use. */
export function isEntryGone(error: unknown): error is StoreError {
  return isStoreError(error) && (error.code === "corrupt" || error.code === "not_found");
}

export interface LevelStoreSettings {
  readonly exporter: string;
  readonly directory: string;
  readonly durability: "fsync" | "interval" | "process";
  readonly intervalMs: number;
}

/** There is nothing at this ref, or not any more. */
export function noSuchEntry(ref: EntryRef): StoreError {
  return new StoreError("not_found", `there is no entry ${ref} in the queue`);
}

/** The store was not opened, or has been closed. */
export function closedError(exporter: string, directory?: string): StoreError {
  return new StoreError("closed", `${queueName(exporter, directory)} is closed`);
}

/** The store is open, here or elsewhere. */
export function alreadyOpenError(exporter: string, directory?: string): StoreError {
  return new StoreError("locked", `${queueName(exporter, directory)} is already open`);
}

function queueName(exporter: string, directory: string | undefined): string {
  return `the queue of ${exporter}${directory === undefined ? "" : ` in ${directory}`}`;
}

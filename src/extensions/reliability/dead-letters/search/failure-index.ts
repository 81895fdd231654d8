import type { EntryRef, QueueStore } from "../../store/store.js";
import { readDeadLetter, walkDeadLetters } from "../dead-letters.js";
import { FailureRows } from "./failure-rows.js";

/**
 * The rows of one queue's dead letters, kept up to date by what its store writes. They are read when somebody first asks,
 * once: a page at a time, so that nobody else waits for it. What changes meanwhile is newer than what is read.
 */
export class FailureIndex {
  private readonly store: QueueStore;
  private present = new FailureRows();
  private reading: Promise<void> | undefined;
  private isRead = false;
  private stopWatching = () => {};
  /** How many more the store counts than could be read. */
  private missing = 0;

  constructor(store: QueueStore) {
    this.store = store;
  }

  /** What is known so far. */
  get rows(): FailureRows {
    return this.present;
  }

  /** False until all have been read. */
  get isComplete(): boolean {
    return this.isRead;
  }

  /** Resolves when all are known; rejects when they cannot be read. */
  ready(): Promise<void> {
    if (this.isRead && !this.isStale()) return Promise.resolve();
    this.reading ??= this.read().finally(() => {
      this.reading = undefined;
    });
    return this.reading;
  }

  /** Empty when it is gone. */
  async idOf(ref: EntryRef): Promise<string> {
    return this.present.idOf(ref) ?? (await readDeadLetter(this.store, ref))?.entry.id ?? "";
  }

  /** A store that does not tell what it writes is read again for each who asks, and so is one that lost something. */
  private isStale(): boolean {
    if (this.store.watchFailed === undefined || this.present.shouldReadAgain) return true;
    return this.store.stats.failed.entries - this.present.size !== this.missing;
  }

  private async read(): Promise<void> {
    this.stopWatching();
    const rows = new FailureRows();
    const changed = new Set<EntryRef>();
    let isReading = true;
    let isReset = false;
    if (!this.isRead) this.present = rows;
    const stop = this.store.watchFailed?.({
      changed: (ref, entry) => {
        if (isReading) changed.add(ref);
        if (entry === undefined) rows.delete(ref);
        else rows.set(ref, entry);
      },
      reset: () => {
        isReset = true;
        this.isRead = false;
      },
    });
    this.stopWatching = stop ?? (() => {});
    try {
      for await (const { ref, entry } of walkDeadLetters(this.store)) if (!changed.has(ref)) rows.set(ref, entry);
    } finally {
      isReading = false;
    }
    if (isReset) return this.read();
    this.present = rows;
    this.missing = this.store.stats.failed.entries - rows.size;
    this.isRead = true;
  }
}

import { pagesOfDeadLetters } from "../../store/dead-letter-access.js";
import { factsOf } from "../../store/format/failure-facts.js";
import type { EntryRef, QueueStore, StoredEntry, StoredFacts } from "../../store/store.js";
import { readDeadLetter } from "../dead-letters.js";
import { FailureRows } from "./failure-rows.js";

/**
 * The rows of one queue's dead letters, kept up to date by the store's writes. They are read once, on the first
 * request, one page at a time, so that other work does not wait. Changes during that read take precedence over what it
 * finds.
 */
export class FailureIndex {
  private readonly store: QueueStore;
  private present = new FailureRows();
  private reading: Promise<void> | undefined;
  private isRead = false;
  private stopWatching = () => {};
  /** Difference between the store's count and the number of dead letters that could be read. */
  private missing = 0;

  constructor(store: QueueStore) {
    this.store = store;
  }

  /** The rows known so far. */
  get rows(): FailureRows {
    return this.present;
  }

  /** False until all dead letters have been read. */
  get isComplete(): boolean {
    return this.isRead;
  }

  /** Resolves when all dead letters are known. Rejects if they cannot be read. */
  ready(): Promise<void> {
    if (this.isRead && !this.isStale()) return Promise.resolve();
    this.reading ??= this.read().finally(() => {
      this.reading = undefined;
    });
    return this.reading;
  }

  /** Returns the id of a dead letter, or an empty text if it is gone. */
  async idOf(ref: EntryRef): Promise<string> {
    return this.present.idOf(ref) ?? (await readDeadLetter(this.store, ref))?.entry.id ?? "";
  }

  /** Whether the rows must be read again: always for a store without `watchFailed`, and if rows are missing. */
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
        const facts = entry && factsOf(entry);
        if (facts === undefined) rows.delete(ref);
        else rows.set(ref, facts, () => entry!);
      },
      reset: () => {
        isReset = true;
        this.isRead = false;
      },
    });
    this.stopWatching = stop ?? (() => {});
    try {
      for await (const page of pagesOfFacts(this.store))
        for (const { ref, facts, entry } of page)
          if (facts !== undefined && !changed.has(ref)) rows.set(ref, facts, entry);
    } finally {
      isReading = false;
    }
    if (isReset) return this.read();
    this.present = rows;
    this.missing = this.store.stats.failed.entries - rows.size;
    this.isRead = true;
  }
}

/** Facts read together; this takes a few milliseconds. */
const FACTS_PER_READ = 1000;

/** Yields the facts of all dead letters of a store, the oldest first. */
async function* pagesOfFacts(store: QueueStore): AsyncGenerator<readonly StoredFacts[]> {
  if (store.failedFacts === undefined) {
    for await (const page of pagesOfDeadLetters(store)) yield page.map(toStoredFacts);
    return;
  }
  for (let after: EntryRef | undefined; ; ) {
    const page = await store.failedFacts(after, FACTS_PER_READ);
    yield page;
    if (page.length < FACTS_PER_READ) return;
    after = page.at(-1)!.ref;
  }
}

function toStoredFacts({ ref, entry }: StoredEntry): StoredFacts {
  return { ref, facts: factsOf(entry), entry: () => entry };
}

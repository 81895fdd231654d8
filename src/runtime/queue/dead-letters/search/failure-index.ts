import { factsOf } from "../../store/format/failure-facts.js";
import type { EntryRef, QueueStore, StoredEntry, StoredFacts } from "../../store/store.js";
import { pagesOfDeadLetters, readDeadLetter } from "../dead-letters.js";
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

/** Facts that are read together: some milliseconds. */
const FACTS_TOGETHER = 1000;

/** Goes through all dead letters of a store, the oldest first. */
async function* pagesOfFacts(store: QueueStore): AsyncGenerator<readonly StoredFacts[]> {
  if (store.failedFacts === undefined) {
    for await (const page of pagesOfDeadLetters(store)) yield page.map(toStoredFacts);
    return;
  }
  for (let after: EntryRef | undefined; ; ) {
    const page = await store.failedFacts(after, FACTS_TOGETHER);
    yield page;
    if (page.length < FACTS_TOGETHER) return;
    after = page.at(-1)!.ref;
  }
}

function toStoredFacts({ ref, entry }: StoredEntry): StoredFacts {
  return { ref, facts: factsOf(entry), entry: () => entry };
}

import type { DeadLetterQuery } from "#contract/operations";
import type { EntryRef, QueueStore } from "../../store/store.js";
import { queryMatcher, readDeadLetter } from "../dead-letters.js";
import type { QueueControl } from "../exporter-control.js";
import { FailureIndex } from "./failure-index.js";
import {
  asSearched,
  type DeadLetterTest,
  MAX_PAYLOADS_PER_READ,
  matchRecords,
  type Searched,
} from "./match-records.js";

/** The result of searching the records of some dead letters: those that match, and how many were read. */
interface SearchedRecords {
  readonly found: readonly EntryRef[];
  readonly looked: number;
  readonly bytes: number;
  readonly last: EntryRef;
}

/** The indexes of all queues, and searches in them. */
export class FailureIndexes {
  private readonly indexes = new WeakMap<QueueStore, FailureIndex>();

  of({ store }: QueueControl): FailureIndex {
    const known = this.indexes.get(store) ?? new FailureIndex(store);
    this.indexes.set(store, known);
    return known;
  }

  /** Resolves when all dead letters of these queues are known. */
  async ready(controls: readonly QueueControl[]): Promise<void> {
    await Promise.all(controls.map((control) => this.of(control).ready()));
  }

  /** Returns the dead letters of a queue that match a query, the oldest first. Filters on records are ignored. */
  async matching(control: QueueControl, query: DeadLetterQuery): Promise<Float64Array> {
    const { sure, unsure } = this.of(control).rows.select(query);
    if (unsure.length === 0) return sure.sort();
    const matches = queryMatcher(query);
    const read: EntryRef[] = [];
    for (const ref of unsure) {
      const stored = await readDeadLetter(control.store, ref);
      if (stored !== undefined && matches(stored.entry)) read.push(ref);
    }
    const both = new Float64Array(sure.length + read.length);
    both.set(sure);
    both.set(read, sure.length);
    return both.sort();
  }

  /** Searches the records of these dead letters, in chunks. */
  async *search(
    control: QueueControl,
    refs: Float64Array,
    test: DeadLetterTest,
    maxTogether = MAX_PAYLOADS_PER_READ,
  ): AsyncGenerator<SearchedRecords> {
    const step = Math.min(maxTogether, MAX_PAYLOADS_PER_READ);
    for (let at = 0; at < refs.length; at += step) {
      const together = refs.subarray(at, at + step);
      const searched: Searched[] = [];
      for (const ref of together) {
        const known = this.of(control).rows.searched(ref) ?? (await readSearched(control.store, ref));
        if (known !== undefined) searched.push(known);
      }
      const found = await matchRecords(control.store, searched, test);
      const bytes = searched.reduce((sum, each) => sum + each.bytes, 0);
      yield { found: found.map(({ ref }) => ref), looked: together.length, bytes, last: together.at(-1)! };
    }
  }
}

async function readSearched(store: QueueStore, ref: EntryRef): Promise<Searched | undefined> {
  const stored = await readDeadLetter(store, ref);
  return stored && asSearched(stored);
}

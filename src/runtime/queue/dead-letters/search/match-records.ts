import type { DeadLetterQuery, Selection } from "#contract/operations";
import type { Batch } from "#otlp";
import { isEntryGone, type QueueStore, type StoredEntry, type WantedPayload } from "../../store/store.js";
import type { DeadLetterFacts } from "../dead-letter-filter.js";

/** Whether the records of a dead letter match. */
export type DeadLetterTest = (batch: Batch, facts: DeadLetterFacts) => boolean;

/** A query that `checkQuery` has checked. */
export interface CheckedQuery extends DeadLetterQuery {
  /** The test for its filters on records; undefined if it has none. */
  readonly test: DeadLetterTest | undefined;
}

export type CheckedSelection = Extract<Selection, { ids: unknown }> | { readonly query: CheckedQuery };

/** A dead letter whose records are to be searched. */
export interface Searched extends WantedPayload {
  readonly bytes: number;
  readonly facts: DeadLetterFacts;
}

/** Maximum number of payloads that are read together and searched without a pause; this takes about 2 ms. */
export const MAX_PAYLOADS_PER_READ = 256;
const MAX_BYTES_PER_READ = 4 * 1024 * 1024;

/** Returns those that match, in order. Payloads that cannot be read or are gone do not match. */
export async function matchRecords<T extends Searched>(
  store: QueueStore,
  searched: readonly T[],
  test: DeadLetterTest,
): Promise<T[]> {
  const found: T[] = [];
  for (let at = 0; at < searched.length; ) {
    const together = readTogether(searched, at);
    at += together.length;
    const batches = await payloadsOf(store, together);
    for (const [i, each] of together.entries())
      if (batches[i] !== undefined && test(batches[i], each.facts)) found.push(each);
  }
  return found;
}

export function asSearched({ ref, entry }: StoredEntry): Searched {
  const { exporter, signal, items, bytes, attempts, failure } = entry;
  return { ref, signal, items, bytes, facts: { exporter, cause: failure!, attempts } };
}

function readTogether<T extends Searched>(searched: readonly T[], from: number): T[] {
  let bytes = 0;
  let end = from;
  while (end < searched.length && end - from < MAX_PAYLOADS_PER_READ && (end === from || bytes < MAX_BYTES_PER_READ))
    bytes += searched[end++]!.bytes;
  return searched.slice(from, end);
}

async function payloadsOf(store: QueueStore, wanted: readonly WantedPayload[]): Promise<(Batch | undefined)[]> {
  if (store.payloads !== undefined) return store.payloads(wanted);
  return Promise.all(wanted.map(({ ref }) => store.payload(ref).catch(undefinedWhenGone)));
}

function undefinedWhenGone(error: unknown): undefined {
  if (!isEntryGone(error)) throw error;
}

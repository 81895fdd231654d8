import { AdminError, type DeadLetterQuery, type Entry } from "#contract/operations";
import { glob } from "#contract/schema";
import { maskRecordText } from "#text";
import { pagesOfDeadLetters } from "../store/dead-letter-access.js";
import type { EntryRef, QueueStore, StoredEntry } from "../store/store.js";
import { type ExporterControl, hasQueue, type QueueControl } from "./exporter-control.js";
import { asSearched, type CheckedQuery, matchRecords } from "./search/match-records.js";

/** All exporters by id, with or without a queue. */
export type Controls = ReadonlyMap<string, ExporterControl>;

/** A dead letter with the queue that has it. */
export interface LocatedEntry extends StoredEntry {
  readonly control: QueueControl;
}

export const MAX_PAGE_SIZE = 1000;

/** Returns a predicate for entries that match the metadata filters of a query. */
export function queryMatcher(query: DeadLetterQuery): (entry: Entry) => boolean {
  const { reason, category, signature, signal, since, until, deleted = false } = query;
  const isEvent = nameMatcher(query);
  return (entry) => {
    const { failure } = entry;
    return (
      failure !== undefined &&
      isDeleted(entry) === deleted &&
      (reason === undefined || failure.reason === reason) &&
      (category === undefined || failure.category === category) &&
      (signature === undefined || failure.signature === signature) &&
      (signal === undefined || entry.signal === signal) &&
      (since === undefined || failure.at >= since) &&
      (until === undefined || failure.at < until) &&
      (isEvent === undefined || failure.names.some(isEvent))
    );
  };
}

/**
 * Returns a predicate for the names of records; undefined if the query does not filter by name. A user who may not see
 * names unmasked must not find them out by trying either, so their masked form has to match.
 */
export function nameMatcher({
  event,
  matchesMasked = false,
}: DeadLetterQuery): ((name: string) => boolean) | undefined {
  if (event === undefined) return undefined;
  const matches = glob(event);
  return matchesMasked ? (name) => matches(maskRecordText(name)) : matches;
}

/** Whether the entry was deleted. It can be restored for a while. */
export function isDeleted({ deletedAt }: Entry): boolean {
  return deletedAt !== undefined;
}

/** Throws an `AdminError` if there is no such exporter. */
export function controlOf(controls: Controls, exporter: string): ExporterControl {
  const control = controls.get(exporter);
  if (control !== undefined) return control;
  const known = [...controls.keys()].join(", ") || "none";
  throw new AdminError("not_found", `there is no exporter ${JSON.stringify(exporter)}; there are: ${known}`);
}

/** The queues that a query covers. Throws if its exporter does not exist. */
export function queriedControls(controls: Controls, { exporter }: DeadLetterQuery): QueueControl[] {
  const wanted = exporter === undefined ? [...controls.values()] : [controlOf(controls, exporter)];
  return wanted.filter(hasQueue);
}

/**
 * Yields all dead letters that match a query, store by store, the oldest first. Ignores the query's limit and cursor.
 */
export async function* searchDeadLetters(controls: Controls, query: CheckedQuery): AsyncGenerator<LocatedEntry> {
  for (const control of queriedControls(controls, query))
    for await (const stored of findDeadLetters(control.store, query)) yield { ...stored, control };
}

/**
 * Yields the matches of one store, the oldest first, up to the entry `last`. Without this bound, new failures could
 * make the walk endless.
 */
export async function* findDeadLetters(
  store: QueueStore,
  query: CheckedQuery,
  last = Number.POSITIVE_INFINITY,
): AsyncGenerator<StoredEntry> {
  const matches = entryMatcher(store, query);
  for await (const page of pagesOfDeadLetters(store)) {
    yield* await matches(page.filter(({ ref }) => ref <= last));
    if ((page.at(-1)?.ref ?? 0) > last) return;
  }
}

/** Returns a function that keeps the entries that match all filters of a query. */
export function entryMatcher(
  store: QueueStore,
  query: CheckedQuery,
): (entries: readonly StoredEntry[]) => Promise<readonly StoredEntry[]> {
  const matches = queryMatcher(query);
  const { test } = query;
  return async (entries) => {
    const matching = entries.filter(({ entry }) => matches(entry));
    if (test === undefined) return matching;
    return matchRecords(
      store,
      matching.map((stored) => ({ ...stored, ...asSearched(stored) })),
      test,
    );
  };
}

/** Returns the dead letter with this ref; undefined if it no longer exists. */
export async function readDeadLetter(store: QueueStore, ref: EntryRef): Promise<StoredEntry | undefined> {
  const [stored] = await store.failed(ref - 1, 1, "oldest");
  return stored?.ref === ref ? stored : undefined;
}

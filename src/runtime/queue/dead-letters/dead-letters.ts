import { AdminError, type DeadLetterQuery, type Entry } from "#contract/operations";
import { glob } from "#contract/schema";
import { type ExporterControl, hasQueue, type QueueControl } from "../operate/exporter-control.js";
import type { EntryRef, QueueStore, StoredEntry } from "../store/store.js";
import { asSearched, matchRecords, recordTest } from "./search/record-test.js";

/** All exporters, with a queue or without, by id. */
export type Controls = ReadonlyMap<string, ExporterControl>;

/** A dead letter and where it is. */
export interface LocatedEntry extends StoredEntry {
  readonly control: QueueControl;
}

export const MAX_PAGE_SIZE = 1000;
export const READ_CHUNK_SIZE = 500;
/** Entries that are deleted in one write. */
export const DELETE_CHUNK_SIZE = 200;

/** True for the entries a query asks for. */
export function queryMatcher(query: DeadLetterQuery): (entry: Entry) => boolean {
  const { reason, category, signature, signal, since, until, event, deleted = false } = query;
  const isEvent = event === undefined ? undefined : glob(event);
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

/** It was deleted, and can be restored for a while. */
export function isDeleted({ deletedAt }: Entry): boolean {
  return deletedAt !== undefined;
}

/** Throws an `AdminError` when there is no such exporter. */
export function controlOf(controls: Controls, exporter: string): ExporterControl {
  const control = controls.get(exporter);
  if (control !== undefined) return control;
  const known = [...controls.keys()].join(", ") || "none";
  throw new AdminError("not_found", `there is no exporter ${JSON.stringify(exporter)}; there are: ${known}`);
}

/** The queues a query looks into. Rejects an exporter that is not there. */
export function queriedControls(controls: Controls, { exporter }: DeadLetterQuery): QueueControl[] {
  const wanted = exporter === undefined ? [...controls.values()] : [controlOf(controls, exporter)];
  return wanted.filter(hasQueue);
}

/** Goes through a store's dead letters; what comes or goes meanwhile does no harm. */
export async function* walkDeadLetters(
  store: QueueStore,
  order: "oldest" | "newest" = "oldest",
  after?: EntryRef,
): AsyncGenerator<StoredEntry> {
  for await (const page of pagesOfDeadLetters(store, order, after)) yield* page;
}

/** The same, as many at a time as are read together. */
export async function* pagesOfDeadLetters(
  store: QueueStore,
  order: "oldest" | "newest" = "oldest",
  after?: EntryRef,
  chunkSize = READ_CHUNK_SIZE,
): AsyncGenerator<readonly StoredEntry[]> {
  for (let position = after; ; ) {
    const page = await store.failed(position, chunkSize, order);
    yield page;
    const last = page.at(-1);
    if (last === undefined || page.length < chunkSize) return;
    position = last.ref;
  }
}

/** All dead letters a query finds, store by store, the oldest first; its limit and cursor are not looked at. */
export async function* searchDeadLetters(controls: Controls, query: DeadLetterQuery): AsyncGenerator<LocatedEntry> {
  for (const control of queriedControls(controls, query))
    for await (const stored of findDeadLetters(control.store, query)) yield { ...stored, control };
}

/** Those of one store, the oldest first, up to one of them: what fails meanwhile could otherwise make it endless. */
export async function* findDeadLetters(
  store: QueueStore,
  query: DeadLetterQuery,
  last = Number.POSITIVE_INFINITY,
): AsyncGenerator<StoredEntry> {
  const matches = entryMatcher(store, query);
  for await (const page of pagesOfDeadLetters(store)) {
    yield* await matches(page.filter(({ ref }) => ref <= last));
    if ((page.at(-1)?.ref ?? 0) > last) return;
  }
}

/** Those of some entries that match all filters of a query. */
export function entryMatcher(
  store: QueueStore,
  query: DeadLetterQuery,
): (entries: readonly StoredEntry[]) => Promise<readonly StoredEntry[]> {
  const matches = queryMatcher(query);
  const test = recordTest(query);
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

/** The dead letter of this ref; undefined when there is none any more. */
export async function readDeadLetter(store: QueueStore, ref: EntryRef): Promise<StoredEntry | undefined> {
  const [stored] = await store.failed(ref - 1, 1, "oldest");
  return stored?.ref === ref ? stored : undefined;
}

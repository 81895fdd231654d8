import { AdminError, type DeadLetterPage, type DeadLetterQuery, type Entry, glob } from "../../../runtime/kit.js";
import { type ExporterControl, hasQueue, type QueueControl } from "../operate/exporter-control.js";
import type { EntryRef, QueueStore, StoredEntry } from "../store/store.js";
import { decodeCursor, encodeCursor } from "./cursor.js";
import { payloadMatcher } from "./payload-matcher.js";

/** All exporters, with a queue or without, by id. */
export type Controls = ReadonlyMap<string, ExporterControl>;

/** A dead letter and where it is. */
export interface LocatedEntry extends StoredEntry {
  readonly control: QueueControl;
}

const DEFAULT_PAGE_SIZE = 50;
export const MAX_PAGE_SIZE = 1000;
const READ_CHUNK_SIZE = 500;
/** Entries that are deleted in one write. */
export const DELETE_CHUNK_SIZE = 200;
/** A filter that finds little must not make one answer take long: about a tenth of a second for so many. */
const MAX_SCANNED = 5000;
/** The same where the payload of each must be read. */
const MAX_PAYLOADS_SCANNED = 1000;

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

/** Goes through a store's dead letters page by page; what comes or goes meanwhile does no harm. */
export async function* walkDeadLetters(
  store: QueueStore,
  order: "oldest" | "newest" = "oldest",
  after?: EntryRef,
  chunkSize = READ_CHUNK_SIZE,
): AsyncGenerator<StoredEntry> {
  for (let position = after; ; ) {
    const page = await store.failed(position, chunkSize, order);
    yield* page;
    const last = page.at(-1);
    if (last === undefined || page.length < chunkSize) return;
    position = last.ref;
  }
}

/** The same with the filters that are about records. */
export function foundMatcher(query: DeadLetterQuery): (found: LocatedEntry) => boolean | Promise<boolean> {
  const matches = queryMatcher(query);
  const matchesPayload = payloadMatcher(query);
  if (matchesPayload === undefined) return ({ entry }) => matches(entry);
  return (found) => matches(found.entry) && matchesPayload(found);
}

/** All dead letters a query finds, store by store, the oldest first; its limit and cursor are not looked at. */
export async function* searchDeadLetters(controls: Controls, query: DeadLetterQuery): AsyncGenerator<LocatedEntry> {
  const matches = foundMatcher(query);
  for (const control of queriedControls(controls, query)) {
    for await (const stored of walkDeadLetters(control.store)) {
      const found = { ...stored, control };
      if (await matches(found)) yield found;
    }
  }
}

/**
 * One page of what a query finds, all stores merged by the time of the failure. When a filter finds little it ends early,
 * with a cursor: the next page goes on from there.
 */
export async function listPage(
  controls: Controls,
  query: DeadLetterQuery,
  maxScanned = MAX_SCANNED,
): Promise<DeadLetterPage> {
  const { limit = DEFAULT_PAGE_SIZE, order = "newest" } = query;
  const positions: Record<string, EntryRef> =
    query.cursor === undefined ? {} : { ...decodeCursor(query.cursor, query) };
  const matches = foundMatcher(query);
  const chunkSize = Math.min(isFiltered(query) ? READ_CHUNK_SIZE : limit + 1, READ_CHUNK_SIZE);
  const limitOfScan = payloadMatcher(query) === undefined ? maxScanned : Math.min(maxScanned, MAX_PAYLOADS_SCANNED);
  const sources = await Promise.all(
    queriedControls(controls, query).map((control) =>
      openMergeSource(control, order, positions[control.id], chunkSize),
    ),
  );
  const entries: Entry[] = [];
  for (let scanned = 0; ; scanned++) {
    const source = nextSource(sources, order);
    if (source?.stored === undefined) return { entries };
    const { ref, entry } = source.stored;
    const isMatch = await matches({ ...source.stored, control: source.control });
    if (scanned >= limitOfScan || (isMatch && entries.length === limit))
      return { entries, cursor: encodeCursor(positions, query) };
    if (isMatch) entries.push(entry);
    positions[source.id] = ref;
    await source.advance();
  }
}

function isFiltered({ exporter: _, limit: __, cursor: ___, order: ____, ...filters }: DeadLetterQuery): boolean {
  return Object.values(filters).some((value) => value !== undefined);
}

interface MergeSource {
  readonly id: string;
  readonly control: QueueControl;
  stored: StoredEntry | undefined;
  advance(): Promise<void>;
}

async function openMergeSource(
  control: QueueControl,
  order: "oldest" | "newest",
  after: EntryRef | undefined,
  chunkSize: number,
): Promise<MergeSource> {
  const { id, store } = control;
  const entries = walkDeadLetters(store, order, after, chunkSize);
  const source: MergeSource = {
    ...{ id, control },
    stored: undefined,
    async advance() {
      source.stored = (await entries.next()).value ?? undefined;
    },
  };
  await source.advance();
  return source;
}

/** The head whose entry comes next. */
function nextSource(sources: readonly MergeSource[], order: "oldest" | "newest"): MergeSource | undefined {
  const sign = order === "oldest" ? 1 : -1;
  let best: MergeSource | undefined;
  for (const source of sources) {
    if (source.stored === undefined) continue;
    if (best === undefined || sign * (failedAt(source) - failedAt(best)) < 0) best = source;
  }
  return best;
}

function failedAt({ stored }: MergeSource): number {
  return stored?.entry.failure?.at ?? 0;
}

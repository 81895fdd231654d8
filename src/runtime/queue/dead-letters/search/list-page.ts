import type { Clock } from "#contract";
import type { DeadLetterPage, Entry } from "#contract/operations";
import { waitAtMost } from "#contract/time";
import { pagesOfDeadLetters, READ_CHUNK_SIZE } from "../../store/dead-letter-access.js";
import type { EntryRef, QueueStore } from "../../store/store.js";
import { type Controls, entryMatcher, queriedControls, readDeadLetter } from "../dead-letters.js";
import type { QueueControl } from "../exporter-control.js";
import { decodeCursor, encodeCursor } from "./cursor.js";
import type { FailureIndexes } from "./failure-indexes.js";
import type { CheckedQuery } from "./match-records.js";

const DEFAULT_PAGE_SIZE = 50;
/** Limits the time of one page whose filter finds little: this many take about a tenth of a second. */
const MAX_SCANNED = 10_000;
/** The same limit while the index is still being read, so that each entry must be read and decoded. */
const MAX_WALKED = 1000;
/** The same limit in bytes of searched records. */
const MAX_BYTES_SCANNED = 64 * 1024 * 1024;
/**
 * The index is read on the first request. Most requests wait for it, because that is faster than reading each entry.
 * With very many dead letters, the page is found without the index.
 */
const MAX_WAIT_MS = 700;

interface ListServices {
  readonly indexes: FailureIndexes;
  readonly clock: Clock;
}

/** A match, or, without an entry, the position up to which everything has been searched. */
interface SearchProgress {
  readonly ref: EntryRef;
  readonly entry?: Entry;
  readonly looked?: number;
  readonly bytes?: number;
}

type SearchOrder = "oldest" | "newest";

/**
 * Returns one page of matches, with all stores merged by the time of failure. If a filter finds little, the page ends
 * early with a cursor from which the next page continues.
 */
export async function listPage(
  controls: Controls,
  query: CheckedQuery,
  { indexes, clock }: ListServices,
  maxScanned = MAX_SCANNED,
): Promise<DeadLetterPage> {
  const { limit = DEFAULT_PAGE_SIZE, order = "newest", cursor } = query;
  const positions = cursor === undefined ? {} : decodeCursor(cursor, query);
  const queried = queriedControls(controls, query);
  if (isFiltered(query)) await waitAtMost(MAX_WAIT_MS, indexes.ready(queried), clock);
  const sources = queried.map((control) => {
    const after = positions[control.id];
    if (isFiltered(query) && indexes.of(control).isComplete) {
      const found = findKnown(indexes, control, query, { order, after, maxScanned });
      return new MergeSource(control.id, found, after, maxScanned);
    }
    const chunkSize = Math.min(isFiltered(query) ? maxScanned : limit + 1, READ_CHUNK_SIZE);
    const found = walk(control.store, query, order, after, chunkSize);
    return new MergeSource(control.id, found, after, Math.min(maxScanned, MAX_WALKED));
  });
  await Promise.all(sources.map((source) => source.advance()));
  const entries: Entry[] = [];
  for (;;) {
    const source = nextSource(sources, order);
    const hasStopped = sources.some(({ isStopped }) => isStopped);
    if (hasStopped || (source !== undefined && entries.length === limit))
      return { entries, cursor: encodeCursor({ ...positions, ...positionsOf(sources) }, query) };
    if (source?.head === undefined) return { entries };
    entries.push(source.head.entry);
    await source.advance();
  }
}

function isFiltered({ exporter: _, limit: __, cursor: ___, order: ____, ...filters }: CheckedQuery): boolean {
  return Object.values(filters).some((value) => value !== undefined);
}

/** Finds matches by reading all entries. */
async function* walk(
  store: QueueStore,
  query: CheckedQuery,
  order: SearchOrder,
  after: EntryRef | undefined,
  chunkSize: number,
): AsyncGenerator<SearchProgress> {
  const matches = entryMatcher(store, query);
  for await (const page of pagesOfDeadLetters(store, order, after, chunkSize)) {
    yield* await matches(page);
    const bytes = query.test && page.reduce((sum, { entry }) => sum + entry.bytes, 0);
    if (page.length > 0) yield { ref: page.at(-1)!.ref, looked: page.length, bytes: bytes ?? 0 };
  }
}

/** Finds matches by the index. Only matches are read, and the records of those that the other filters leave. */
async function* findKnown(
  indexes: FailureIndexes,
  control: QueueControl,
  query: CheckedQuery,
  { order, after, maxScanned }: { order: SearchOrder; after: EntryRef | undefined; maxScanned: number },
): AsyncGenerator<SearchProgress> {
  const all = await indexes.matching(control, query);
  if (order === "newest") all.reverse();
  const refs = after === undefined ? all : all.filter((ref) => (order === "oldest" ? ref > after : ref < after));
  const { test } = query;
  const read = async (ref: EntryRef): Promise<SearchProgress> => (await readDeadLetter(control.store, ref)) ?? { ref };
  if (test === undefined) for (const ref of refs) yield await read(ref);
  else
    for await (const { found, looked, bytes, last } of indexes.search(control, refs, test, maxScanned)) {
      for (const ref of found) yield await read(ref);
      yield { ref: last, looked, bytes };
    }
}

/** The matches of one store, as far as it has been searched. */
class MergeSource {
  readonly id: string;
  /** The next match. */
  head: { readonly ref: EntryRef; readonly entry: Entry } | undefined;
  /** Whether the limit for one page was reached while there may be more matches. */
  isStopped = false;
  /** Everything up to this position is done. */
  position: EntryRef | undefined;
  private readonly found: AsyncGenerator<SearchProgress>;
  private readonly maxScanned: number;
  private scanned = 0;
  private scannedBytes = 0;

  constructor(id: string, found: AsyncGenerator<SearchProgress>, after: EntryRef | undefined, maxScanned: number) {
    this.id = id;
    this.found = found;
    this.position = after;
    this.maxScanned = maxScanned;
  }

  async advance(): Promise<void> {
    this.position = this.head?.ref ?? this.position;
    this.head = undefined;
    while (!this.isStopped) {
      const { value, done } = await this.found.next();
      if (done) return;
      const { ref, entry, looked = 0, bytes = 0 } = value;
      if (entry !== undefined) {
        this.head = { ref, entry };
        return;
      }
      this.position = ref;
      this.scanned += looked;
      this.scannedBytes += bytes;
      this.isStopped = this.scanned >= this.maxScanned || this.scannedBytes >= MAX_BYTES_SCANNED;
    }
  }
}

function positionsOf(sources: readonly MergeSource[]): Record<string, EntryRef> {
  return Object.fromEntries(
    sources.flatMap(({ id, position }) => (position === undefined ? [] : [[id, position] as const])),
  );
}

/** The source with the next entry in order. */
function nextSource(sources: readonly MergeSource[], order: SearchOrder): MergeSource | undefined {
  const sign = order === "oldest" ? 1 : -1;
  let best: MergeSource | undefined;
  for (const source of sources) {
    if (source.head === undefined) continue;
    if (best === undefined || sign * (failedAt(source) - failedAt(best)) < 0) best = source;
  }
  return best;
}

function failedAt({ head }: MergeSource): number {
  return head?.entry.failure?.at ?? 0;
}

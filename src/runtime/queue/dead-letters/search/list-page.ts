import type { Clock } from "#contract";
import { waitAtMost } from "#contract";
import type { DeadLetterPage, DeadLetterQuery, Entry } from "#contract/operations";
import type { QueueControl } from "../../operate/exporter-control.js";
import type { EntryRef, QueueStore } from "../../store/store.js";
import {
  type Controls,
  entryMatcher,
  pagesOfDeadLetters,
  queriedControls,
  READ_CHUNK_SIZE,
  readDeadLetter,
} from "../dead-letters.js";
import { decodeCursor, encodeCursor } from "./cursor.js";
import type { FailureIndexes } from "./failure-indexes.js";
import { recordTest } from "./record-test.js";

const DEFAULT_PAGE_SIZE = 50;
/** A filter that finds little must not make one answer take long: about a tenth of a second for so many. */
const MAX_SCANNED = 10_000;
/** The same where each has to be read and decoded to know what it is, while what is known of all is still being read. */
const MAX_WALKED = 1000;
/** The same by the size of the records that are looked into. */
const MAX_BYTES_SCANNED = 64 * 1024 * 1024;
/**
 * What is known of dead letters is read when it is first asked for. Most wait for that, which is sooner than to look at each;
 * where there are very many, a page is found without it.
 */
const MAX_WAIT_MS = 700;

export interface ListServices {
  readonly indexes: FailureIndexes;
  readonly clock: Clock;
}

/** What was found, or, without an entry, how far everything has been looked at. */
interface SearchProgress {
  readonly ref: EntryRef;
  readonly entry?: Entry;
  readonly looked?: number;
  readonly bytes?: number;
}

type SearchOrder = "oldest" | "newest";

/**
 * One page of what a query finds, all stores merged by the time of the failure. When a filter finds little it ends early,
 * with a cursor: the next page goes on from there.
 */
export async function listPage(
  controls: Controls,
  query: DeadLetterQuery,
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

function isFiltered({ exporter: _, limit: __, cursor: ___, order: ____, ...filters }: DeadLetterQuery): boolean {
  return Object.values(filters).some((value) => value !== undefined);
}

/** Finds matches by reading everything. */
async function* walk(
  store: QueueStore,
  query: DeadLetterQuery,
  order: SearchOrder,
  after: EntryRef | undefined,
  chunkSize: number,
): AsyncGenerator<SearchProgress> {
  const matches = entryMatcher(store, query);
  for await (const page of pagesOfDeadLetters(store, order, after, chunkSize)) {
    yield* await matches(page);
    const bytes = recordTest(query) && page.reduce((sum, { entry }) => sum + entry.bytes, 0);
    if (page.length > 0) yield { ref: page.at(-1)!.ref, looked: page.length, bytes: bytes ?? 0 };
  }
}

/** Finds matches by what is known of them: only those are read, and the records of those that the other filters leave. */
async function* findKnown(
  indexes: FailureIndexes,
  control: QueueControl,
  query: DeadLetterQuery,
  { order, after, maxScanned }: { order: SearchOrder; after: EntryRef | undefined; maxScanned: number },
): AsyncGenerator<SearchProgress> {
  const all = await indexes.matching(control, query);
  if (order === "newest") all.reverse();
  const refs = after === undefined ? all : all.filter((ref) => (order === "oldest" ? ref > after : ref < after));
  const test = recordTest(query);
  const read = async (ref: EntryRef): Promise<SearchProgress> => (await readDeadLetter(control.store, ref)) ?? { ref };
  if (test === undefined) for (const ref of refs) yield await read(ref);
  else
    for await (const { found, looked, bytes, last } of indexes.search(control, refs, test, maxScanned)) {
      for (const ref of found) yield await read(ref);
      yield { ref: last, looked, bytes };
    }
}

/** What is found in one store, as far as it has been looked for. */
class MergeSource {
  readonly id: string;
  /** The next that was found. */
  head: { readonly ref: EntryRef; readonly entry: Entry } | undefined;
  /** It has looked at as many as one page may, and there may be more. */
  isStopped = false;
  /** All up to here is done with. */
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

/** The source whose entry comes next. */
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

import type { Entry } from "#contract/operations";
import { Batch } from "#otlp";
import { type EntryHead, type EntryInfo, infoOf, type Meta } from "../format/entry.js";
import { decodeFacts, factsOf } from "../format/failure-facts.js";
import {
  chunkKey,
  endOfRange,
  idKey,
  type KeyRange,
  RANGES,
  refKey,
  refOf,
  unframe,
  unframeBytes,
} from "../format/layout.js";
import type { EntryRef, StoredEntry, StoredFacts, WantedPayload } from "../store.js";
import type { LevelDb } from "./level-db.js";
import { withKnownFailure } from "./open/lost-failure.js";

/** An entry that cannot be read. Callers that catch it set the entry aside and continue. */
export class UnreadableEntryError extends Error {
  override readonly name = "UnreadableEntry";
  readonly ref: EntryRef;

  constructor(ref: EntryRef) {
    super(`entry ${ref} of the queue cannot be read`);
    this.ref = ref;
  }
}

export interface FoundEntry extends StoredEntry {
  readonly info: EntryInfo;
  /** The payload, if it was read together with the entry. */
  readonly batch?: Batch;
}

/** Returns an entry by its ref, in any state; undefined if there is none. */
export async function loadEntry(db: LevelDb, ref: EntryRef): Promise<FoundEntry | undefined> {
  const [f, h, u] = await db.getMany([
    refKey(RANGES.failed, ref),
    refKey(RANGES.moved, ref),
    refKey(RANGES.update, ref),
  ]);
  if (h !== undefined) return undefined;
  const p = f === undefined ? await db.get(refKey(RANGES.entry, ref)) : undefined;
  if (f === undefined && p === undefined) return undefined;
  const head =
    f === undefined ? decodeHead<EntryHead>(RANGES.entry, ref, p) : decodeHead<EntryHead>(RANGES.failed, ref, f);
  if (head === undefined) throw new UnreadableEntryError(ref);
  const now = f === undefined ? (decodeHead<EntryHead>(RANGES.update, ref, u) ?? head) : head;
  return { ref, entry: withKnownFailure(now.entry), info: infoOf(ref, now, u !== undefined) };
}

/** Returns the ref of an id that does not contain it. */
export async function findRefById(db: LevelDb, id: string): Promise<EntryRef | undefined> {
  const known = decodeHead<{ id: string; ref: EntryRef }>(RANGES.id, 0, await db.get(idKey(id)));
  return known?.id === id ? known.ref : undefined;
}

export async function loadPayload(db: LevelDb, ref: EntryRef, info: EntryInfo): Promise<Batch> {
  const { origin, chunks } = info;
  const rest = Array.from({ length: chunks }, (_, i) => chunkKey(origin, i + 1));
  const [p, ...more] = await db.getMany([refKey(RANGES.entry, origin), ...rest]);
  const first = p === undefined ? undefined : unframe(RANGES.entry, origin, 0, p);
  if (first === undefined) throw new UnreadableEntryError(ref);
  const furtherBodies = more.map((value, i) => {
    const chunk = value === undefined ? undefined : unframe(RANGES.chunk, origin, i + 1, value);
    if (chunk === undefined) throw new UnreadableEntryError(ref);
    return chunk.body;
  });
  const { entry } = first.head as EntryHead;
  const bytes = furtherBodies.length === 0 ? first.body : Buffer.concat([first.body, ...furtherBodies]);
  return Batch.trusted(entry.signal, bytes, entry.items);
}

/**
 * Reads payloads that are completely in the value of their entry, together and without decoding the head. Returns
 * undefined for others: those in several chunks, of replayed entries, missing or damaged.
 */
export async function loadWholePayloads(db: LevelDb, wanted: readonly WantedPayload[]): Promise<(Batch | undefined)[]> {
  const values = await db.getMany(wanted.map(({ ref }) => refKey(RANGES.entry, ref)));
  return wanted.map(({ ref, signal, items }, i) => {
    const body = values[i] && wholeBody(ref, values[i]);
    return body && Batch.trusted(signal, body, items);
  });
}

/** The end of an entry's head that says that there are no further chunks. */
const END_WITHOUT_CHUNKS = Buffer.from('"chunks":0}');

function wholeBody(ref: EntryRef, value: Uint8Array): Buffer | undefined {
  const read = unframeBytes(RANGES.entry, ref, 0, value);
  return read?.head.subarray(-END_WITHOUT_CHUNKS.length).equals(END_WITHOUT_CHUNKS) ? read.body : undefined;
}

/** Yields pending entries from a ref on, page by page. Skips entries that are not pending without reading them. */
export async function* pendingFrom(db: LevelDb, from: EntryRef, meta: Meta): AsyncGenerator<FoundEntry[]> {
  const hasNonPending = meta.failed.entries + meta.moved > 0;
  for await (const rows of hasNonPending ? pendingRows(db, from) : scanRows(db, RANGES.entry, from)) {
    if (rows.length === 0) continue;
    const changed = await updatesBetween(db, refOf(rows[0]![0]), refOf(rows.at(-1)![0]));
    yield rows.map(([key, value]) => pendingEntry(refOf(key), value, changed));
  }
}

/** The lowest pending ref from a ref on. */
export async function firstPending(db: LevelDb, from: EntryRef, meta: Meta): Promise<EntryRef | undefined> {
  const hasNonPending = meta.failed.entries + meta.moved > 0;
  for await (const page of scanKeys(db, RANGES.entry, from, undefined, hasNonPending ? 128 : 1)) {
    const refs = await pendingRefs(db, page.map(refOf), hasNonPending);
    if (refs[0] !== undefined) return refs[0];
  }
  return undefined;
}

/** Failed entries after a ref, in either order. */
export async function failedAfter(
  db: LevelDb,
  after: EntryRef | undefined,
  limit: number,
  order: "oldest" | "newest",
  meta: Meta,
): Promise<FoundEntry[]> {
  const rows = await db.iterator({ ...failedRange(after, order, meta), limit }).all();
  return rows.map(([key, value]) => {
    const ref = refOf(key);
    const head = decodeHead<EntryHead>(RANGES.failed, ref, value);
    if (head === undefined) throw new UnreadableEntryError(ref);
    return { ref, entry: withKnownFailure(head.entry), info: infoOf(ref, head, false) };
  });
}

/** Like `failedAfter`, the oldest first, but decodes only the facts. */
export async function failedFactsAfter(
  db: LevelDb,
  after: EntryRef | undefined,
  limit: number,
  meta: Meta,
): Promise<StoredFacts[]> {
  const range = failedRange(after, "oldest", meta);
  const rows = await db.iterator({ ...range, limit, highWaterMarkBytes: FACTS_BYTES }).all();
  return rows.map(([key, value]) => {
    const ref = refOf(key);
    const read = unframeBytes(RANGES.failed, ref, 0, value);
    if (read === undefined) throw new UnreadableEntryError(ref);
    const entry = () => withKnownFailure((JSON.parse(read.head.toString()) as EntryHead).entry);
    return { ref, facts: decodeFacts(read.body) ?? factsOf(entry()), entry };
  });
}

/**
 * Bytes of facts per read. With LevelDB's default of 16 KB a third of the time is spent on requesting the next page.
 * With much more than this, others wait too long for the thread.
 */
const FACTS_BYTES = 128 * 1024;

function failedRange(after: EntryRef | undefined, order: "oldest" | "newest", { failedHead }: Meta) {
  const [lowest, end] = [refKey(RANGES.failed, failedHead), endOfRange(RANGES.failed)];
  if (order === "oldest") return { gte: after === undefined ? lowest : refKey(RANGES.failed, after + 1), lt: end };
  return { gte: lowest, lt: after === undefined ? end : refKey(RANGES.failed, after), reverse: true };
}

function pendingEntry(ref: EntryRef, value: Uint8Array, changed: ReadonlyMap<EntryRef, Entry>): FoundEntry {
  const read = unframe(RANGES.entry, ref, 0, value);
  if (read === undefined) throw new UnreadableEntryError(ref);
  const head = read.head as EntryHead;
  const now = changed.get(ref);
  const entry = now ?? head.entry;
  const found = { ref, entry, info: infoOf(ref, { ...head, entry }, now !== undefined) };
  if (head.chunks > 0 || head.origin !== undefined) return found;
  return { ...found, batch: Batch.trusted(entry.signal, read.body, head.entry.items) };
}

async function updatesBetween(db: LevelDb, first: EntryRef, last: EntryRef): Promise<Map<EntryRef, Entry>> {
  const found = new Map<EntryRef, Entry>();
  for await (const page of scanRows(db, RANGES.update, first, last))
    for (const [key, value] of page) {
      const head = decodeHead<EntryHead>(RANGES.update, refOf(key), value);
      if (head !== undefined) found.set(refOf(key), head.entry);
    }
  return found;
}

async function* pendingRows(db: LevelDb, from: EntryRef): AsyncGenerator<[Uint8Array, Uint8Array][]> {
  for await (const page of scanKeys(db, RANGES.entry, from, undefined, 128)) {
    const refs = await pendingRefs(db, page.map(refOf), true);
    for (let i = 0; i < refs.length; i += 64) {
      const keys = refs.slice(i, i + 64).map((ref) => refKey(RANGES.entry, ref));
      const values = await db.getMany(keys);
      yield keys.flatMap((key, k): [Uint8Array, Uint8Array][] => (values[k] === undefined ? [] : [[key, values[k]]]));
    }
  }
}

/** Returns those of ascending refs that are neither failed nor only hold a replayed entry's payload. */
async function pendingRefs(
  db: LevelDb,
  refs: readonly EntryRef[],
  hasNonPending: boolean,
): Promise<readonly EntryRef[]> {
  const [first, last] = [refs[0], refs.at(-1)];
  if (!hasNonPending || first === undefined || last === undefined) return refs;
  const [failed, moved] = await Promise.all([
    scanRefs(db, RANGES.failed, first, last),
    scanRefs(db, RANGES.moved, first, last),
  ]);
  return refs.filter((ref) => !failed.has(ref) && !moved.has(ref));
}

/** Yields the keys of a range between two refs, both included, in pages of growing size. */
export async function* scanKeys(
  db: LevelDb,
  range: KeyRange,
  from: EntryRef,
  to?: EntryRef,
  firstPageSize = 1000,
): AsyncGenerator<Uint8Array[]> {
  const keys = db.keys({ gte: refKey(range, from), lt: to === undefined ? endOfRange(range) : refKey(range, to + 1) });
  try {
    for (let size = firstPageSize; ; size = Math.min(4096, size * 4)) {
      const page = await keys.nextv(size);
      if (page.length === 0) return;
      yield page;
    }
  } finally {
    await keys.close();
  }
}

async function scanRefs(db: LevelDb, range: KeyRange, from: EntryRef, to: EntryRef): Promise<Set<EntryRef>> {
  const found = new Set<EntryRef>();
  for await (const page of scanKeys(db, range, from, to)) for (const key of page) found.add(refOf(key));
  return found;
}

/**
 * Yields the rows of a range from a ref on, page by page. Pages are small because values may be large. An open iterator
 * keeps removed data on disk, so none is kept open for long.
 */
export async function* scanRows(
  db: LevelDb,
  range: KeyRange,
  from: EntryRef,
  to?: EntryRef,
): AsyncGenerator<[Uint8Array, Uint8Array][]> {
  const lt = to === undefined ? endOfRange(range) : refKey(range, to + 1);
  for (let gte: Uint8Array | undefined = refKey(range, from); gte !== undefined; ) {
    const rows = db.iterator({ gte, lt, highWaterMarkBytes: PAGE_BYTES });
    gte = undefined;
    try {
      for (let bytes = 0; bytes < ITERATOR_BYTES; ) {
        const page = await rows.nextv(64);
        if (page.length === 0) return;
        for (const [, value] of page) bytes += value.length;
        gte = keyAfter(page.at(-1)![0]);
        yield page;
      }
    } finally {
      await rows.close();
    }
  }
}

/** The first possible key after this one. */
function keyAfter(key: Uint8Array): Uint8Array {
  return Buffer.concat([key, Buffer.of(0)]);
}

/** Returns the head of a value; undefined if there is none or it is damaged. */
export function decodeHead<T>(range: KeyRange, ref: EntryRef, value: Uint8Array | undefined): T | undefined {
  return value === undefined ? undefined : (unframe(range, ref, 0, value)?.head as T | undefined);
}

const PAGE_BYTES = 4 * 1024 * 1024;
const ITERATOR_BYTES = 16 * 1024 * 1024;

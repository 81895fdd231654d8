import { unframe } from "../format/frame.js";
import { endOfRange, type KeyRange, refKey, refOf } from "../format/keys.js";
import type { EntryRef } from "../store.js";
import type { LevelDb } from "./level-db.js";

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

export async function scanRefs(db: LevelDb, range: KeyRange, from: EntryRef, to: EntryRef): Promise<Set<EntryRef>> {
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

import { type EntryHead, type EntryInfo, entryId, infoOf, type Meta } from "../format/entry.js";
import { chunkNumberOf, RANGES, rangeOf, refKey, refOf } from "../format/layout.js";
import type { EntryRef } from "../store.js";
import type { LevelDb } from "./level-db.js";
import { decodeHead, scanKeys, scanRows } from "./reader.js";

/** The remains of an entry that cannot be read. */
interface DamagedEntry {
  /** Known or estimated facts about the entry; undefined if nothing is left of it. */
  readonly info: EntryInfo | undefined;
  readonly values: readonly (readonly [Uint8Array, Uint8Array])[];
  /** Where the payload may still be, if the entry was replayed and its origin cannot be read. */
  readonly possibleOrigin: EntryRef | undefined;
}

export async function loadDamagedEntry(db: LevelDb, ref: EntryRef, meta: Meta): Promise<DamagedEntry> {
  const entryValues = await existingRows(db, [
    refKey(RANGES.entry, ref),
    refKey(RANGES.failed, ref),
    refKey(RANGES.update, ref),
  ]);
  const heads = entryValues.map(([key, value]) => decodeHead<EntryHead>(rangeOf(key), ref, value));
  const readable = heads.findLast((found) => found !== undefined);
  const origin = readable?.origin ?? ref;
  const chunkKeys: Uint8Array[] = [];
  for await (const page of scanKeys(db, RANGES.chunk, origin, origin)) chunkKeys.push(...page);
  const payloadValues = await existingRows(
    db,
    origin === ref ? chunkKeys : [refKey(RANGES.entry, origin), ...chunkKeys],
  );
  const chunks = Math.max(0, ...chunkKeys.map(chunkNumberOf));
  const failed = entryValues.some(([key]) => rangeOf(key) === RANGES.failed);
  const changed = entryValues.some(([key]) => rangeOf(key) === RANGES.update);
  const info = readable === undefined ? averageInfo(ref, failed, chunks, meta) : infoOf(ref, readable, changed);
  return {
    info: entryValues.length === 0 ? undefined : { ...info, state: failed ? "failed" : "pending", changed },
    values: [...entryValues, ...payloadValues],
    possibleOrigin: readable === undefined ? await findOrigin(db, ref) : undefined,
  };
}

async function existingRows(db: LevelDb, keys: readonly Uint8Array[]): Promise<[Uint8Array, Uint8Array][]> {
  const values = await db.getMany([...keys]);
  return keys.flatMap((key, i): [Uint8Array, Uint8Array][] => (values[i] === undefined ? [] : [[key, values[i]]]));
}

/** An average entry, which keeps the counters approximately right. */
function averageInfo(ref: EntryRef, failed: boolean, chunks: number, meta: Meta): EntryInfo {
  const { entries, items, bytes } = failed ? meta.failed : meta.pending;
  const count = Math.max(1, entries);
  return {
    id: entryId(meta.tag, ref),
    state: "pending",
    items: Math.floor(items / count),
    bytes: Math.floor(bytes / count),
    enqueuedAt: 0,
    chunks,
    origin: ref,
    changed: false,
  };
}

async function findOrigin(db: LevelDb, owner: EntryRef): Promise<EntryRef | undefined> {
  for await (const page of scanRows(db, RANGES.moved, 0))
    for (const [key, value] of page)
      if (decodeHead<{ owner: EntryRef }>(RANGES.moved, refOf(key), value)?.owner === owner) return refOf(key);
  return undefined;
}

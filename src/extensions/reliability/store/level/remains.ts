import { entryId } from "../new-entry.js";
import type { EntryRef } from "../store.js";
import { type EntryHead, type Info, infoOf } from "./entry-value.js";
import { numberOf, refKey, refOf } from "./keys.js";
import type { LevelDb } from "./level-db.js";
import type { Meta } from "./meta.js";
import { headIn, keysOf, valuesOf } from "./scan.js";

/** What is left of an entry that cannot be read. */
export interface Remains {
  /** As much as can still be known, or guessed; undefined when there is nothing left at all. */
  readonly info: Info | undefined;
  readonly values: readonly (readonly [Uint8Array, Uint8Array])[];
  /** Where its payload may still be, when the entry had been replayed and does not tell any more. */
  readonly holder: EntryRef | undefined;
}

export async function remainsOf(db: LevelDb, ref: EntryRef, meta: Meta): Promise<Remains> {
  const own = await existing(db, [refKey("p", ref), refKey("f", ref), refKey("u", ref)]);
  const head = own.map(([key, value]) => headIn<EntryHead>(key[0] === F ? "f" : key[0] === U ? "u" : "p", ref, value));
  const readable = head.findLast((found) => found !== undefined);
  const origin = readable?.origin ?? ref;
  const chunkKeys: Uint8Array[] = [];
  for await (const page of keysOf(db, "c", origin, origin)) chunkKeys.push(...page);
  const others = await existing(db, origin === ref ? chunkKeys : [refKey("p", origin), ...chunkKeys]);
  const chunks = Math.max(0, ...chunkKeys.map(numberOf));
  const failed = own.some(([key]) => key[0] === F);
  const changed = own.some(([key]) => key[0] === U);
  const info = readable === undefined ? guess(ref, failed, chunks, meta) : infoOf(ref, readable, changed);
  return {
    info: own.length === 0 ? undefined : { ...info, state: failed ? "failed" : "pending", changed },
    values: [...own, ...others],
    holder: readable === undefined ? await holderOf(db, ref) : undefined,
  };
}

const F = "f".charCodeAt(0);
const U = "u".charCodeAt(0);

async function existing(db: LevelDb, keys: readonly Uint8Array[]): Promise<[Uint8Array, Uint8Array][]> {
  const values = await db.getMany([...keys]);
  return keys.flatMap((key, i): [Uint8Array, Uint8Array][] => (values[i] === undefined ? [] : [[key, values[i]]]));
}

/** An average entry: the counters stay about right. */
function guess(ref: EntryRef, failed: boolean, chunks: number, meta: Meta): Info {
  const { entries, items, bytes } = failed ? meta.failed : meta.pending;
  const share = Math.max(1, entries);
  return {
    id: entryId(meta.tag, ref),
    state: "pending",
    items: Math.floor(items / share),
    bytes: Math.floor(bytes / share),
    enqueuedAt: 0,
    chunks,
    origin: ref,
    changed: false,
  };
}

async function holderOf(db: LevelDb, owner: EntryRef): Promise<EntryRef | undefined> {
  for await (const page of valuesOf(db, "h", 0))
    for (const [key, value] of page)
      if (headIn<{ owner: EntryRef }>("h", refOf(key), value)?.owner === owner) return refOf(key);
  return undefined;
}

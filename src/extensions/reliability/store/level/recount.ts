import { counted, NOTHING } from "../amounts.js";
import type { Amount, EntryRef } from "../store.js";
import { type EntryHead, isIndexed } from "./entry-value.js";
import { frame } from "./frame.js";
import { idKey, numberOf, refKey, refOf, remainsKey } from "./keys.js";
import type { LevelDb } from "./level-db.js";
import { headIn, keysOf, valuesOf } from "./scan.js";
import type { Writes } from "./transaction.js";

export interface Recount {
  readonly pending: Amount;
  readonly failed: Amount;
  readonly moved: number;
  /** The greatest ref found, and entries that had to be set aside. */
  readonly last: EntryRef;
  readonly corrupt: number;
}

/**
 * Reads a whole store after damage, puts in order what does not fit together any more, and counts what is left: a lost
 * commit may have taken one half of something whose other half came before or after it. Reads every byte, so it is not
 * for healthy stores.
 */
export async function recount(db: LevelDb): Promise<Recount> {
  const writes = new PagedWrites(db);
  const chunks = await chunkCounts(db);
  const holders = await headsOf<{ owner: EntryRef }>(db, "h", writes);
  const failed = await headsOf<EntryHead>(db, "f", writes);
  const entries = new Map<EntryRef, EntryHead>();
  let last = 0;
  let corrupt = failed.damaged;
  for await (const page of valuesOf(db, "p", 0)) {
    for (const [key, value] of page) {
      const ref = refOf(key);
      last = Math.max(last, ref);
      const head = headIn<EntryHead>("p", ref, value);
      if (head !== undefined && (head.origin !== undefined || (chunks.get(ref) ?? 0) >= head.chunks)) {
        entries.set(ref, head);
        continue;
      }
      corrupt++;
      writes.put(remainsKey(ref, key), value);
      writes.del(key);
    }
    await writes.flush();
  }
  corrupt += dropWithoutPayload(entries, writes);
  const moved = settleHolders(entries, holders.heads, writes);
  dropReplayed(moved, failed.heads, writes);
  corrupt += dropOrphans(entries, failed.heads, writes);
  for (const ref of chunks.keys()) if (!entries.has(ref)) dropChunks(writes, ref, chunks.get(ref)!);
  for await (const page of keysOf(db, "u", 0)) for (const key of page) if (!entries.has(refOf(key))) writes.del(key);
  indexIds(entries, moved, writes);
  await writes.flush();
  return { ...count(entries, moved, failed.heads), last, corrupt };
}

/** Replayed entries whose payload is gone. */
function dropWithoutPayload(entries: Map<EntryRef, EntryHead>, writes: Writes): number {
  let dropped = 0;
  for (const [ref, head] of entries) {
    if (head.origin === undefined || entries.has(head.origin)) continue;
    entries.delete(ref);
    dropped++;
    writes.put(remainsKey(ref, refKey("p", ref)), frame("p", ref, 0, head, []));
    writes.del(refKey("p", ref));
  }
  return dropped;
}

/** The payloads that belong to replayed entries, with their marks as they should be. */
function settleHolders(
  entries: ReadonlyMap<EntryRef, EntryHead>,
  marked: ReadonlyMap<EntryRef, { owner: EntryRef }>,
  writes: Writes,
): Set<EntryRef> {
  const owners = new Map<EntryRef, EntryRef>();
  for (const [ref, { origin }] of entries) if (origin !== undefined) owners.set(origin, ref);
  for (const origin of marked.keys()) if (!owners.has(origin)) writes.del(refKey("h", origin));
  for (const [origin, owner] of owners)
    if (marked.get(origin)?.owner !== owner) writes.put(refKey("h", origin), frame("h", origin, 0, { owner }, []));
  return new Set(owners.keys());
}

/** Dead letters that were replayed since: the mark that removed them is what was lost. */
function dropReplayed(moved: ReadonlySet<EntryRef>, failed: Map<EntryRef, EntryHead>, writes: Writes): void {
  for (const ref of moved) if (failed.delete(ref)) writes.del(refKey("f", ref));
}

/** Dead letters without a payload. */
function dropOrphans(
  entries: ReadonlyMap<EntryRef, EntryHead>,
  failed: Map<EntryRef, EntryHead>,
  writes: Writes,
): number {
  let dropped = 0;
  for (const [ref, head] of failed) {
    if (entries.has(ref)) continue;
    failed.delete(ref);
    dropped++;
    writes.put(remainsKey(ref, refKey("f", ref)), frame("f", ref, 0, head, []));
    writes.del(refKey("f", ref));
  }
  return dropped;
}

/** Makes replayed and imported entries findable, should the commit that did so be lost. */
function indexIds(entries: ReadonlyMap<EntryRef, EntryHead>, moved: ReadonlySet<EntryRef>, writes: Writes): void {
  for (const [ref, { entry }] of entries)
    if (!moved.has(ref) && isIndexed(entry.id, ref))
      writes.put(idKey(entry.id), frame("i", 0, 0, { id: entry.id, ref }, []));
}

function dropChunks(writes: Writes, ref: EntryRef, count: number): void {
  const key = refKey("c", ref);
  for (let n = 1; n <= count; n++) writes.del(Buffer.concat([key, Buffer.from([0, 0, n >>> 8, n & 255])]));
}

function count(
  entries: ReadonlyMap<EntryRef, EntryHead>,
  moved: ReadonlySet<EntryRef>,
  failed: ReadonlyMap<EntryRef, EntryHead>,
): Pick<Recount, "pending" | "failed" | "moved"> {
  let pending = NOTHING;
  let dead = NOTHING;
  for (const [ref, { entry }] of entries) {
    if (moved.has(ref)) continue;
    const failedHead = failed.get(ref);
    if (failedHead === undefined) pending = counted(pending, entry, 1);
    else dead = counted(dead, failedHead.entry, 1);
  }
  return { pending, failed: dead, moved: moved.size };
}

/** Highest chunk number of each payload, if all before it are there too. */
async function chunkCounts(db: LevelDb): Promise<Map<EntryRef, number>> {
  const counts = new Map<EntryRef, number>();
  for await (const page of keysOf(db, "c", 0))
    for (const key of page) {
      const ref = refOf(key);
      if (numberOf(key) === (counts.get(ref) ?? 0) + 1) counts.set(ref, numberOf(key));
    }
  return counts;
}

async function headsOf<T>(db: LevelDb, range: "f" | "h", writes: PagedWrites) {
  const heads = new Map<EntryRef, T>();
  let damaged = 0;
  for await (const page of valuesOf(db, range, 0))
    for (const [key, value] of page) {
      const head = headIn<T>(range, refOf(key), value);
      if (head !== undefined) heads.set(refOf(key), head);
      else {
        damaged++;
        writes.put(remainsKey(refOf(key), key), value);
        writes.del(key);
      }
    }
  await writes.flush();
  return { heads, damaged };
}

/** Writes that are made a page at a time. */
class PagedWrites implements Writes {
  private readonly db: LevelDb;
  private batch: ReturnType<LevelDb["batch"]>;

  constructor(db: LevelDb) {
    this.db = db;
    this.batch = db.batch();
  }

  put(key: Uint8Array, value: Uint8Array): void {
    this.batch.put(key, value);
  }

  del(key: Uint8Array): void {
    this.batch.del(key);
  }

  async flush(): Promise<void> {
    await this.batch.write({ sync: true });
    this.batch = this.db.batch();
  }
}

import { addRef, adjustAmount, type EntryHead, isIndexed, NO_REFS, type RefSum } from "../../format/entry.js";
import {
  chunkKey,
  chunkNumberOf,
  frame,
  idKey,
  type KeyRange,
  quarantineKey,
  RANGES,
  refKey,
  refOf,
} from "../../format/layout.js";
import { type Amount, type EntryRef, ZERO_AMOUNT } from "../../store.js";
import type { LevelDb } from "../level-db.js";
import { decodeHead, scanKeys, scanRows } from "../reader.js";
import type { KeyValueWriter } from "../transaction.js";

interface RecountResult {
  readonly pending: Amount;
  readonly failed: Amount;
  readonly moved: number;
  /** The greatest ref found, and the number of entries that had to be set aside (`corrupt`). */
  readonly last: EntryRef;
  readonly corrupt: number;
  /** The existing entries. `setAside` has those that could not be read. */
  readonly refs: ReadonlySet<EntryRef>;
  readonly setAside: ReadonlySet<EntryRef>;
  readonly refSum: RefSum;
}

/**
 * Reads the whole store after damage, fixes inconsistencies and counts what is left. A lost commit may have taken one
 * half of a change whose other half was written before or after it. This reads every byte, so it is not used for
 * healthy stores.
 */
export async function recount(db: LevelDb): Promise<RecountResult> {
  const writer = new PagedWriter(db);
  const chunks = await chunkCounts(db);
  const ownerMarks = await loadHeads<{ owner: EntryRef }>(db, RANGES.moved, writer);
  const failed = await loadHeads<EntryHead>(db, RANGES.failed, writer);
  const entries = new Map<EntryRef, EntryHead>();
  const setAside = new Set<EntryRef>();
  let last = 0;
  let corrupt = failed.damaged;
  for await (const page of scanRows(db, RANGES.entry, 0)) {
    for (const [key, value] of page) {
      const ref = refOf(key);
      last = Math.max(last, ref);
      const head = decodeHead<EntryHead>(RANGES.entry, ref, value);
      if (head !== undefined && (head.origin !== undefined || (chunks.get(ref) ?? 0) >= head.chunks)) {
        entries.set(ref, head);
        continue;
      }
      corrupt++;
      setAside.add(ref);
      writer.put(quarantineKey(ref, key), value);
      writer.del(key);
    }
    await writer.flush();
  }
  const withoutPayload = dropWithoutPayload(entries, writer);
  const moved = fixOwnerMarks(entries, ownerMarks.heads, writer);
  dropReplayed(moved, failed.heads, writer);
  const orphans = dropOrphans(entries, failed.heads, writer);
  corrupt += withoutPayload.length + orphans.length;
  for (const ref of [...withoutPayload, ...orphans]) setAside.add(ref);
  for (const [ref, counted] of chunks) if (!entries.has(ref)) dropChunks(writer, ref, counted);
  for await (const page of scanKeys(db, RANGES.update, 0))
    for (const key of page) if (!entries.has(refOf(key))) writer.del(key);
  indexIds(entries, moved, writer);
  await writer.flush();
  const refs = new Set([...entries.keys()].filter((ref) => !moved.has(ref)));
  let refSum = NO_REFS;
  for (const ref of refs) refSum = addRef(refSum, ref);
  return { ...count(entries, moved, failed.heads), last, corrupt, refs, setAside, refSum };
}

/** Removes replayed entries whose payload is gone. */
function dropWithoutPayload(entries: Map<EntryRef, EntryHead>, writer: KeyValueWriter): EntryRef[] {
  const dropped: EntryRef[] = [];
  for (const [ref, head] of entries) {
    if (head.origin === undefined || entries.has(head.origin)) continue;
    entries.delete(ref);
    dropped.push(ref);
    writer.put(quarantineKey(ref, refKey(RANGES.entry, ref)), frame(RANGES.entry, ref, 0, head, []));
    writer.del(refKey(RANGES.entry, ref));
  }
  return dropped;
}

/** Corrects the marks of payloads that belong to replayed entries, and returns these payloads. */
function fixOwnerMarks(
  entries: ReadonlyMap<EntryRef, EntryHead>,
  ownerMarks: ReadonlyMap<EntryRef, { owner: EntryRef }>,
  writer: KeyValueWriter,
): Set<EntryRef> {
  const owners = new Map<EntryRef, EntryRef>();
  for (const [ref, { origin }] of entries) if (origin !== undefined) owners.set(origin, ref);
  for (const origin of ownerMarks.keys()) if (!owners.has(origin)) writer.del(refKey(RANGES.moved, origin));
  for (const [origin, owner] of owners)
    if (ownerMarks.get(origin)?.owner !== owner)
      writer.put(refKey(RANGES.moved, origin), frame(RANGES.moved, origin, 0, { owner }, []));
  return new Set(owners.keys());
}

/** Removes dead letters that were replayed later, because their removal was lost. */
function dropReplayed(moved: ReadonlySet<EntryRef>, failed: Map<EntryRef, EntryHead>, writer: KeyValueWriter): void {
  for (const ref of moved) if (failed.delete(ref)) writer.del(refKey(RANGES.failed, ref));
}

/** Removes dead letters without a payload. */
function dropOrphans(
  entries: ReadonlyMap<EntryRef, EntryHead>,
  failed: Map<EntryRef, EntryHead>,
  writer: KeyValueWriter,
): EntryRef[] {
  const dropped: EntryRef[] = [];
  for (const [ref, head] of failed) {
    if (entries.has(ref)) continue;
    failed.delete(ref);
    dropped.push(ref);
    writer.put(quarantineKey(ref, refKey(RANGES.failed, ref)), frame(RANGES.failed, ref, 0, head, []));
    writer.del(refKey(RANGES.failed, ref));
  }
  return dropped;
}

/** Indexes the ids of replayed and imported entries, in case the commit that did so was lost. */
function indexIds(
  entries: ReadonlyMap<EntryRef, EntryHead>,
  moved: ReadonlySet<EntryRef>,
  writer: KeyValueWriter,
): void {
  for (const [ref, { entry }] of entries)
    if (!moved.has(ref) && isIndexed(entry.id, ref))
      writer.put(idKey(entry.id), frame(RANGES.id, 0, 0, { id: entry.id, ref }, []));
}

function dropChunks(writer: KeyValueWriter, ref: EntryRef, count: number): void {
  for (let n = 1; n <= count; n++) writer.del(chunkKey(ref, n));
}

function count(
  entries: ReadonlyMap<EntryRef, EntryHead>,
  moved: ReadonlySet<EntryRef>,
  failed: ReadonlyMap<EntryRef, EntryHead>,
): Pick<RecountResult, "pending" | "failed" | "moved"> {
  let pending = ZERO_AMOUNT;
  let failedAmount = ZERO_AMOUNT;
  for (const [ref, { entry }] of entries) {
    if (moved.has(ref)) continue;
    const failedHead = failed.get(ref);
    if (failedHead === undefined) pending = adjustAmount(pending, entry, 1);
    else failedAmount = adjustAmount(failedAmount, failedHead.entry, 1);
  }
  return { pending, failed: failedAmount, moved: moved.size };
}

/** The highest chunk number of each payload for which all earlier chunks exist. */
async function chunkCounts(db: LevelDb): Promise<Map<EntryRef, number>> {
  const counts = new Map<EntryRef, number>();
  for await (const page of scanKeys(db, RANGES.chunk, 0))
    for (const key of page) {
      const ref = refOf(key);
      if (chunkNumberOf(key) === (counts.get(ref) ?? 0) + 1) counts.set(ref, chunkNumberOf(key));
    }
  return counts;
}

async function loadHeads<T>(db: LevelDb, range: KeyRange, writer: PagedWriter) {
  const heads = new Map<EntryRef, T>();
  let damaged = 0;
  for await (const page of scanRows(db, range, 0))
    for (const [key, value] of page) {
      const head = decodeHead<T>(range, refOf(key), value);
      if (head !== undefined) heads.set(refOf(key), head);
      else {
        damaged++;
        writer.put(quarantineKey(refOf(key), key), value);
        writer.del(key);
      }
    }
  await writer.flush();
  return { heads, damaged };
}

/** Collects writes and writes them page by page. */
export class PagedWriter implements KeyValueWriter {
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

import { counted } from "../amounts.js";
import { newTag } from "../new-entry.js";
import type { OpenReport } from "../store.js";
import type { EntryHead } from "./entry-value.js";
import { META_KEY, refOf } from "./keys.js";
import type { LevelDb } from "./level-db.js";
import { checkFormat, type Meta, newMeta, readMeta, writeMeta } from "./meta.js";
import { firstPending } from "./reader.js";
import { recount } from "./recount.js";
import { headIn, keysOf, valuesOf } from "./scan.js";
import type { Testimony } from "./witness.js";

/** What is in a store, and what was found out about it on the way. */
export interface Stock {
  readonly meta: Meta;
  readonly found: Omit<OpenReport, "setAside">;
}

/** Compares what is there with what should be there, and makes the counters true. */
export async function takeStock(
  db: LevelDb,
  exporter: string,
  said: Testimony | "missing" | "damaged",
  hadData: boolean,
  damaged: boolean,
): Promise<Stock> {
  const testimony = typeof said === "string" ? undefined : said;
  const stored = await db.get(META_KEY);
  const written = readMeta(stored);
  if (written !== undefined) checkFormat(written.format, db.location);
  const meta = written === undefined ? undefined : await countAdded(db, written);
  if (meta === undefined && !hadData && stored === undefined)
    return startEmpty(db, exporter, testimony, said === "missing");
  const checked = meta === undefined || damaged ? undefined : await plausible(db, meta);
  if (checked === undefined) return recounted(db, exporter, meta ?? written, testimony);
  return lostTail(db, checked, testimony);
}

/**
 * The counters with the first pending entry found, if there is something of each kind exactly when they say so; else
 * undefined: a power loss may have taken single commits.
 */
async function plausible(db: LevelDb, meta: Meta): Promise<Meta | undefined> {
  const any = async (range: "f" | "h", from: number) => !(await keysOf(db, range, from, undefined, 1).next()).done;
  if ((await any("f", meta.failedHead)) !== meta.failed.entries > 0) return undefined;
  if ((await any("h", 0)) !== meta.moved > 0) return undefined;
  const first = await firstPending(db, meta.head, meta);
  return (first !== undefined) === meta.pending.entries > 0 ? { ...meta, head: first ?? meta.last + 1 } : undefined;
}

/** The counters with the entries that came after they were written; undefined when one of those is damaged. */
async function countAdded(db: LevelDb, meta: Meta): Promise<Meta | undefined> {
  let { last, pending } = meta;
  for await (const page of valuesOf(db, "p", meta.last + 1))
    for (const [key, value] of page) {
      last = refOf(key);
      const head = headIn<EntryHead>("p", last, value);
      if (head === undefined) return undefined;
      pending = counted(pending, head.entry, 1);
    }
  return { ...meta, last, pending };
}

async function startEmpty(db: LevelDb, exporter: string, said: Testimony | undefined, isNew: boolean): Promise<Stock> {
  const meta = {
    ...newMeta(exporter),
    last: said?.last ?? 0,
    head: (said?.last ?? 0) + 1,
    commits: said?.commits ?? 0,
  };
  await db.put(META_KEY, writeMeta(meta), { sync: true });
  return { meta, found: { isNew, lostEntries: liveIn(said), corruptEntries: 0 } };
}

async function recounted(
  db: LevelDb,
  exporter: string,
  before: Meta | undefined,
  said: Testimony | undefined,
): Promise<Stock> {
  const { last, corrupt, ...amounts } = await recount(db);
  const known = Math.max(last, before?.last ?? 0, said?.last ?? 0);
  const meta: Meta = {
    ...(before ?? newMeta(exporter)),
    ...amounts,
    tag: newTag(),
    commits: Math.max(before?.commits ?? 0, said?.commits ?? 0) + 1,
    last: known,
    head: 1,
    failedHead: 1,
    corrupt: (before?.corrupt ?? 0) + corrupt,
  };
  await db.put(META_KEY, writeMeta(meta), { sync: true });
  const expected = isLater(said, before) ? liveIn(said) : liveOf(before);
  const lostEntries = Math.max(0, expected - liveOf(meta) - corrupt);
  return { meta, found: { isNew: false, lostEntries, corruptEntries: corrupt } };
}

/**
 * The end of the log may be missing without a trace in the files; the witness has seen it, unless it is gone as well. So
 * ids go on under a new tag in any case: one that was given before must not be given to other data.
 */
async function lostTail(db: LevelDb, meta: Meta, said: Testimony | undefined): Promise<Stock> {
  const seen = said?.store === meta.store ? said : undefined;
  const commits = Math.max(meta.commits, seen?.commits ?? 0);
  const last = Math.max(meta.last, seen?.last ?? 0);
  const next = { ...meta, tag: newTag(), commits, last };
  await db.put(META_KEY, writeMeta(next), { sync: true });
  const lostEntries = Math.min(last - meta.last, liveIn(seen));
  return { meta: next, found: { isNew: false, lostEntries, corruptEntries: 0 } };
}

function isLater(said: Testimony | undefined, meta: Meta | undefined): boolean {
  if (said === undefined || meta === undefined) return said !== undefined;
  return said.commits > meta.commits || (said.commits === meta.commits && said.last > meta.last);
}

function liveIn(said: Testimony | undefined): number {
  return said === undefined ? 0 : said.pending + said.failed;
}

function liveOf(meta: Meta | undefined): number {
  return meta === undefined ? 0 : meta.pending.entries + meta.failed.entries;
}

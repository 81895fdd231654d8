import { adjustAmount } from "../../amounts.js";
import type { EntryHead } from "../../format/entry-value.js";
import { type KeyRange, META_KEY, RANGES, refOf } from "../../format/keys.js";
import { checkFormat, decodeMeta, encodeMeta, type Meta, newMeta } from "../../format/meta.js";
import { newIdTag } from "../../new-entry.js";
import type { OpenReport } from "../../store.js";
import type { LevelDb } from "../level-db.js";
import { firstPending } from "../reader.js";
import { decodeHead, scanKeys, scanRows } from "../scan.js";
import { recount } from "./recount.js";
import type { StoreSummary } from "./summary-file.js";

/** What is in a store, and what was found out about it on the way. */
export interface ReconciledStore {
  readonly meta: Meta;
  readonly report: Omit<OpenReport, "setAside">;
}

/** Compares what is there with what should be there, and makes the counters true. */
export async function reconcileStore(
  db: LevelDb,
  exporter: string,
  summaryRead: StoreSummary | "missing" | "damaged",
  hadData: boolean,
  damaged: boolean,
): Promise<ReconciledStore> {
  const summary = typeof summaryRead === "string" ? undefined : summaryRead;
  const stored = await db.get(META_KEY);
  const written = decodeMeta(stored);
  if (written !== undefined) checkFormat(written.format, db.location);
  const meta = written === undefined ? undefined : await countAdded(db, written);
  if (meta === undefined && !hadData && stored === undefined)
    return startEmpty(db, exporter, summary, summaryRead === "missing");
  const checked = meta === undefined || damaged ? undefined : await checkCounters(db, meta);
  if (checked === undefined) return recountStore(db, exporter, meta ?? written, summary);
  return detectLostTail(db, checked, summary);
}

/**
 * The counters with the first pending entry found, if there is something of each kind exactly when they say so; else
 * undefined: a power loss may have taken single commits.
 */
async function checkCounters(db: LevelDb, meta: Meta): Promise<Meta | undefined> {
  const any = async (range: KeyRange, from: number) => !(await scanKeys(db, range, from, undefined, 1).next()).done;
  if ((await any(RANGES.failed, meta.failedHead)) !== meta.failed.entries > 0) return undefined;
  if ((await any(RANGES.moved, 0)) !== meta.moved > 0) return undefined;
  const first = await firstPending(db, meta.head, meta);
  return (first !== undefined) === meta.pending.entries > 0 ? { ...meta, head: first ?? meta.last + 1 } : undefined;
}

/** The counters with the entries that came after they were written; undefined when one of those is damaged. */
async function countAdded(db: LevelDb, meta: Meta): Promise<Meta | undefined> {
  let { last, pending } = meta;
  for await (const page of scanRows(db, RANGES.entry, meta.last + 1))
    for (const [key, value] of page) {
      last = refOf(key);
      const head = decodeHead<EntryHead>(RANGES.entry, last, value);
      if (head === undefined) return undefined;
      pending = adjustAmount(pending, head.entry, 1);
    }
  return { ...meta, last, pending };
}

async function startEmpty(
  db: LevelDb,
  exporter: string,
  summary: StoreSummary | undefined,
  isNew: boolean,
): Promise<ReconciledStore> {
  const meta = {
    ...newMeta(exporter),
    last: summary?.last ?? 0,
    head: (summary?.last ?? 0) + 1,
    commits: summary?.commits ?? 0,
  };
  await db.put(META_KEY, encodeMeta(meta), { sync: true });
  return { meta, report: { isNew, lostEntries: entriesInSummary(summary), corruptEntries: 0 } };
}

async function recountStore(
  db: LevelDb,
  exporter: string,
  before: Meta | undefined,
  summary: StoreSummary | undefined,
): Promise<ReconciledStore> {
  const { last, corrupt, ...amounts } = await recount(db);
  const known = Math.max(last, before?.last ?? 0, summary?.last ?? 0);
  const meta: Meta = {
    ...(before ?? newMeta(exporter)),
    ...amounts,
    tag: newIdTag(),
    commits: Math.max(before?.commits ?? 0, summary?.commits ?? 0) + 1,
    last: known,
    head: 1,
    failedHead: 1,
    corrupt: (before?.corrupt ?? 0) + corrupt,
  };
  await db.put(META_KEY, encodeMeta(meta), { sync: true });
  const expected = isNewer(summary, before) ? entriesInSummary(summary) : entriesInMeta(before);
  const lostEntries = Math.max(0, expected - entriesInMeta(meta) - corrupt);
  return { meta, report: { isNew: false, lostEntries, corruptEntries: corrupt } };
}

/**
 * The end of the log may be missing without a trace in the files; the summary shows it, unless it is gone as well. So
 * ids go on under a new tag in any case: one that was given before must not be given to other data.
 */
async function detectLostTail(db: LevelDb, meta: Meta, summary: StoreSummary | undefined): Promise<ReconciledStore> {
  const ownSummary = summary?.store === meta.store ? summary : undefined;
  const commits = Math.max(meta.commits, ownSummary?.commits ?? 0);
  const last = Math.max(meta.last, ownSummary?.last ?? 0);
  const next = { ...meta, tag: newIdTag(), commits, last };
  await db.put(META_KEY, encodeMeta(next), { sync: true });
  const lostEntries = Math.min(last - meta.last, entriesInSummary(ownSummary));
  return { meta: next, report: { isNew: false, lostEntries, corruptEntries: 0 } };
}

function isNewer(summary: StoreSummary | undefined, meta: Meta | undefined): boolean {
  if (summary === undefined || meta === undefined) return summary !== undefined;
  return summary.commits > meta.commits || (summary.commits === meta.commits && summary.last > meta.last);
}

function entriesInSummary(summary: StoreSummary | undefined): number {
  return summary === undefined ? 0 : summary.pending + summary.failed;
}

function entriesInMeta(meta: Meta | undefined): number {
  return meta === undefined ? 0 : meta.pending.entries + meta.failed.entries;
}

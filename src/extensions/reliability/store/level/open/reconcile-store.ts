import { adjustAmount } from "../../amounts.js";
import type { EntryHead } from "../../format/entry-value.js";
import { type KeyRange, META_KEY, RANGES, refOf } from "../../format/keys.js";
import { checkFormat, decodeMeta, encodeMeta, type Meta, newMeta } from "../../format/meta.js";
import { newIdTag } from "../../new-entry.js";
import type { EntryRef, OpenReport } from "../../store.js";
import type { LevelDb } from "../level-db.js";
import { firstPending } from "../reader.js";
import { decodeHead, scanKeys, scanRows } from "../scan.js";
import type { Loss } from "./marks.js";
import { recount } from "./recount.js";
import type { StoreSummary } from "./summary-file.js";

/** What is in a store, and what was found out about it on the way. */
export interface ReconciledStore {
  readonly meta: Meta;
  readonly report: Omit<OpenReport, "setAside">;
  /** The entries that are there; known only when all were counted. */
  readonly refs?: readonly EntryRef[];
}

/** What is known of a store before it is opened. */
export interface StoreEvidence {
  /** What the summary file says, if there is one. */
  readonly summary: StoreSummary | undefined;
  /** Neither a summary file, damaged or not, nor anything of LevelDB's was there. */
  readonly isNew: boolean;
  readonly hadData: boolean;
  /** Something was damaged or missing: the counters cannot be trusted. */
  readonly isDamaged: boolean;
  readonly isLogMissing: boolean;
  /** What the logs say, if one of them was damaged. */
  readonly logs: LogEvidence | undefined;
  /** Keeps what was found before the counters are made to fit, and nobody could find it again. */
  readonly noteLoss: (loss: Loss) => Promise<void>;
}

/** Entries of which logs know. */
export interface LogEvidence {
  /** The first that was put; entries are put in the order of their refs, so those behind it must be there as well. */
  readonly firstPut: EntryRef;
  readonly deleted: ReadonlySet<EntryRef>;
}

/** Compares what is there with what should be there, and makes the counters true. */
export async function reconcileStore(db: LevelDb, exporter: string, evidence: StoreEvidence): Promise<ReconciledStore> {
  const stored = await db.get(META_KEY);
  const written = decodeMeta(stored);
  if (written !== undefined) checkFormat(written.format, db.location);
  const meta = written === undefined ? undefined : await countAdded(db, written);
  if (meta === undefined && !evidence.hadData && stored === undefined) return startEmpty(db, exporter, evidence);
  const checked = meta === undefined || evidence.isDamaged ? undefined : await checkCounters(db, meta);
  if (checked === undefined) return recountStore(db, exporter, written, evidence);
  return detectLostTail(db, checked, evidence);
}

/**
 * The counters with the first pending entry found, if there is something of each kind exactly when they say so; else
 * undefined: a power loss may have taken single commits.
 */
async function checkCounters(db: LevelDb, meta: Meta): Promise<Meta | undefined> {
  if ((await hasKeys(db, RANGES.failed, meta.failedHead)) !== meta.failed.entries > 0) return undefined;
  if ((await hasKeys(db, RANGES.moved, 0)) !== meta.moved > 0) return undefined;
  const first = await firstPending(db, meta.head, meta);
  return (first !== undefined) === meta.pending.entries > 0 ? { ...meta, head: first ?? meta.last + 1 } : undefined;
}

/** The scan is ended: one that is left open keeps all that it could show on disk, whatever is removed. */
async function hasKeys(db: LevelDb, range: KeyRange, from: number): Promise<boolean> {
  for await (const _ of scanKeys(db, range, from, undefined, 1)) return true;
  return false;
}

/** The counters with the entries that came after they were written; undefined when one of those is damaged or gone. */
async function countAdded(db: LevelDb, meta: Meta): Promise<Meta | undefined> {
  let { last, pending } = meta;
  for await (const page of scanRows(db, RANGES.entry, meta.last + 1))
    for (const [key, value] of page) {
      const head = decodeHead<EntryHead>(RANGES.entry, refOf(key), value);
      if (head === undefined || refOf(key) !== last + 1) return undefined;
      last = refOf(key);
      pending = adjustAmount(pending, head.entry, 1);
    }
  return { ...meta, last, pending };
}

async function startEmpty(
  db: LevelDb,
  exporter: string,
  { summary, isNew, noteLoss }: StoreEvidence,
): Promise<ReconciledStore> {
  const meta = {
    ...newMeta(exporter),
    last: summary?.last ?? 0,
    head: (summary?.last ?? 0) + 1,
    commits: summary?.commits ?? 0,
  };
  const loss = { lostEntries: entriesInSummary(summary), corruptEntries: 0 };
  if (loss.lostEntries > 0) await noteLoss(loss);
  await db.put(META_KEY, encodeMeta(meta), { sync: true });
  return { meta, report: { isNew, ...loss } };
}

async function recountStore(
  db: LevelDb,
  exporter: string,
  written: Meta | undefined,
  evidence: StoreEvidence,
): Promise<ReconciledStore> {
  const { last, corrupt, refs, seen, ...amounts } = await recount(db);
  const summary = written === undefined || evidence.summary?.store === written.store ? evidence.summary : undefined;
  const meta: Meta = {
    ...(written ?? newMeta(exporter)),
    ...amounts,
    tag: newIdTag(),
    commits: Math.max(written?.commits ?? 0, summary?.commits ?? 0) + 1,
    last: Math.max(last, written?.last ?? 0, summary?.last ?? 0),
    head: 1,
    failedHead: 1,
    corrupt: (written?.corrupt ?? 0) + corrupt,
  };
  const missing = expectedEntries(written, summary, meta.last) - entriesInMeta(meta) - corrupt;
  const least = evidence.isLogMissing && summary === undefined ? 1 : 0;
  const lostEntries = Math.max(least, missing, missingInLogs(evidence.logs, meta.last, seen));
  const loss = { lostEntries, corruptEntries: corrupt };
  await evidence.noteLoss(loss);
  await db.put(META_KEY, encodeMeta(meta), { sync: true });
  return { meta, refs, report: { isNew: false, ...loss } };
}

/**
 * How many entries there should be: so many as the later of counters and summary says, and all that were put since. Whatever
 * removes an entry writes the counters, so those behind them must all be there.
 */
function expectedEntries(written: Meta | undefined, summary: StoreSummary | undefined, last: EntryRef): number {
  const before = isNewer(summary, written)
    ? { entries: entriesInSummary(summary), last: summary!.last }
    : { entries: entriesInMeta(written), last: written?.last ?? last };
  return before.entries + Math.max(0, last - before.last);
}

/**
 * Entries that were put while the logs were written, and of which neither the logs nor the store know anything any more.
 * The counters do not tell them when as many others came back, whose deletions were lost as well.
 */
function missingInLogs(logs: LogEvidence | undefined, last: EntryRef, seen: ReadonlySet<EntryRef>): number {
  let missing = 0;
  for (let ref = logs?.firstPut ?? last + 1; ref <= last; ref++)
    if (!seen.has(ref) && !logs!.deleted.has(ref)) missing++;
  return missing;
}

/**
 * The end of the log may be missing without a trace in the files; the summary shows it, unless it is gone as well. So
 * ids go on under a new tag in any case: one that was given before must not be given to other data.
 */
async function detectLostTail(db: LevelDb, meta: Meta, { summary, noteLoss }: StoreEvidence): Promise<ReconciledStore> {
  const ownSummary = summary?.store === meta.store ? summary : undefined;
  const commits = Math.max(meta.commits, ownSummary?.commits ?? 0);
  const last = Math.max(meta.last, ownSummary?.last ?? 0);
  const next = { ...meta, tag: newIdTag(), commits, last };
  const lostEntries = Math.min(last - meta.last, entriesInSummary(ownSummary));
  if (lostEntries > 0) await noteLoss({ lostEntries, corruptEntries: 0 });
  await db.put(META_KEY, encodeMeta(next), { sync: true });
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

import {
  addRef,
  adjustAmount,
  checkFormat,
  decodeMeta,
  type EntryHead,
  encodeMeta,
  entriesIn,
  isNewer,
  type Meta,
  newIdTag,
  newMeta,
  removedBy,
} from "../../format/entry.js";
import { decodeFacts, encodeFacts } from "../../format/failure-facts.js";
import { frame, type KeyRange, META_KEY, RANGES, refOf, unframeBytes } from "../../format/layout.js";
import type { EntryRef, LostBounds, OpenReport } from "../../store.js";
import type { LevelDb } from "../level-db.js";
import { decodeHead, firstPending, scanKeys, scanRows } from "../reader.js";
import type { LogEvidence } from "./log-evidence.js";
import { countLost, type KeyInterval } from "./lost-entries.js";
import { hasLostFailure, withKnownFailure } from "./lost-failure.js";
import { type Loss, lossOf, NO_LOSS } from "./marks.js";
import { PagedWriter, recount } from "./recount.js";
import type { StoreSummary } from "./summary-file.js";

/** The contents of a store, and the findings about it. */
export interface ReconciledStore {
  readonly meta: Meta;
  readonly report: Omit<OpenReport, "setAside">;
  /** The existing entries; known only if all were counted. */
  readonly refs?: Iterable<EntryRef>;
}

/** Evidence about a store, collected before it is opened. */
export interface StoreEvidence {
  /** The content of the summary file, if there is one. */
  readonly summary: StoreSummary | undefined;
  /** Whether there was neither a summary file, damaged or not, nor any file of LevelDB. */
  readonly isNew: boolean;
  readonly hadData: boolean;
  /** Whether something was damaged or missing, so that the counters cannot be trusted. */
  readonly isDamaged: boolean;
  readonly logs: LogEvidence;
  /** The damaged key ranges of the tables; undefined if the database was rebuilt. */
  readonly damagedKeys: readonly KeyInterval[] | undefined;
  /** The time of the opening. */
  readonly now: number;
  /** Records the loss before the counters are corrected, because afterwards it could not be determined again. */
  readonly noteLoss: (loss: Loss) => Promise<void>;
}

/** Compares the contents with what should be there, and corrects the counters. */
export async function reconcileStore(db: LevelDb, exporter: string, evidence: StoreEvidence): Promise<ReconciledStore> {
  const stored = await db.get(META_KEY);
  const written = decodeMeta(stored);
  if (written !== undefined) checkFormat(written.format, db.location);
  const meta = written === undefined ? undefined : await countAdded(db, written);
  if (meta === undefined && !evidence.hadData && stored === undefined) return startEmpty(db, exporter, evidence);
  const checked = meta === undefined || evidence.isDamaged ? undefined : await checkCounters(db, meta);
  const reconciled =
    checked === undefined
      ? await recountStore(db, exporter, written, evidence)
      : await detectLostTail(db, checked, evidence);
  return written?.hasOrderedChanges ? reconciled : repairDeadLetters(db, reconciled, evidence.now);
}

/** Reads all dead letters once, after the store was used by a version that could overwrite them. */
async function repairDeadLetters(db: LevelDb, reconciled: ReconciledStore, now: number): Promise<ReconciledStore> {
  const repairedEntries = await repairOverwritten(db, now);
  const meta = { ...reconciled.meta, hasOrderedChanges: true };
  await db.put(META_KEY, encodeMeta(meta), { sync: true });
  if (repairedEntries === 0) return { ...reconciled, meta };
  return { ...reconciled, meta, report: { ...reconciled.report, repairedEntries } };
}

/**
 * Returns the counters with the first pending entry, if there are entries of each kind exactly when the counters say
 * so; otherwise undefined, because a power loss may have taken single commits.
 */
async function checkCounters(db: LevelDb, meta: Meta): Promise<Meta | undefined> {
  if ((await hasKeys(db, RANGES.failed, meta.failedHead)) !== meta.failed.entries > 0) return undefined;
  if ((await hasKeys(db, RANGES.moved, 0)) !== meta.moved > 0) return undefined;
  const first = await firstPending(db, meta.head, meta);
  return (first !== undefined) === meta.pending.entries > 0 ? { ...meta, head: first ?? meta.last + 1 } : undefined;
}

/** The scan must be closed, because an open one keeps removed data on disk. */
async function hasKeys(db: LevelDb, range: KeyRange, from: number): Promise<boolean> {
  for await (const _ of scanKeys(db, range, from, undefined, 1)) return true;
  return false;
}

/**
 * Returns the counters including entries added after they were written; undefined if one of those is damaged or
 * missing.
 */
async function countAdded(db: LevelDb, meta: Meta): Promise<Meta | undefined> {
  let { last, pending, refSum } = meta;
  for await (const page of scanRows(db, RANGES.entry, meta.last + 1))
    for (const [key, value] of page) {
      const head = decodeHead<EntryHead>(RANGES.entry, refOf(key), value);
      if (head === undefined || refOf(key) !== last + 1) return undefined;
      last = refOf(key);
      pending = adjustAmount(pending, head.entry, 1);
      refSum = refSum === undefined ? undefined : addRef(refSum, last);
    }
  return { ...meta, last, pending, refSum };
}

async function startEmpty(db: LevelDb, exporter: string, evidence: StoreEvidence): Promise<ReconciledStore> {
  const { summary, isNew, noteLoss } = evidence;
  const meta = {
    ...newMeta(exporter),
    last: summary?.last ?? 0,
    head: (summary?.last ?? 0) + 1,
    commits: summary?.commits ?? 0,
  };
  const loss = isNew ? NO_LOSS : lossOf(lossOfEverything(summary), 0);
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
  const { last, corrupt, refs, setAside, ...amounts } = await recount(db);
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
  const loss = lossOf(countLost({ ...evidence, written, summary }, { refs, setAside, last: meta.last }), corrupt);
  await evidence.noteLoss(loss);
  await db.put(META_KEY, encodeMeta(meta), { sync: true });
  return { meta, refs, report: { isNew: false, ...loss } };
}

/** The bounds of the loss if nothing is left. */
function lossOfEverything(summary: StoreSummary | undefined): LostBounds {
  if (summary === undefined) return { atLeast: 0, atMost: undefined };
  const { isClosed, last, maxLast = last, maxRemoved = 0 } = summary;
  if (isClosed === true || summary.maxLast === undefined)
    return { atLeast: entriesIn(summary), atMost: entriesIn(summary) };
  return { atLeast: Math.max(0, last - maxRemoved), atMost: maxLast - removedBy(summary) };
}

/**
 * The end of the log may be missing without a trace in the files. The summary shows that, unless it is missing too. So
 * new ids always get a new tag, because an id that was assigned before must not be given to other data.
 */
async function detectLostTail(db: LevelDb, meta: Meta, evidence: StoreEvidence): Promise<ReconciledStore> {
  const { summary, noteLoss } = evidence;
  const ownSummary = summary?.store === meta.store ? summary : undefined;
  const commits = Math.max(meta.commits, ownSummary?.commits ?? 0);
  const last = Math.max(meta.last, ownSummary?.last ?? 0);
  const next = { ...meta, tag: newIdTag(), commits, last };
  const isUnknown = ownSummary === undefined && evidence.logs.isDamaged;
  const bounds = isUnknown ? { atLeast: 0, atMost: undefined } : lostTail(meta, ownSummary);
  const loss = lossOf(bounds, 0);
  if (loss.lostEntries > 0) await noteLoss(loss);
  await db.put(META_KEY, encodeMeta(next), { sync: true });
  return { meta: next, report: { isNew: false, ...loss } };
}

/**
 * Bounds the number of entries put after the last existing one. Deletions are lost with them, so delivered entries may
 * have come back.
 */
function lostTail(meta: Meta, summary: StoreSummary | undefined): LostBounds {
  if (summary === undefined || !isNewer(summary, meta)) return { atLeast: 0, atMost: 0 };
  const isClosed = summary.isClosed === true || summary.maxLast === undefined;
  const mostLast = isClosed ? summary.last : Math.max(summary.last, summary.maxLast!);
  const mostRemoved = isClosed ? removedBy(summary) : Math.max(removedBy(summary), summary.maxRemoved ?? 0);
  const atLeast = Math.max(0, summary.last - mostRemoved - entriesIn(meta));
  const entries = isClosed ? entriesIn(summary) : mostLast - removedBy(summary);
  return { atLeast, atMost: Math.max(atLeast, Math.min(entries, mostLast - meta.last)) };
}

/**
 * Repairs dead letters that an older version overwrote with an earlier update of their entry, and returns their number.
 * They get what is known about their failure, at this time, so that they are kept as long as new ones. Those with facts
 * are intact and are not decoded.
 */
async function repairOverwritten(db: LevelDb, at: number): Promise<number> {
  const writer = new PagedWriter(db);
  let repaired = 0;
  for await (const page of scanRows(db, RANGES.failed, 0)) {
    for (const [key, value] of page) {
      const ref = refOf(key);
      const read = unframeBytes(RANGES.failed, ref, 0, value);
      if (read === undefined || decodeFacts(read.body) !== undefined) continue;
      const head = JSON.parse(read.head.toString()) as EntryHead;
      if (!hasLostFailure(head.entry)) continue;
      const entry = withKnownFailure(head.entry, at);
      writer.put(key, frame(RANGES.failed, ref, 0, { ...head, entry }, encodeFacts(entry)));
      repaired++;
    }
    await writer.flush();
  }
  return repaired;
}

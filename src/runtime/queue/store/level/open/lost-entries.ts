import { addRef, entriesIn, isNewer, type Meta, NO_REFS, type RefSum, removedBy } from "../../format/entry.js";
import { RANGES, rangeOf, refOf } from "../../format/layout.js";
import type { EntryRef, LostBounds } from "../../store.js";
import type { LogEvidence } from "./log-evidence.js";
import type { StoreSummary } from "./summary-file.js";

/**
 * Evidence of how many entries a damaged store has lost. The store should have as many as its last counters say. Two
 * things stand in the way of an exact number. First, after a crash the final state may be unknown: the counters in the
 * rest of the log and in the summary are older. But the summary limits how much can be added and removed before the
 * next one is written. Second, entries whose deletion was lost come back and make up for others in the count. Then only
 * entries in damaged places can be lost.
 */
interface LossEvidence {
  /** The counters that were found. */
  readonly written: Meta | undefined;
  readonly summary: StoreSummary | undefined;
  readonly logs: LogEvidence;
  /** The damaged key ranges of the tables; undefined if the database was rebuilt and some table may be missing. */
  readonly damagedKeys: readonly KeyInterval[] | undefined;
}

/** A range of keys, both ends included. */
export interface KeyInterval {
  readonly from: Uint8Array;
  readonly to: Uint8Array;
}

/** The entries that exist after the repair. */
interface FoundEntries {
  readonly refs: ReadonlySet<EntryRef>;
  /** Entries that were found but could not be read. */
  readonly setAside: ReadonlySet<EntryRef>;
  /** The greatest ref known to have been assigned. */
  readonly last: EntryRef;
}

export function countLost(evidence: LossEvidence, found: FoundEntries): LostBounds {
  const expected = expectedEntries(evidence, found.last);
  const there = found.refs.size + found.setAside.size;
  if (expected.refSum !== undefined && expected.refSum === sumOf(found)) return { atLeast: 0, atMost: 0 };
  const atLeast = Math.max(0, expected.least - there);
  const candidates = countCandidates(evidence, found) + expected.mostLast - found.last;
  const atMost = Math.max(atLeast, Math.min(expected.most, candidates));
  return { atLeast, atMost: Number.isFinite(atMost) ? atMost : undefined };
}

/** Limits for the number of entries that the store had at the end, and for the refs it had assigned. */
interface Expected {
  readonly least: number;
  readonly most: number;
  readonly mostLast: EntryRef;
  /** Checksum of their refs, if all are known. */
  readonly refSum?: RefSum | undefined;
}

function expectedEntries({ written, summary, logs, damagedKeys }: LossEvidence, last: EntryRef): Expected {
  const isSummaryLast = isNewer(summary, written) || (summary !== undefined && summary.last > (written?.last ?? 0));
  if (summary?.isClosed === true && !isNewer(written, summary) && last === summary.last)
    return exactly(entriesIn(summary), summary.last, summary.refSum);
  // If the logs have older counters, they are not the newest logs.
  const isNewest = logs.commits === undefined ? damagedKeys?.length === 0 : logs.commits === written?.commits;
  const hasNewestCounters = logs.isEndKnown && isNewest;
  if (written !== undefined && hasNewestCounters && !(isSummaryLast && isAhead(summary!, written, last))) {
    let { refSum } = written;
    for (let ref = written.last + 1; ref <= last && refSum !== undefined; ref++) refSum = addRef(refSum, ref);
    return exactly(entriesIn(written) + last - written.last, last, refSum);
  }
  if (summary === undefined) return { least: 0, most: Number.POSITIVE_INFINITY, mostLast: Number.POSITIVE_INFINITY };
  const removed = Math.max(removedBy(summary), written === undefined ? 0 : removedBy(written));
  const mostRemoved = Math.max(removed, summary.maxRemoved ?? removed);
  const mostLast = Math.max(last, summary.maxLast ?? last);
  return { least: Math.max(0, last - mostRemoved), most: mostLast - removed, mostLast };
}

function exactly(entries: number, last: EntryRef, refSum: RefSum | undefined): Expected {
  return { least: entries, most: entries, mostLast: last, refSum };
}

/** Whether the summary is newer than the store's contents. */
function isAhead(summary: StoreSummary, written: Meta, last: EntryRef): boolean {
  return summary.commits > written.commits || summary.last > last;
}

/**
 * Counts the entries that may be lost: those in damaged places that neither exist nor are known to be deleted. Entries
 * put while the logs were written come after all entries that are only in tables.
 */
function countCandidates({ logs, damagedKeys }: LossEvidence, { refs, setAside, last }: FoundEntries): number {
  if (damagedKeys === undefined) return Number.POSITIVE_INFINITY;
  const intervals: RefInterval[] = damagedKeys.flatMap((keys) => entryRefs(keys, last));
  if (logs.isDamaged) {
    let top = 0;
    for (const ref of refs) if (!logs.put.has(ref)) top = Math.max(top, ref);
    intervals.push([top + 1, last]);
  }
  const merged = mergeIntervals(intervals);
  const known = new Set([...refs, ...setAside, ...logs.deleted]);
  let candidates = merged.reduce((sum, [from, to]) => sum + to - from + 1, 0);
  for (const ref of known) if (merged.some(([from, to]) => ref >= from && ref <= to)) candidates--;
  return candidates;
}

/** Merges overlapping ranges. */
function mergeIntervals(intervals: readonly RefInterval[]): RefInterval[] {
  const merged: RefInterval[] = [];
  for (const [from, to] of intervals.toSorted((a, b) => a[0] - b[0])) {
    const last = merged.at(-1);
    if (to < from) continue;
    if (last !== undefined && from <= last[1] + 1) merged[merged.length - 1] = [last[0], Math.max(last[1], to)];
    else merged.push([from, to]);
  }
  return merged;
}

type RefInterval = readonly [from: EntryRef, to: EntryRef];

/** The refs of entries between two keys. */
function entryRefs({ from, to }: KeyInterval, last: EntryRef): RefInterval[] {
  const [first, end] = [rangeOf(from), rangeOf(to)];
  if (first > RANGES.entry || end < RANGES.entry) return [];
  const fromRef = first === RANGES.entry && from.length >= 9 ? refOf(from) : 1;
  return [[fromRef, end === RANGES.entry && to.length >= 9 ? Math.min(refOf(to), last) : last]];
}

function sumOf({ refs, setAside }: FoundEntries): RefSum {
  let sum = NO_REFS;
  for (const ref of refs) sum = addRef(sum, ref);
  for (const ref of setAside) sum = addRef(sum, ref);
  return sum;
}

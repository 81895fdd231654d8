import { decodeMeta } from "../../format/entry.js";
import { META_KEY, RANGES, rangeOf, refOf } from "../../format/layout.js";
import type { CheckedLog } from "../../leveldb-files/log-check.js";
import type { LogChange } from "../../leveldb-files/write-batch.js";
import type { EntryRef } from "../../store.js";

/** Evidence from the logs of a store about the entries it should have. */
export interface LogEvidence {
  /** Whether changes are or may be missing in the logs. */
  readonly isDamaged: boolean;
  /** Whether nothing is missing after the last counters in the logs. */
  readonly isEndKnown: boolean;
  /** Whether changes are missing in the middle. */
  readonly hasGaps: boolean;
  /** Commit number of the newest counters in the logs. */
  readonly commits: number | undefined;
  /** Entries that the logs put. `deleted` has those that they delete. */
  readonly put: ReadonlySet<EntryRef>;
  readonly deleted: ReadonlySet<EntryRef>;
}

export function evidenceOf(logs: readonly CheckedLog[], isLogMissing: boolean): LogEvidence {
  const put = new Set<EntryRef>();
  const deleted = new Set<EntryRef>();
  let count = 0;
  let damagedUpTo = 0;
  let countersAt = -1;
  let counters: LogChange | undefined;
  for (const [i, log] of logs.entries()) {
    if (log.damagedUpTo > 0) damagedUpTo = count + log.damagedUpTo;
    for (const change of log.changes) {
      const { key, value } = change;
      if (key.equals(META_KEY)) countersAt = count;
      if (key.equals(META_KEY) && change.sequence >= (counters?.sequence ?? 0)) counters = change;
      else if (rangeOf(key) === RANGES.entry) (value === undefined ? deleted : put).add(refOf(key));
      count++;
    }
    // A crash can truncate only the last log.
    if (log.isTorn && i < logs.length - 1) damagedUpTo = count + 1;
  }
  const isEnd = logs.length > 0 && !isLogMissing && logs.at(-1)?.isTorn === false;
  const isEndKnown = isEnd && (damagedUpTo === 0 || countersAt >= damagedUpTo);
  return {
    isDamaged: !isEnd || damagedUpTo > 0,
    isEndKnown,
    hasGaps: damagedUpTo > 0,
    commits: decodeMeta(counters?.value)?.commits,
    put,
    deleted,
  };
}

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type LogRecord, readLog } from "./log.js";
import { type LogChange, readChanges, readWholeChanges } from "./write-batch.js";

/** A log in use, and all that can be read of it. */
export interface CheckedLog {
  readonly name: string;
  /** LevelDB may see it as it is. */
  readonly isIntact: boolean;
  readonly changes: readonly LogChange[];
  /** So many changes come before the end of the last place where something is damaged or missing; 0 without any. */
  readonly damagedUpTo: number;
  readonly isTorn: boolean;
}

/**
 * Reads logs in the order in which they were written, and looks for all that LevelDB must not see. LevelDB believes what
 * matches its checksum: a change that stands twice ends the process (its number is in the table in memory already), and
 * one that is older than it should be hides a newer one. So the changes must be whole, and their numbers must grow from one
 * to the next, from `after` on, which is a number that the tables have.
 */
export function checkLogs(directory: string, names: readonly string[], after = 0): CheckedLog[] {
  let last = after;
  return sortByNumber(names).map((name, i) => {
    const { records, isIntact, isTorn } = readLog(readFileSync(join(directory, name)));
    const log = checkRecords(records, last, isIntact, i > 0);
    last = Math.max(last, log.changes.at(-1)?.sequence ?? 0);
    return { name, ...log, isTorn };
  });
}

/** Files whose names begin with numbers, by these. */
export function sortByNumber(names: readonly string[]): string[] {
  return names.toSorted((a, b) => Number.parseInt(a, 10) - Number.parseInt(b, 10));
}

/** Whether each log was written after the one before: files may have changed places, or have another's content. */
export function areInOrder(logs: readonly CheckedLog[]): boolean {
  let last = 0;
  return logs.every(({ changes }) => {
    const numbers = changes.filter(({ isSequenceLost }) => isSequenceLost !== true).map(({ sequence }) => sequence);
    const isAfter = numbers.every((number) => number > last);
    last = numbers.reduce((greatest, number) => Math.max(greatest, number), last);
    return isAfter;
  });
}

function checkRecords(
  records: readonly LogRecord[],
  after: number,
  isWhole: boolean,
  followsLog: boolean,
): Pick<CheckedLog, "isIntact" | "changes" | "damagedUpTo"> {
  const changes: LogChange[] = [];
  let isIntact = isWhole;
  let damagedUpTo = 0;
  let last = after;
  for (const record of records) {
    const whole = readWholeChanges(record);
    const read = whole ?? readChanges(record, last + 1);
    const first = read[0]?.sequence ?? last + 1;
    const isInPlace = whole !== undefined && first > last;
    // What the first of all follows is in a table. A log is begun when the one before is full.
    const isGap = first > last + 1 && (changes.length > 0 || followsLog);
    if (!isInPlace) isIntact = false;
    if (!isInPlace || isGap) damagedUpTo = changes.length + (isInPlace ? 0 : read.length) + 1;
    for (const change of read) changes.push(change);
    last = Math.max(last, read.at(-1)?.sequence ?? last);
  }
  return { isIntact, changes, damagedUpTo };
}

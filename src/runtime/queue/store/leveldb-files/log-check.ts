import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type LogRecord, readLog } from "./log.js";
import { type LogChange, readChanges, readWholeChanges } from "./write-batch.js";

/** A log in use, with everything that can be read from it. */
export interface CheckedLog {
  readonly name: string;
  /** Whether LevelDB may read the log unchanged. */
  readonly isIntact: boolean;
  readonly changes: readonly LogChange[];
  /** Number of changes before the end of the last damaged or missing place; 0 if there is none. */
  readonly damagedUpTo: number;
  readonly isTorn: boolean;
}

/**
 * Reads logs in the order they were written, and finds everything that LevelDB must not see. LevelDB trusts everything
 * that matches its checksum: a duplicate change ends the process (its sequence number is already in memory), and a
 * change with a number that is too old hides a newer one. So changes must be complete, and their numbers must increase
 * from one to the next, starting after `after`, which is a number found in the tables.
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

/** Sorts files by the number at the beginning of their name. */
function sortByNumber(names: readonly string[]): string[] {
  return names.toSorted((a, b) => Number.parseInt(a, 10) - Number.parseInt(b, 10));
}

/**
 * Whether each log was written after the previous one. Files may have been swapped, or may have the content of another.
 */
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
    // The change before the first one is in a table. A new log begins when the previous one is full.
    const isGap = first > last + 1 && (changes.length > 0 || followsLog);
    if (!isInPlace) isIntact = false;
    if (!isInPlace || isGap) damagedUpTo = changes.length + (isInPlace ? 0 : read.length) + 1;
    for (const change of read) changes.push(change);
    last = Math.max(last, read.at(-1)?.sequence ?? last);
  }
  return { isIntact, changes, damagedUpTo };
}

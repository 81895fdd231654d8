import { rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { decodeMeta } from "../format/entry.js";
import { META_KEY } from "../format/layout.js";
import { makeLog } from "./log.js";
import type { CheckedLog } from "./log-check.js";
import { type LogChange, makeWriteBatch } from "./write-batch.js";

/**
 * Rewrites logs so that they have only readable changes, each once and in order. Changes with a number up to `after`,
 * which is a number found in the tables, are already in the tables. An intact log is not rewritten, unless its numbers
 * are needed for changes found before it.
 */
export async function mendLogs(directory: string, logs: readonly CheckedLog[], after: number): Promise<void> {
  let last = after;
  for (const { name, isIntact, changes } of logs) {
    const first = changes[0]?.sequence ?? last + 1;
    const kept = isIntact && first > last ? changes : inOrder(changes, after, last);
    if (kept !== changes) await writeLog(join(directory, name), kept);
    last = kept.at(-1)?.sequence ?? last;
  }
}

/**
 * Returns each change once, with numbers that increase from that of the last log. Known numbers are kept where
 * possible. Changes up to `after` are left out.
 */
export function inOrder(changes: readonly LogChange[], after: number, lastOfLogs = after): LogChange[] {
  const isTwice = repeats(changes);
  const sorted = changes.filter((change) => change.sequence > after || change.isSequenceLost === true);
  const kept: LogChange[] = [];
  let last = lastOfLogs;
  let commits = 0;
  for (const change of sorted.toSorted((a, b) => a.sequence - b.sequence)) {
    if (isTwice(change)) continue;
    const written = isMeta(change) ? (decodeMeta(change.value)?.commits ?? commits) : commits;
    // Where the order of changes was lost, the counters give it.
    if (written < commits) continue;
    commits = written;
    last = Math.max(change.sequence, last + 1);
    kept.push(last === change.sequence ? change : { ...change, sequence: last });
  }
  return kept;
}

/**
 * Returns a predicate for repeated changes. A change without a number is a repetition if another change has the same
 * key and value, because a value is never written twice, only read twice.
 */
function repeats(changes: readonly LogChange[]): (change: LogChange) => boolean {
  const numbered = new Set(changes.filter(({ isSequenceLost }) => isSequenceLost !== true).map(identityOf));
  const seen = new Set<string>();
  return (change) => {
    const identity = identityOf(change);
    const place = change.isSequenceLost === true ? identity : `${identity} ${change.sequence}`;
    if (seen.has(place) || (change.isSequenceLost === true && numbered.has(identity))) return true;
    seen.add(place);
    return false;
  };
}

/** Our values begin with a checksum. */
function identityOf({ key, value }: LogChange): string {
  return `${key.toString("latin1")} ${value === undefined ? "deleted" : `${value.length} ${value.toString("latin1", 0, 4)}`}`;
}

function isMeta({ key, value }: LogChange): boolean {
  return value !== undefined && key.equals(META_KEY);
}

const MAX_CHANGES_PER_BATCH = 1000;

/** Writes under a temporary name first, so that only a complete file has the final name. */
async function writeLog(path: string, changes: readonly LogChange[]): Promise<void> {
  await writeFile(`${path}.new`, makeLog(runs(changes).map(makeWriteBatch)), { flush: true });
  await rename(`${path}.new`, path);
}

/** Groups changes with consecutive numbers, because a batch stores only the number of the first. */
function runs(changes: readonly LogChange[]): LogChange[][] {
  const found: LogChange[][] = [];
  for (const change of changes) {
    const run = found.at(-1);
    const follows = run !== undefined && run.at(-1)!.sequence + 1 === change.sequence;
    if (follows && run.length < MAX_CHANGES_PER_BATCH) run.push(change);
    else found.push([change]);
  }
  return found;
}

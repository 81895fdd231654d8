import type { EntryInfo } from "./format/entry-value.js";
import { chunkKey, RANGES, refKey } from "./format/keys.js";
import type { ChangesDuringReads } from "./level/changes-during-reads.js";
import type { Compactor } from "./level/compactor.js";
import type { CommitChange } from "./level-reads.js";
import type { EntryRef } from "./store.js";

export interface ErasureServices {
  readonly commitChange: CommitChange;
  readonly compactor: Pick<Compactor, "compactRuns">;
  readonly reads: Pick<ChangesDuringReads, "whenEnded">;
}

/** An entry that is to be erased: all keys that it has, or has had. */
export function keysOfEntry(ref: EntryRef, { origin, chunks }: Pick<EntryInfo, "origin" | "chunks">): Uint8Array[] {
  const keys = [ref, origin].flatMap((each) =>
    [RANGES.entry, RANGES.failed, RANGES.update].map((r) => refKey(r, each)),
  );
  for (let n = 1; n <= chunks; n++) keys.push(chunkKey(origin, n));
  return keys;
}

/**
 * Removes entries that have been deleted from the files as well. LevelDB only marks what is deleted. When the places around a mark
 * are compacted it goes down to where the value is, and both are left out of the new table. But a value that came
 * shortly before its deletion may lie in the same table as the mark, and a table that has nothing to be merged with is not
 * written anew. So everything is compacted once, which also ends the log, marked again, and compacted once more: the
 * second marks are in a table of their own. A read that began before keeps what it could still show, so it is waited for; and
 * the files that it has kept go with the next compaction.
 */
export async function eraseKeys(
  keys: readonly Uint8Array[],
  refs: readonly EntryRef[],
  services: ErasureServices,
): Promise<void> {
  const { commitChange, compactor, reads } = services;
  const runs = runsOf(refs);
  await compactor.compactRuns(runs);
  for (let i = 0; i < keys.length; i += MARKS_PER_COMMIT) {
    const marks = keys.slice(i, i + MARKS_PER_COMMIT);
    await commitChange([], 20 * marks.length, (transaction) => transaction.markDeleted(marks));
  }
  await reads.whenEnded();
  await compactor.compactRuns(runs);
  await reads.whenEnded();
  await compactor.compactRuns(runs.slice(0, 1));
  // Compacting tells nobody that it failed; whoever writes next is told.
  await commitChange([], 100, (transaction) => transaction.requireMeta());
}

const MARKS_PER_COMMIT = 1000;
/** Every run that is compacted ends a log, so there are not too many; what is live between two of them is written again. */
const MAX_RUNS = 32;

/** Stretches of refs, both ends included, that have all of these refs in them. */
function runsOf(refs: readonly EntryRef[]): [EntryRef, EntryRef][] {
  const sorted = [...new Set(refs)].sort((a, b) => a - b);
  for (let gap = 64; ; gap *= 4) {
    const runs: [EntryRef, EntryRef][] = [];
    for (const ref of sorted) {
      const last = runs.at(-1);
      if (last !== undefined && ref - last[1] <= gap) last[1] = ref;
      else runs.push([ref, ref]);
    }
    if (runs.length <= MAX_RUNS) return runs;
  }
}

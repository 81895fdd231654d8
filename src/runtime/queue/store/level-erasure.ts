import type { EntryInfo } from "./format/entry.js";
import { chunkKey, RANGES, refKey } from "./format/layout.js";
import type { ChangesDuringReads } from "./level/changes-during-reads.js";
import type { Compactor } from "./level/compactor.js";
import type { LevelWrites } from "./level-writes.js";
import type { EntryRef } from "./store.js";

export interface ErasureServices {
  readonly writes: Pick<LevelWrites, "commitChange">;
  readonly compactor: Pick<Compactor, "compactRuns">;
  readonly reads: Pick<ChangesDuringReads, "whenEnded">;
}

/** Returns all keys that an entry has or has had. */
export function keysOfEntry(ref: EntryRef, { origin, chunks }: Pick<EntryInfo, "origin" | "chunks">): Uint8Array[] {
  const keys = [ref, origin].flatMap((each) =>
    [RANGES.entry, RANGES.failed, RANGES.update].map((r) => refKey(r, each)),
  );
  for (let n = 1; n <= chunks; n++) keys.push(chunkKey(origin, n));
  return keys;
}

/**
 * Removes deleted entries from the files as well. LevelDB only writes a deletion mark. When the range of a mark is
 * compacted, the mark moves down to the level of the value, and both are left out of the new table. But a value written
 * shortly before its deletion may be in the same table as the mark, and a table that needs no merging is not rewritten.
 * So everything is compacted once, which also closes the log; then it is marked again and compacted once more, when the
 * second marks are in a table of their own. A read that began earlier keeps old data alive, so it is awaited, and the
 * files it kept are removed by the next compaction.
 */
export async function eraseKeys(
  keys: readonly Uint8Array[],
  refs: readonly EntryRef[],
  services: ErasureServices,
): Promise<void> {
  const { writes, compactor, reads } = services;
  const runs = runsOf(refs);
  await compactor.compactRuns(runs);
  for (let i = 0; i < keys.length; i += MARKS_PER_COMMIT) {
    const marks = keys.slice(i, i + MARKS_PER_COMMIT);
    await writes.commitChange([], 20 * marks.length, (transaction) => transaction.markDeleted(marks));
  }
  await reads.whenEnded();
  await compactor.compactRuns(runs);
  await reads.whenEnded();
  await compactor.compactRuns(runs.slice(0, 1));
  // A failed compaction is not reported, but the next write would be.
  await writes.commitChange([], 100, (transaction) => transaction.requireMeta());
}

const MARKS_PER_COMMIT = 1000;
/** Each compacted run closes a log, so their number is limited. Live data between two merged runs is rewritten. */
const MAX_RUNS = 32;

/** Returns ranges of refs, both ends included, that cover all of these refs. */
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

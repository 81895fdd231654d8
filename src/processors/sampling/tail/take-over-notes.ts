import type { EntrySettlement, JournalNote } from "#contract/operators";
import { Batch } from "../../../plugin.js";
import { DecisionNotes } from "./decision-notes.js";
import { batchOfSlices, sliceByTrace } from "./trace-slices.js";

const EMPTY_BATCH = Batch.empty("traces");
const DECISIONS_PER_NOTE = 10_000;

/**
 * Takes over the notes of a sampler in another journal, as `EntrySettlement` says: writes its decisions into `to`, and
 * calls `remember` with them. Sampled traces whose spans are still owed are added to `takenOver`, so that these
 * spans are passed on, even if no decision is remembered.
 */
export function takeOverNotes(
  to: DecisionNotes,
  notes: readonly JournalNote[],
  firstPosition: number,
  takenOver: Set<string>,
  remember: (id: string, isSampled: boolean) => void,
): EntrySettlement["remaining"] {
  const ignore = () => {};
  const journal = {
    read: () => notes,
    firstPosition,
    write: ignore,
    setSettlement: ignore,
    limitUnneededBytes: ignore,
  };
  const earlier = new DecisionNotes(journal, 0);
  const decisions = new Map<string, boolean>();
  earlier.restore((id, isSampled) => void decisions.set(id, isSampled));
  const decided = [...decisions];
  for (const [id, isSampled] of decided) remember(id, isSampled);
  const idsOf = (some: typeof decided, wanted: boolean) =>
    some.filter(([, isSampled]) => isSampled === wanted).map(([id]) => id);
  for (let i = 0; i < decided.length; i += DECISIONS_PER_NOTE) {
    const some = decided.slice(i, i + DECISIONS_PER_NOTE);
    to.decided(idsOf(some, true), idsOf(some, false));
  }
  return (position, batch) =>
    spansOf(batch, (id) => {
      const fate = earlier.fateOf(position, id);
      if (fate === "sampled") takenOver.add(id);
      return fate !== "delivered" && fate !== "dropped";
    });
}

/** Returns the spans of the traces that `isWanted` returns true for. */
export function spansOf(batch: Batch, isWanted: (id: string) => boolean): Batch {
  const slices = [...sliceByTrace(batch)].filter(([id]) => isWanted(id)).flatMap(([, spans]) => spans);
  if (slices.length === batch.count) return batch;
  return slices.length === 0 ? EMPTY_BATCH : batchOfSlices(slices);
}

import type { ConfigNow } from "#contract/operators";
import { Batch } from "#otlp";
import type { QueueItem } from "../entry/queue-item.js";
import { replacementOf } from "../store/format/entry.js";
import { isEntryGone, type QueueStore, type StoredEntry } from "../store/store.js";
import { readPayload } from "./sender.js";

/**
 * The entry that took the place of others, or for each of them why it could not be read or replaced, or "gone": the
 * store has none of them any more, because they were deleted, or replaced by a write that seemed to fail.
 */
type SealedEntry =
  | { readonly kind: "sealed"; readonly stored: StoredEntry; readonly batch: Batch }
  | { readonly kind: "unreadable"; readonly causes: readonly unknown[] }
  | { readonly kind: "gone" };

/** Whether an entry is always sent under its own id, whatever happens. */
export function isSentAlone({ entry: { isSealed, parent, replays } }: QueueItem): boolean {
  return isSealed === true || parent !== undefined || replays > 0;
}

/**
 * Replaces entries with one that has all their records, in one write: after a crash there is either the new entry or all
 * of the old ones, which were never sent. A single entry keeps its id. The new entry came when the first of them did.
 */
export async function sealEntries(
  { store, running }: { readonly store: QueueStore; readonly running: ConfigNow },
  items: readonly QueueItem[],
): Promise<SealedEntry> {
  const read = await Promise.all(items.map((item) => readPayload(store, item)));
  const causes = read.map(({ cause }) => cause);
  if (causes.some((cause) => cause !== undefined)) return { kind: "unreadable", causes };
  const [first] = items as [QueueItem];
  const batch = items.length === 1 ? read[0]!.batch! : Batch.merge(read.map((one) => one.batch!));
  try {
    if (items.length === 1) {
      const [stored] = await store.replace(first.ref, [replacementOf({ ...first.entry, isSealed: true }, batch)]);
      return { kind: "sealed", stored: stored!, batch };
    }
    const { pipeline, source, batchKey, metadata } = first.entry;
    const enqueuedAt = Math.min(...items.map(({ entry }) => entry.enqueuedAt));
    const fields = { isSealed: true, ...(batchKey !== undefined && { batchKey }), ...(metadata && { metadata }) };
    const added = [{ batch, pipeline, source, enqueuedAt, generation: running.config.generation, fields }];
    const removed = items.map(({ ref }) => ref);
    const { stored } = await store.exchange({ removed, added, mustExist: true });
    return { kind: "sealed", stored: stored[0]!, batch };
  } catch (error) {
    return isEntryGone(error) ? { kind: "gone" } : { kind: "unreadable", causes: items.map(() => error) };
  }
}

import type { Clock, Logger } from "#contract";
import { AdminError, type Entry } from "#contract/operations";
import { DELETE_CHUNK_SIZE, runExclusively } from "../store/dead-letter-access.js";
import type { StoredEntry } from "../store/store.js";
import type { Originals } from "./change/originals.js";
import { type Controls, isDeleted, type LocatedEntry } from "./dead-letters.js";
import type { CheckedSelection } from "./search/match-records.js";
import { selectCandidates, selectIds } from "./selection.js";

interface DeletionServices {
  readonly clock: Clock;
  readonly logger: Logger;
  /** Payloads replaced by edits. They are removed with their entries. */
  readonly originals?: Pick<Originals, "erase"> | undefined;
}

/**
 * Deletes the selected dead letters and returns their number. If an id is not that of a dead letter, nothing is
 * deleted. With `dead_letter.keep_deleted`, they can be restored for that time, and a second deletion removes them
 * permanently. Resolves when the data of removed entries is no longer in the files of the queue.
 */
export async function deleteSelected(
  controls: Controls,
  selection: CheckedSelection,
  dryRun: boolean,
  { clock, logger, originals }: DeletionServices,
): Promise<number> {
  let deleted = 0;
  for await (const group of groupByExporter(await candidatesOf(controls, selection, () => true)))
    deleted += dryRun ? group.length : await deleteGroup(group, clock.now(), originals);
  if (!dryRun && deleted > 0) logger.info({ deleted }, "dead letters were deleted");
  return deleted;
}

/**
 * Restores deleted dead letters and returns their number. If an id is not that of a deleted one, nothing is restored.
 */
export async function restoreSelected(
  controls: Controls,
  selection: CheckedSelection,
  { logger }: DeletionServices,
): Promise<number> {
  const wanted = "ids" in selection ? selection : { query: { ...selection.query, deleted: true } };
  let restored = 0;
  for await (const group of groupByExporter(await candidatesOf(controls, wanted, isDeleted)))
    restored += await changeGroup(group, isDeleted, ({ deletedAt: _, ...entry }) => entry);
  if (restored > 0) logger.info({ restored }, "deleted dead letters were restored");
  return restored;
}

/** Removes dead letters that another worker has now. */
export async function discardDeadLetters(controls: Controls, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return;
  const { candidates } = await selectIds(controls, ids);
  for await (const group of groupByExporter(candidates)) {
    const { store } = group[0]!.control;
    await runExclusively(store, async () => store.delete((await readAgain(group)).map(({ ref }) => ref)));
  }
}

async function candidatesOf(
  controls: Controls,
  selection: CheckedSelection,
  isWanted: (entry: Entry) => boolean,
): Promise<AsyncIterable<LocatedEntry>> {
  if (!("ids" in selection)) return selectCandidates(controls, selection.query);
  const { candidates, missing = [] } = await selectIds(controls, selection.ids, isWanted);
  if (missing.length === 0) return candidates;
  throw new AdminError("not_found", `there is no dead letter ${missing.slice(0, 5).join(", ")}; nothing was changed`);
}

function deleteGroup(
  group: readonly LocatedEntry[],
  now: number,
  originals: DeletionServices["originals"],
): Promise<number> {
  const { store, settings } = group[0]!.control;
  const isKept = settings.dead_letter.keep_deleted > 0 && !isDeleted(group[0]!.entry);
  if (isKept)
    return changeGroup(
      group,
      (entry) => !isDeleted(entry),
      (entry) => ({ ...entry, deletedAt: now }),
    );
  return runExclusively(store, async () => {
    const present = await readAgain(group);
    const refs = present.map(({ ref }) => ref);
    await originals?.erase(present.map(({ entry }) => entry));
    await (store.erase?.(refs) ?? store.delete(refs));
    return refs.length;
  });
}

function changeGroup(
  group: readonly LocatedEntry[],
  isWanted: (entry: Entry) => boolean,
  change: (entry: Entry) => Entry,
): Promise<number> {
  const { store } = group[0]!.control;
  return runExclusively(store, async () => {
    const present = (await readAgain(group)).filter(({ entry }) => isWanted(entry));
    // Together, so that they share commits. All have ended before the next change may begin.
    const changes = present.map(({ ref, entry }) => store.fail(ref, change(entry)));
    await Promise.allSettled(changes);
    await Promise.all(changes);
    return present.length;
  });
}

/** Reads the entries again and leaves out those that were replayed or removed meanwhile. */
async function readAgain(group: readonly LocatedEntry[]): Promise<StoredEntry[]> {
  const found = await Promise.all(group.map(({ control, entry }) => control.store.find(entry.id)));
  return found.flatMap((stored) => (stored?.entry.state === "failed" ? [stored] : []));
}

/** Groups entries by exporter and by whether they are deleted already. */
async function* groupByExporter(candidates: AsyncIterable<LocatedEntry>): AsyncGenerator<LocatedEntry[]> {
  let group: LocatedEntry[] = [];
  for await (const found of candidates) {
    const [first] = group;
    const isOther = first && (first.control !== found.control || isDeleted(first.entry) !== isDeleted(found.entry));
    if (group.length >= DELETE_CHUNK_SIZE || isOther) {
      yield group;
      group = [];
    }
    group.push(found);
  }
  if (group.length > 0) yield group;
}

import { AdminError, type ImportReport } from "#contract/operations";
import type { EntryPlace, WorkerReading } from "./admin-methods.js";
import type { SelectionParts } from "./entry-owners.js";
import type { WorkerGroup } from "./worker-group.js";

/** The worker that has the queue of an exporter which others do not have; undefined if all have it, or none. */
export async function onlyWorkerWith(group: WorkerGroup, exporter: string): Promise<number | undefined> {
  const { answers } = await group.ask<WorkerReading>("reading");
  const isThere = ({ exporters }: WorkerReading) => exporters.some(({ id, queue }) => id === exporter && queue.enabled);
  const having = answers.filter(({ value }) => isThere(value));
  return having.length === answers.length ? undefined : having[0]?.worker;
}

/**
 * Moves the selected dead letters of all workers into the same queues of one of them, as dead letters, and returns what
 * is selected there then. Each is there before it is removed from its own worker, so none is lost. If a process is
 * killed in between, both have it, and the next replay to the same exporter removes the one that is left over.
 */
export async function gatherForReplay(
  group: WorkerGroup,
  parts: SelectionParts,
  target: number,
  abort: AbortSignal | undefined,
): Promise<SelectionParts> {
  for (const [worker, selection] of parts) {
    if (worker === target) continue;
    for await (const lines of group.stream<readonly string[]>(worker, "transferLines", selection)) {
      if (abort?.aborted) break;
      const ids = lines.map((line) => (JSON.parse(line) as { readonly entry: { readonly id: string } }).entry.id);
      await bring(group, lines, ids, target);
      await group.change(() => ({ name: "discardDeadLetters", args: [ids] }), [worker]);
    }
  }
  const [selection] = parts.values();
  const ids = [...parts.values()].flatMap((part) => ("ids" in part ? part.ids : []));
  return new Map([[target, ids.length > 0 ? { ids } : selection!]]);
}

/** Rejects unless all of them are there then. */
async function bring(
  group: WorkerGroup,
  lines: readonly string[],
  ids: readonly string[],
  target: number,
): Promise<void> {
  const request = () => ({ name: "importDeadLetters", args: [lines] });
  const [imported] = await group.change<ImportReport>(request, [target]);
  const places = await group.askOne<ReadonlyMap<string, EntryPlace>>(target, "entryPlaces", ids);
  const missing = ids.find((id) => !["dead_letter", "queued"].includes(places.get(id) ?? "delivered"));
  if (missing === undefined) return;
  const why = imported!.value.problems[0]?.message ?? "for an unknown reason";
  throw new AdminError("unavailable", `dead letter ${missing} could not be brought to worker ${target}: ${why}`);
}

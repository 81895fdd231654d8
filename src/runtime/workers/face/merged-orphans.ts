import type { Clock } from "#contract";
import {
  AdminError,
  type AdoptOptions,
  type OrphanedQueue,
  type OrphanedQueues,
  type QueueAdoption,
} from "#contract/operations";
import { addUp } from "./merge-counts.js";
import { groupById, type OneOrMore, sums } from "./merge-status.js";
import type { WorkerGroup } from "./worker-group.js";

const CHECK_MS = 500;
/** The first of these states that a worker's part has is that of the whole adoption. */
const STATES: readonly QueueAdoption["state"][] = ["running", "failed", "cancelled", "done"];

/**
 * The orphaned queues of all workers. An exporter had a queue in each worker, and these are one queue here: it is
 * adopted or deleted in all workers that have it, each by its own exporter.
 */
export function mergedOrphans(group: WorkerGroup, clock: Clock): OrphanedQueues {
  const holders = async (id: string): Promise<readonly number[]> => {
    await group.requireAll();
    const { answers } = await group.ask<readonly OrphanedQueue[]>("orphans");
    const found = answers.filter(({ value }) => value.some((queue) => queue.id === id)).map(({ worker }) => worker);
    // The first worker says that there is no such queue.
    return found.length > 0 ? found : [group.first];
  };
  const adoption = async (id: string): Promise<QueueAdoption | undefined> => {
    const { answers } = await group.ask<QueueAdoption | undefined>("orphanAdoption", id);
    const parts = answers.flatMap(({ value }) => value ?? []);
    return parts.length === 0 ? undefined : mergeAdoptions(parts);
  };
  const tellEnd = async (id: string, onEnd: NonNullable<AdoptOptions["onEnd"]>): Promise<void> => {
    const now = await adoption(id).catch(() => undefined);
    if (now !== undefined && now.state !== "running") onEnd(now);
    else clock.after(CHECK_MS, () => void tellEnd(id, onEnd));
  };
  return {
    async list() {
      const { answers } = await group.ask<readonly OrphanedQueue[]>("orphans");
      const all = answers.flatMap(({ worker, value }) => value.map((queue) => ({ ...queue, worker })));
      return [...groupById(all).values()].map(mergeOrphans);
    },
    adoption,
    async adopt(id, { onEnd, ...options }) {
      const request = () => ({ name: "adoptOrphan", args: [id, options] });
      const parts = await group.change<QueueAdoption | undefined>(request, await holders(id));
      const begun = parts.flatMap(({ value }) => value ?? []);
      if (begun.length === 0) throw new AdminError("unavailable", "this agent has no place for queues");
      if (onEnd !== undefined) void tellEnd(id, onEnd);
      return mergeAdoptions(begun);
    },
    async delete(id) {
      const request = () => ({ name: "deleteOrphan", args: [id] });
      const parts = await group.change<number | undefined>(request, await holders(id));
      return sumIfKnown(parts.map(({ value }) => value));
    },
  };
}

function mergeOrphans(parts: OneOrMore<OrphanedQueue & { readonly worker: number }>): OrphanedQueue {
  const [first] = parts;
  const adoptions = parts.flatMap(({ adoption }) => adoption ?? []);
  const places = parts.map(({ worker, place }) => `${place} (worker ${worker})`);
  return {
    id: first.id,
    kind: first.kind,
    place: places.join(", "),
    pending: sumIfKnown(parts.map(({ pending }) => pending)),
    deadLetters: sumIfKnown(parts.map(({ deadLetters }) => deadLetters)),
    ...(adoptions.length > 0 && { adoption: mergeAdoptions(adoptions) }),
  };
}

function mergeAdoptions(parts: readonly QueueAdoption[]): QueueAdoption {
  const { error } = parts.find((part) => part.error !== undefined) ?? {};
  return {
    ...parts[0]!,
    startedAt: Math.min(...parts.map(({ startedAt }) => startedAt)),
    state: STATES.find((state) => parts.some((part) => part.state === state))!,
    ...sums(parts, ["total", "moved"]),
    skipped: addUp(parts.map(({ skipped }) => skipped)),
    ...(error !== undefined && { error }),
  };
}

function sumIfKnown(numbers: readonly (number | undefined)[]): number | undefined {
  return numbers.reduce((sum, each) => (sum === undefined || each === undefined ? undefined : sum + each), 0);
}

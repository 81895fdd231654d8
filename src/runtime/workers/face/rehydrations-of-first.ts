import type { Clock } from "#contract";
import type { Rehydration, RehydrationStarter, Rehydrations } from "#contract/rehydration";
import type { WorkerGroup } from "./worker-group.js";

const CHECK_MS = 500;

/** Rehydrations of an agent with several workers. The first worker, which has a queue of each exporter, runs them all. */
export function rehydrationsOf(group: WorkerGroup, clock: Clock): Rehydrations {
  const get = (id: string) => group.askOne<Rehydration | undefined>(group.first, "rehydration", id);
  const tellEnd = async (id: string, onEnd: NonNullable<RehydrationStarter["onEnd"]>): Promise<void> => {
    const job = await get(id).catch(() => undefined);
    if (job === undefined || job.state === "running") clock.after(CHECK_MS, () => void tellEnd(id, onEnd));
    else if (job.state !== "interrupted") onEnd(job);
  };
  return {
    async start(request, { onEnd, ...starter }) {
      const job = await group.askOne<Rehydration>(group.first, "startRehydration", request, starter);
      if (onEnd !== undefined) void tellEnd(job.id, onEnd);
      return job;
    },
    list: (limit) => group.askOne(group.first, "rehydrations", limit),
    get,
    cancel: (id) => group.askOne(group.first, "cancelRehydration", id),
  };
}

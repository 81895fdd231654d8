import type { ReplayJob } from "#contract/operations";
import { AdminError, type ReplayOptions, type Selection } from "#contract/operations";
import type { DeadLetterAdmin } from "./dead-letter-admin.js";

const POLL_MS = 250;

export interface FollowOptions {
  /** Also until every entry that was put back has left its queue; undefined: not. */
  readonly waitsMs?: number | undefined;
  readonly onProgress: (done: number, total: number) => void;
  /** Cancels what is not put back yet, and waits no longer. */
  readonly abort: AbortSignal;
}

/** Starts a replay and follows it to its end; gives how it was then. */
export async function followReplay(
  admin: DeadLetterAdmin,
  selection: Selection,
  options: ReplayOptions,
  { waitsMs, onProgress, abort }: FollowOptions,
): Promise<ReplayJob> {
  let job = await admin.startReplay(selection, options);
  const endsAt = performance.now() + (waitsMs ?? 0);
  for (let isCancelled = false; ; ) {
    const isPut = job.report !== undefined;
    const settled = job.delivered + job.failedAgain;
    onProgress(isPut ? settled : job.done, isPut ? job.queued : job.total);
    if (job.state === "failed") throw new AdminError("unavailable", job.error ?? "the replay failed");
    const isOver = waitsMs === undefined || job.isSettled || abort.aborted || performance.now() >= endsAt;
    if (isPut && job.dryRun) return job;
    if (isPut && isOver) return (await admin.replayJob(job.id)) ?? job;
    if (abort.aborted && !isPut && !isCancelled) {
      isCancelled = true;
      await admin.controlReplay(job.id, "cancel");
    }
    await pause(abort);
    job = (await admin.replayJob(job.id)) ?? job;
  }
}

function pause(abort: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(end, POLL_MS);
    function end() {
      clearTimeout(timer);
      abort.removeEventListener("abort", end);
      resolve();
    }
    abort.addEventListener("abort", end);
  });
}

import type { ReplayJob } from "#contract/operations";
import { AdminError, type ReplayOptions, type Selection } from "#contract/operations";
import type { DeadLetterAdmin } from "./dead-letter-admin.js";

const POLL_MS = 250;

export interface FollowOptions {
  /** How long to wait, in milliseconds, until every replayed entry has left its queue; undefined: do not wait. */
  readonly waitsMs?: number | undefined;
  readonly onProgress: (done: number, total: number) => void;
  /** Cancels the rest of the replay, and stops waiting. */
  readonly abort: AbortSignal;
}

/** Starts a replay, follows it to its end, and returns its final state. */
export async function followReplay(
  admin: DeadLetterAdmin,
  selection: Selection,
  options: ReplayOptions,
  { waitsMs, onProgress, abort }: FollowOptions,
): Promise<ReplayJob> {
  let job = await admin.startReplay(selection, options);
  const endsAt = performance.now() + (waitsMs ?? 0);
  for (let isCancelled = false; ; ) {
    const isReplayed = job.report !== undefined;
    const settled = job.delivered + job.failedAgain;
    onProgress(isReplayed ? settled : job.done, isReplayed ? job.queued : job.total);
    if (job.state === "failed") throw new AdminError("unavailable", job.error ?? "the replay failed");
    const isOver = waitsMs === undefined || job.isSettled || abort.aborted || performance.now() >= endsAt;
    if (isReplayed && job.dryRun) return job;
    if (isReplayed && isOver) return (await admin.replayJob(job.id)) ?? job;
    if (abort.aborted && !isReplayed && !isCancelled) {
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

import { AdminError, type ReplayJob, type ReplayOptions, type Selection } from "#contract/operations";
import type { Output } from "../terminal.js";
import type { DeadLetterAdmin } from "./remote.js";

const POLL_MS = 250;

interface FollowOptions {
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

const SKIP_REASONS: Readonly<Record<string, string>> = {
  skip_approval:
    "partly accepted by the backend before, or matched by replay.require_approval (--approve sends all records again)",
  skip_max_replays: "replayed too often (--approve replays them once more)",
  skip_pipeline:
    "their pipeline is not in the config (--pipeline NAME processes them like that pipeline, --as-is sends them unprocessed)",
  skip_schema: "no longer readable, or refused by a processor such as versioning",
  skip_expired: "older than dead_letter.retention",
  skip_downstream: "the backend is down: its circuit breaker is open",
  skip_not_found: "not found among the dead letters",
  skip_transform: "a statement of --transform fails on them",
  skip_destination:
    "the exporter of --to is in no pipeline of their signal, or they have not passed the processors of their own pipeline",
  skip_source:
    "Sluice cannot mark their messages as replayed at the source: the source cannot be reached, no agent runs, or the messages have not failed there (--approve replays them anyway)",
  skip_moving: "an interrupted move to another exporter includes them (--approve sends them anyway)",
};

/** Says why an entry was left where it is. */
export function skipReason(reason: string): string {
  return SKIP_REASONS[reason] ?? reason;
}

interface Progress {
  show(done: number, total: number): void;
  /** Removes the bar. */
  end(): void;
}

const WIDTH = 30;

/** A progress bar on a terminal; prints nothing elsewhere. */
export function progressBar(output: Output): Progress {
  if (!output.isTerminal) return { show() {}, end() {} };
  let shown = "";
  return {
    show(done, total) {
      const filled = total === 0 ? 0 : Math.round((done / total) * WIDTH);
      const text = `[${"#".repeat(filled)}${" ".repeat(WIDTH - filled)}] ${done} of ${total}`;
      if (text !== shown) output.write(`\r\x1b[K${text}`);
      shown = text;
    },
    end() {
      if (shown !== "") output.write("\r\x1b[K");
    },
  };
}

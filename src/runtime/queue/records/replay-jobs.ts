import { randomBytes } from "node:crypto";
import type { Clock } from "#contract";
import {
  type Admin,
  AdminError,
  type ReplayJob,
  type ReplayOptions,
  type ReplayReport,
  type Selection,
} from "#contract/operations";
import { waitAtMost } from "#contract/time";
import type { ReplayTracker } from "./replay-tracker.js";

const MAX_RUNNING = 8;
/** If a replay ends within this time, the answer has its report. */
const ANSWER_AFTER_MS = 1000;

/** A replay that is putting entries back. */
interface RunningReplay {
  readonly abort: AbortController;
  /** Set while the replay is paused. `ended` resolves when it continues. */
  pause: { readonly ended: Promise<void>; end(): void } | undefined;
}

/** Runs replays in the background. The tracker remembers them after they have ended. */
export class ReplayJobs {
  private readonly running = new Map<string, RunningReplay>();
  private readonly tracker: ReplayTracker;
  private readonly clock: Clock;

  constructor(tracker: ReplayTracker, clock: Clock) {
    this.tracker = tracker;
    this.clock = clock;
  }

  /** Resolves when the replay is done, or after a short time. Rejects if the request is invalid. */
  async start(admin: Pick<Admin, "replay">, selection: Selection, options: ReplayOptions): Promise<ReplayJob> {
    if (this.running.size >= MAX_RUNNING)
      throw new AdminError("conflict", `${this.running.size} replays are running: wait for one to end, or cancel one`);
    const { id = randomBytes(6).toString("hex") } = options;
    const { by, reason, dryRun = false, to, transform, rate } = options;
    const begun = { id, state: "running" as const, by, dryRun, startedAt: this.clock.now(), done: 0, total: 0 };
    const said = {
      ...(reason !== undefined && { reason }),
      ...(to !== undefined && { to }),
      ...(transform && { transform }),
      ...(rate !== undefined && { rate }),
    };
    this.tracker.begin({ ...begun, ...said });
    const work = this.run(id, admin, selection, options);
    work.catch(() => {});
    if (options.revealSamples) return this.withSamples(id, await work);
    await waitAtMost(ANSWER_AFTER_MS, work, this.clock);
    return (await this.tracker.get(id))!;
  }

  /** Unmasked samples are returned only to the operator who asked for them, and are not stored. */
  private async withSamples(id: string, { samples }: ReplayReport): Promise<ReplayJob> {
    const job = (await this.tracker.get(id))!;
    return { ...job, report: { ...job.report!, ...(samples && { samples }) } };
  }

  cancel(id: string): void {
    const running = this.require(id);
    running.abort.abort();
    running.pause?.end();
  }

  pause(id: string): void {
    const running = this.require(id);
    if (running.pause !== undefined) return;
    let end = () => {};
    const ended = new Promise<void>((resolve) => {
      end = resolve;
    });
    running.pause = { ended, end };
    this.tracker.update(id, { state: "paused" });
  }

  resume(id: string): void {
    const running = this.require(id);
    running.pause?.end();
    running.pause = undefined;
    this.tracker.update(id, { state: "running" });
  }

  cancelAll(): void {
    for (const id of this.running.keys()) this.cancel(id);
  }

  private require(id: string): RunningReplay {
    const running = this.running.get(id);
    if (running !== undefined) return running;
    throw new AdminError("conflict", "this replay is not running; GET /replays lists those that are");
  }

  private async run(
    id: string,
    admin: Pick<Admin, "replay">,
    selection: Selection,
    options: ReplayOptions,
  ): Promise<ReplayReport> {
    const running: RunningReplay = { abort: new AbortController(), pause: undefined };
    this.running.set(id, running);
    let [done, total] = [0, 0];
    const onProgress = (newDone: number, newTotal: number) => {
      [done, total] = [newDone, newTotal];
      this.tracker.update(id, { done, total });
    };
    const whenResumed = () => running.pause?.ended;
    const { signal } = running.abort;
    try {
      const report = await admin.replay(selection, { ...options, id, abort: signal, onProgress, whenResumed });
      const state = signal.aborted && done < total ? "cancelled" : "done";
      const { samples: _, ...withoutSamples } = report;
      const kept = options.revealSamples ? withoutSamples : report;
      this.tracker.update(id, { report: kept, state, endedAt: this.clock.now() });
      return report;
    } catch (error) {
      const failed = { state: "failed" as const, error: (error as Error).message, endedAt: this.clock.now() };
      if (done === 0) this.tracker.forget(id);
      else this.tracker.update(id, failed);
      throw error;
    } finally {
      this.running.delete(id);
    }
  }
}

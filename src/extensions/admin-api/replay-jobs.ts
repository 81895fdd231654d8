import { randomBytes } from "node:crypto";
import type { Clock } from "../../plugin.js";
import {
  type Admin,
  AdminError,
  type ReplayOptions,
  type ReplayReport,
  type Selection,
  waitAtMost,
} from "../../runtime/kit.js";

/** A replay that goes on after its request was answered. */
export interface ReplayJob {
  readonly id: string;
  readonly state: "running" | "done" | "cancelled" | "failed";
  readonly by: string;
  readonly dryRun: boolean;
  readonly startedAt: number;
  readonly endedAt?: number;
  readonly done: number;
  readonly total: number;
  readonly report?: ReplayReport;
  readonly error?: string;
}

const MAX_RUNNING = 8;
const MAX_JOBS = 100;
/** A replay that is done by then is answered with its report. */
const ANSWER_AFTER_MS = 1000;

type MutableJob = { -readonly [Key in keyof ReplayJob]: ReplayJob[Key] } & { readonly abort: AbortController };

/** Runs replays in the background; remembers the last of those that have ended. */
export class ReplayJobs {
  private readonly jobs = new Map<string, MutableJob>();
  private readonly clock: Clock;

  constructor(clock: Clock) {
    this.clock = clock;
  }

  /** Resolves when it is done, or after a moment. Rejects when the request itself is bad; then there is no job. */
  async start(
    admin: Admin,
    selection: Selection,
    options: Omit<ReplayOptions, "abort" | "onProgress">,
  ): Promise<ReplayJob> {
    const running = [...this.jobs.values()].filter(({ state }) => state === "running").length;
    if (running >= MAX_RUNNING) {
      throw new AdminError("conflict", `${running} replays are running: wait for one to end, or cancel one`);
    }
    const job = this.create(options.by, options.dryRun ?? false);
    const work = this.run(job, admin, selection, options);
    try {
      await waitAtMost(ANSWER_AFTER_MS, work, this.clock);
    } catch (error) {
      if (job.done === 0) this.jobs.delete(job.id);
      throw error;
    }
    if (job.state === "running") work.catch(() => {});
    return publicJob(job);
  }

  all(): ReplayJob[] {
    return [...this.jobs.values()].map(publicJob);
  }

  get(id: string): ReplayJob | undefined {
    const job = this.jobs.get(id);
    return job && publicJob(job);
  }

  /** What was put back stays so. */
  cancel(id: string): ReplayJob | undefined {
    this.jobs.get(id)?.abort.abort();
    return this.get(id);
  }

  cancelAll(): void {
    for (const { abort } of this.jobs.values()) abort.abort();
  }

  private create(by: string, dryRun: boolean): MutableJob {
    const id = randomBytes(6).toString("hex");
    const abort = new AbortController();
    const job: MutableJob = { id, state: "running", by, dryRun, startedAt: this.clock.now(), done: 0, total: 0, abort };
    this.jobs.set(id, job);
    for (const [old, { state }] of this.jobs) {
      if (this.jobs.size <= MAX_JOBS) break;
      if (state !== "running") this.jobs.delete(old);
    }
    return job;
  }

  private async run(job: MutableJob, admin: Admin, selection: Selection, options: ReplayOptions): Promise<void> {
    const onProgress = (done: number, total: number) => Object.assign(job, { done, total });
    try {
      job.report = await admin.replay(selection, { ...options, abort: job.abort.signal, onProgress });
      job.state = job.abort.signal.aborted && job.done < job.total ? "cancelled" : "done";
    } catch (error) {
      job.state = "failed";
      job.error = (error as Error).message;
      throw error;
    } finally {
      job.endedAt = this.clock.now();
    }
  }
}

function publicJob({ abort: _, ...job }: MutableJob): ReplayJob {
  return { ...job };
}

import type { Clock } from "#contract";
import { type Cron, parseCron } from "#contract/time";
import { AutoReplay } from "./auto-replay.js";
import type { ReplayServices } from "./change/replay-chunk.js";
import { type ExporterControl, hasQueue } from "./exporter-control.js";
import { createRetention } from "./retention.js";

const RETENTION_INTERVAL_MS = 5000;
const MIN_AUTO_REPLAY_INTERVAL_MS = 1000;
/** Made once: an error keeps what was on the stack when it was made, and with it the parts of an old config. */
const STOPPED = new Error("the maintenance of dead letters was stopped");

/** How often the clock is compared with a schedule, so that a clock that jumps does not delay a run for long. */
const SCHEDULE_CHECK_MS = 60_000;

/**
 * Starts the maintenance of one exporter's dead letters: retention, and automatic replay if configured. The returned
 * function stops it. A failed round is logged, and the next one tries again.
 */
export function startDeadLetterMaintenance(control: ExporterControl, services: ReplayServices): () => void {
  if (!hasQueue(control)) return () => {};
  const { enabled, interval, schedule, time_zone } = control.settings.dead_letter.auto_replay;
  const stopped = new AbortController();
  const start = (work: () => Promise<void>, delayMs: () => number) =>
    repeat(work, delayMs, stopped.signal, control.id, services);
  start(createRetention(control, services), () => RETENTION_INTERVAL_MS);
  if (!enabled) return () => stopped.abort(STOPPED);
  const autoReplay = new AutoReplay(control, services);
  const cron = parseCron(schedule, time_zone);
  if ("problem" in cron)
    start(
      () => autoReplay.replayBatch(stopped.signal),
      () => Math.max(interval, MIN_AUTO_REPLAY_INTERVAL_MS),
    );
  else {
    const scheduled = new Scheduled(cron, services.clock, () => autoReplay.replayAll(stopped.signal));
    start(
      () => scheduled.check(),
      () => scheduled.delayMs(),
    );
  }
  return () => stopped.abort(STOPPED);
}

/** Runs work at the times of a schedule. A time that passes while the work is under way is left out. */
class Scheduled {
  private readonly cron: Cron;
  private readonly clock: Clock;
  private readonly work: () => Promise<void>;
  private due: number;

  constructor(cron: Cron, clock: Clock, work: () => Promise<void>) {
    this.cron = cron;
    this.clock = clock;
    this.work = work;
    this.due = cron.next(clock.now());
  }

  delayMs(): number {
    return Math.max(0, Math.min(this.due - this.clock.now(), SCHEDULE_CHECK_MS));
  }

  async check(): Promise<void> {
    const now = this.clock.now();
    try {
      if (now >= this.due) await this.work();
    } finally {
      const next = this.cron.next(this.clock.now());
      // A clock that was set back has the next time earlier than it was.
      this.due = now >= this.due ? next : Math.min(this.due, next);
    }
  }
}

/** Each round starts `delayMs` after the end of the previous one. */
function repeat(
  work: () => Promise<void>,
  delayMs: () => number,
  stopped: AbortSignal,
  exporter: string,
  services: ReplayServices,
): void {
  const scheduleNext = () => {
    const cancel = services.clock.after(delayMs(), () => {
      stopped.removeEventListener("abort", cancel);
      void round();
    });
    stopped.addEventListener("abort", cancel, { once: true });
  };
  const round = async () => {
    try {
      await work();
    } catch (error) {
      if (!stopped.aborted)
        services.logger.error({ err: error, exporter }, "maintenance of dead letters failed; will try again");
    }
    if (!stopped.aborted) scheduleNext();
  };
  scheduleNext();
}

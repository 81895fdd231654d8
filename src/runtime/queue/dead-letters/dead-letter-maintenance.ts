import { createAutoReplay } from "./auto-replay.js";
import type { ReplayServices } from "./change/replay-chunk.js";
import { type ExporterControl, hasQueue } from "./exporter-control.js";
import { createRetention } from "./retention.js";

const RETENTION_INTERVAL_MS = 5000;
const MIN_AUTO_REPLAY_INTERVAL_MS = 1000;

/**
 * Starts the maintenance of one exporter's dead letters: retention, and automatic replay if configured. The returned
 * function stops it. A failed round is logged, and the next one tries again.
 */
export function startDeadLetterMaintenance(control: ExporterControl, services: ReplayServices): () => void {
  if (!hasQueue(control)) return () => {};
  const { enabled, interval } = control.settings.dead_letter.auto_replay;
  const stopped = new AbortController();
  const every = (ms: number, work: () => Promise<void>) => repeat(ms, work, stopped.signal, control.id, services);
  every(RETENTION_INTERVAL_MS, createRetention(control, services));
  if (enabled) {
    const autoReplay = createAutoReplay(control, services);
    every(Math.max(interval, MIN_AUTO_REPLAY_INTERVAL_MS), () => autoReplay(stopped.signal));
  }
  return () => stopped.abort();
}

/** Each round starts `ms` after the end of the previous one. */
function repeat(
  ms: number,
  work: () => Promise<void>,
  stopped: AbortSignal,
  exporter: string,
  services: ReplayServices,
): void {
  const scheduleNext = () => {
    const cancel = services.clock.after(ms, () => {
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

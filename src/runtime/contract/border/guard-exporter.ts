import type { Batch } from "#otlp";
import { isMalformed } from "#otlp/signals";
import type { Clock } from "../clock.js";
import { errorMessage } from "../errors/error-message.js";
import type { Exporter, SendOptions } from "../exporter.js";
import { limitedLog } from "../limited-log.js";
import type { Logger } from "../observability.js";

/** Services for guarding a plugin's exporter. */
interface ExporterGuardServices {
  readonly logger: Logger;
  readonly clock: Clock;
  readonly pluginTracker?: PluginTracker | undefined;
}

/**
 * Wraps a plugin's exporter so that its methods always return promises and its `send` is tracked while it runs. A
 * programming error in it is logged as such; for the queue it is a failed attempt like any other.
 */
export function guardExporter(id: string, exporter: Exporter, services: ExporterGuardServices): Exporter {
  const { pluginTracker, logger, clock } = services;
  const trackerId = pluginTracker?.register(`exporter ${id}`) ?? 0;
  const logMistake = limitedLog<unknown>(clock, (error, suppressed) =>
    logger.error({ err: error, suppressed }, `the exporter failed: ${errorMessage(error)}`),
  );
  return {
    ...(exporter.start && { start: async () => exporter.start!() }),
    ...(exporter.check && { check: async (abort: AbortSignal) => exporter.check!(abort) }),
    ...(exporter.stop && { stop: async () => exporter.stop!() }),
    async send(batch: Batch, abort: AbortSignal, options?: SendOptions) {
      const before = pluginTracker?.enter(trackerId);
      let sending: ReturnType<Exporter["send"]>;
      try {
        try {
          sending = exporter.send(batch, abort, options);
        } finally {
          pluginTracker?.enter(before!);
        }
        return await sending;
      } catch (error) {
        if (!abort.aborted && isMistake(error)) logMistake(error);
        throw error;
      }
    },
  };
}

/** Whether the error is a programming error. An error with a code comes from outside, such as a refused connection. */
function isMistake(error: unknown): boolean {
  try {
    if (!(error instanceof Error) || isMalformed(error)) return false;
    const { code, cause } = error as { code?: unknown; cause?: { code?: unknown } | null };
    return code === undefined && cause?.code === undefined;
  } catch {
    return true;
  }
}

/**
 * Records which plugin's code is running, so that the watchdog can name it if it hangs. This costs one write to memory.
 */
export interface PluginTracker {
  /** Returns a number for the component; 0 stands for none. */
  register(component: string): number;
  /**
   * To be called when the component's code begins. Returns what was running before, which must be entered again
   * afterwards.
   */
  enter(component: number): number;
}

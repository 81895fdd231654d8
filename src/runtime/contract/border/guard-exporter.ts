import type { Batch } from "#otlp";
import { isMalformed } from "#otlp/signals";
import type { Clock } from "../clock.js";
import type { Exporter, SendOptions } from "../component.js";
import { errorMessage } from "../errors/error-message.js";
import { limitedLog } from "../limited-log.js";
import type { Logger } from "../observability.js";
import type { PluginTracker } from "./plugin-tracker.js";

/** What is told of a plugin's exporter. */
export interface ExporterGuardServices {
  readonly logger: Logger;
  readonly clock: Clock;
  readonly pluginTracker?: PluginTracker | undefined;
}

/**
 * A plugin's exporter whose methods always give promises, and whose `send` is watched while it runs. A mistake in its code
 * is logged as such: for the queue it is one more attempt that failed.
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

/** Thrown by nobody on purpose. What has a code is a failure of the world outside, such as a connection refused. */
function isMistake(error: unknown): boolean {
  try {
    if (!(error instanceof Error) || isMalformed(error)) return false;
    const { code, cause } = error as { code?: unknown; cause?: { code?: unknown } | null };
    return code === undefined && cause?.code === undefined;
  } catch {
    return true;
  }
}

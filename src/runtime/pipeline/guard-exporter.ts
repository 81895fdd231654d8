import type { Clock } from "../contract/clock.js";
import type { Exporter, SendOptions } from "../contract/component.js";
import type { PartialRejection } from "../contract/delivery.js";
import { errorMessage } from "../contract/error-message.js";
import { limitedLog } from "../contract/limited-log.js";
import type { Logger } from "../contract/observability.js";
import type { PluginTracker } from "../contract/plugin-tracker.js";
import type { Batch } from "../telemetry/batch.js";
import { isMalformed } from "../telemetry/bytes/malformed.js";

/** What is told of a plugin's exporter. */
export interface ExporterGuardServices {
  readonly logger: Logger;
  readonly clock: Clock;
  readonly pluginTracker?: PluginTracker | undefined;
}

/**
 * A plugin's exporter that keeps to the contract whatever it does: `send` always gives a promise, of a rejection or
 * nothing. A mistake in its code is logged as such: for the queue it is one more attempt that failed.
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
      let sending: unknown;
      try {
        try {
          sending = exporter.send(batch, abort, options);
        } finally {
          pluginTracker?.enter(before!);
        }
        return readRejection(await sending);
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

/** The batch was sent: an answer that cannot be read must not have it sent again. */
function readRejection(answer: unknown): PartialRejection | undefined {
  if (typeof answer !== "object" || answer === null) return undefined;
  try {
    const { rejected, message } = answer as Partial<PartialRejection>;
    return typeof rejected === "number" ? { rejected, message: errorMessage(message ?? "") } : undefined;
  } catch {
    return undefined;
  }
}

import type { Batch } from "../../telemetry/batch.js";
import type { Exporter, SendOptions } from "../component.js";
import type { PartialRejection } from "../delivery.js";
import { errorMessage } from "../error-message.js";
import type { PluginTracker } from "../plugin-tracker.js";

/** A plugin's exporter that keeps to the contract whatever it does: `send` always gives a promise, of a rejection or nothing. */
export function guardExporter(id: string, exporter: Exporter, pluginTracker: PluginTracker | undefined): Exporter {
  const trackerId = pluginTracker?.register(`exporter ${id}`) ?? 0;
  return {
    ...(exporter.start && { start: async () => exporter.start!() }),
    ...(exporter.check && { check: async (abort: AbortSignal) => exporter.check!(abort) }),
    ...(exporter.stop && { stop: async () => exporter.stop!() }),
    async send(batch: Batch, abort: AbortSignal, options?: SendOptions) {
      const before = pluginTracker?.enter(trackerId);
      let sending: unknown;
      try {
        sending = exporter.send(batch, abort, options);
      } finally {
        pluginTracker?.enter(before!);
      }
      return readRejection(await sending);
    },
  };
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

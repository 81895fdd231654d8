import type { Batch } from "../../telemetry/batch.js";
import type { Exporter, SendOptions } from "../component.js";
import type { PluginTracker } from "../plugin-tracker.js";

/** A plugin's exporter whose methods always give promises, and whose `send` is watched while it runs. */
export function guardExporter(id: string, exporter: Exporter, pluginTracker: PluginTracker | undefined): Exporter {
  const trackerId = pluginTracker?.register(`exporter ${id}`) ?? 0;
  return {
    ...(exporter.start && { start: async () => exporter.start!() }),
    ...(exporter.check && { check: async (abort: AbortSignal) => exporter.check!(abort) }),
    ...(exporter.stop && { stop: async () => exporter.stop!() }),
    async send(batch: Batch, abort: AbortSignal, options?: SendOptions) {
      const before = pluginTracker?.enter(trackerId);
      try {
        return exporter.send(batch, abort, options);
      } finally {
        pluginTracker?.enter(before!);
      }
    },
  };
}

import { defineExporter, defineReceiver, type Intake } from "../contract/component.js";
import type { Outcome } from "../contract/delivery.js";
import type { Batch } from "../telemetry/batch.js";
import type { Signal } from "../telemetry/signal.js";

/** A receiver and an exporter, both called `memory`, that a test holds the other ends of. */
export class MemoryComponents {
  readonly exported: Batch[] = [];
  private intakes: Readonly<Partial<Record<Signal, Intake>>> = {};

  readonly receiver = defineReceiver({
    type: "memory",
    summary: "Takes what a test hands in.",
    create: (_config, { intakes }) => {
      this.intakes = intakes;
      return { start: async () => {}, stop: async () => {} };
    },
  });

  readonly exporter = defineExporter({
    type: "memory",
    summary: "Keeps what it gets, for a test to look at.",
    create: () => ({
      send: async (batch) => {
        this.exported.push(batch);
        return undefined;
      },
    }),
  });

  async send(batch: Batch): Promise<Outcome> {
    const intake = this.intakes[batch.signal];
    if (intake === undefined) throw new Error(`no pipeline reads ${batch.signal} from the receiver memory`);
    return intake.accept(batch);
  }
}

import { z } from "zod";
import { type Batch, defineExporter, type ExporterFactory, Refusal, SIGNALS } from "../../src/plugin.js";

/** An exporter of tests: keeps what it is sent, once it is let. */
export interface CollectingExporter {
  readonly factory: ExporterFactory;
  readonly batches: Batch[];
  readonly count: number;
  /** How many sends wait for the gate. */
  readonly waiting: number;
  /** How many sends it has refused. */
  readonly refused: number;
  /** From now on sends wait. */
  shut(): void;
  open(): void;
  /** From now on sends are refused with this; undefined: taken. */
  refuse(refusal: Refusal | undefined): void;
}

/** Its type is `collect`. */
export function collectingExporter(): CollectingExporter {
  const batches: Batch[] = [];
  let gate: { readonly opened: Promise<void>; readonly open: () => void } | undefined;
  let refusal: Refusal | undefined;
  let waiting = 0;
  let refused = 0;
  const factory = defineExporter({
    type: "collect",
    summary: "test",
    signals: SIGNALS,
    schema: z.strictObject({}),
    create: () => ({
      async send(batch) {
        waiting++;
        await gate?.opened;
        waiting--;
        if (refusal !== undefined) {
          refused++;
          throw new Refusal(refusal.kind, refusal.message);
        }
        batches.push(batch);
        return undefined;
      },
    }),
  }) as ExporterFactory;
  return {
    factory,
    batches,
    get count() {
      return batches.reduce((sum, batch) => sum + batch.count, 0);
    },
    get waiting() {
      return waiting;
    },
    get refused() {
      return refused;
    },
    shut() {
      let open = () => {};
      const opened = new Promise<void>((resolve) => {
        open = resolve;
      });
      gate = { opened, open };
    },
    open() {
      gate?.open();
      gate = undefined;
    },
    refuse(next) {
      refusal = next;
    },
  };
}

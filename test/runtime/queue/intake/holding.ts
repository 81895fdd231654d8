import { z } from "zod";
import {
  type ComponentFactory,
  type Delivery,
  defineExporter,
  defineProcessor,
  type PartialRejection,
  Refusal,
  SIGNALS,
  statefulProcessor,
} from "../../../../src/plugin.js";
import { bodies as bodiesOf } from "../../../support/telemetry/batches.js";

/** A processor that holds what it gets until the test lets it go, and an exporter that keeps what it is sent. */
export interface Holding {
  readonly components: readonly ComponentFactory[];
  readonly held: Delivery[];
  /** The bodies of what it has held so far, in order. */
  readonly seen: string[];
  readonly arrived: string[];
  /** Hands on all that is held; gives what has arrived so far. */
  release(): string[];
  bodiesHeld(): string[];
  /** Records of any signal that the exporter has kept. */
  arrivedRecords(): number;
}

/** `answer` is what the exporter says to a batch: nothing when it keeps it, or what it throws. */
export function holding(answer: () => Refusal | PartialRejection | undefined = () => undefined): Holding {
  const held: Delivery[] = [];
  const seen: string[] = [];
  const arrived: string[] = [];
  let records = 0;
  let handOn: (delivery: Delivery) => void = () => {};
  const hold = defineProcessor({
    type: "hold",
    summary: "test",
    signals: SIGNALS,
    schema: z.strictObject({}),
    maxHeldBytes: () => ({ bytes: 1024, path: [] }),
    create: () =>
      statefulProcessor((out) => {
        handOn = (delivery) => out.next(delivery);
        return {
          next(delivery) {
            held.push(delivery);
            seen.push(...bodiesOf(delivery.batch));
          },
          abort: () => void held.splice(0),
        };
      }),
  });
  const collect = defineExporter({
    type: "collect",
    summary: "test",
    signals: SIGNALS,
    schema: z.strictObject({}),
    create: () => ({
      async send(batch) {
        const said = answer();
        if (said instanceof Refusal) throw said;
        records += batch.count;
        arrived.push(...bodiesOf(batch));
        return said;
      },
    }),
  });
  const release = () => {
    for (const delivery of held.splice(0)) handOn(delivery);
    return arrived;
  };
  const bodiesHeld = () => held.flatMap(({ batch }) => bodiesOf(batch));
  const arrivedRecords = () => records;
  return { components: [hold, collect], held, seen, arrived, release, bodiesHeld, arrivedRecords };
}

import { Observable } from "rxjs";
import type { Batch } from "../telemetry/batch.js";
import type { Processor } from "./component.js";
import type { DeadLetter } from "./dead-letter.js";
import type { Delivery } from "./delivery.js";
import { Refusal } from "./refusal.js";

/** What a function of one batch may answer: a batch, several, dead letters, or null (or none) to drop it on purpose. */
export type BatchResult = Batch | DeadLetter | readonly (Batch | DeadLetter)[] | null;

/**
 * A processor from a function of one batch, the way most processors are written.
 *
 * The batch it returns goes on in the place of the one it got; several share the debt; null or an empty list drops the
 * batch, which acknowledges it. A throw or rejection refuses that batch alone. Returning nothing at all is a mistake
 * and refuses, so that a forgotten `return` cannot lose data. Batches go through one at a time and leave in the order
 * in which they came, also when the function is asynchronous.
 */
export function eachBatch(
  process: (batch: Batch, delivery: Delivery) => BatchResult | Promise<BatchResult>,
): Processor {
  return (source) =>
    new Observable<Delivery>((out) => {
      let tail: Promise<void> | undefined;
      const emit = (delivery: Delivery, result: BatchResult) => {
        for (const next of outputs(delivery, result)) out.next(next);
      };
      const run = (delivery: Delivery): Promise<void> | undefined => {
        try {
          const result = process(delivery.batch, delivery);
          if (result instanceof Promise) return result.then((r) => emit(delivery, r)).catch((e) => delivery.refuse(e));
          emit(delivery, result);
        } catch (error) {
          delivery.refuse(error);
        }
        return undefined;
      };
      const queue = (work: Promise<void> | undefined) => {
        if (work === undefined) return;
        const mine = work.finally(() => {
          if (tail === mine) tail = undefined;
        });
        tail = mine;
      };
      return source.subscribe({
        next: (delivery) => queue(tail === undefined ? run(delivery) : tail.then(() => run(delivery))),
        error: (error) => out.error(error),
        complete: () => (tail === undefined ? out.complete() : void tail.then(() => out.complete())),
      });
    });
}

function outputs(delivery: Delivery, result: BatchResult): readonly Delivery[] {
  if (result === null) {
    delivery.accept();
    return NONE;
  }
  if (result === undefined) throw new Refusal("transient", FORGOTTEN, { code: "SLUICE_NO_RESULT" });
  return delivery.split(Array.isArray(result) ? result : [result as Batch | DeadLetter]);
}

const NONE: readonly Delivery[] = [];
const FORGOTTEN = "the processor's function returned nothing: return the batch to pass it on, or null to drop it";

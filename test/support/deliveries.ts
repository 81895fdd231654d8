import { Subject } from "rxjs";
import type { Batch, Delivery, Origin, Outcome, Processor } from "../../src/plugin.js";
import { Debt } from "../../src/runtime/contract/debt.js";
import { Delivery as DeliveryClass } from "../../src/runtime/contract/delivery.js";

/** A delivery and the list its outcome is written to. */
export function owed(batch: Batch, origin: Partial<Origin> = {}): { delivery: Delivery; outcomes: Outcome[] } {
  const outcomes: Outcome[] = [];
  const debt = new Debt((outcome) => outcomes.push(outcome));
  return { delivery: new DeliveryClass(batch, { receiver: "test", transport: "test", ...origin }, debt), outcomes };
}

/** A processor between a hand-fed source and a list of what came out. */
export function feed(processor: Processor): {
  source: Subject<Delivery>;
  out: Delivery[];
  errors: unknown[];
  isComplete: () => boolean;
  unsubscribe: () => void;
} {
  const source = new Subject<Delivery>();
  const out: Delivery[] = [];
  const errors: unknown[] = [];
  let complete = false;
  const subscription = processor(source).subscribe({
    next: (delivery) => out.push(delivery),
    error: (error) => errors.push(error),
    complete: () => {
      complete = true;
    },
  });
  return { source, out, errors, isComplete: () => complete, unsubscribe: () => subscription.unsubscribe() };
}

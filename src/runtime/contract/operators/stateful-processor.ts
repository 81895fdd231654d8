import { Observable } from "rxjs";
import type { Processor } from "../component.js";
import type { Delivery } from "../delivery.js";
import { markHolding } from "./holding.js";

/** The output of a stateful processor. */
export interface DeliveryOutput {
  /** Hands a delivery on. It may be called at any time until the processor has ended, for example by a timer. */
  next(delivery: Delivery): void;
  /**
   * Reports that the processor cannot continue. What it holds is refused with a retryable error, and the processor is
   * created again.
   */
  error(error: unknown): void;
  /** True once the processor has ended. Deliveries handed on afterwards do not arrive. */
  readonly closed: boolean;
}

/** The event handlers of a stateful processor. */
export interface DeliveryHandlers {
  /**
   * Called with a delivery: hold it, hand it on, settle, split or merge it. A throw refuses that delivery alone. If it
   * was already split or merged, it cannot be refused alone, and the throw makes the whole processor fail, like
   * `out.error`.
   */
  next(delivery: Delivery): void;
  /**
   * Called when the input has ended: hand on or settle everything held, now or later. The output ends when this is
   * done.
   */
  drain?(): void | PromiseLike<void>;
  /**
   * Called if the processor ends before `drain` is done, or without it: stop timers and drop what is held.
   * The runtime refuses it.
   */
  abort?(): void;
}

/**
 * Creates a processor that keeps state or holds deliveries back. `create` is called for each run, so the state is in
 * its closure and starts fresh when the processor is created again.
 */
export function statefulProcessor(create: (out: DeliveryOutput) => DeliveryHandlers): Processor {
  const processor: Processor = (source) =>
    new Observable<Delivery>((out) => {
      const handlers = create(out);
      let isDrained = false;
      const finish = () => {
        isDrained = true;
        out.complete();
      };
      const fail = (error: unknown) => out.error(error);
      const upstream = source.subscribe({
        next(delivery) {
          try {
            handlers.next(delivery);
          } catch (error) {
            if (delivery.debt.isDivided) fail(error);
            else delivery.refuse(error);
          }
        },
        error: fail,
        complete() {
          try {
            const draining = handlers.drain?.();
            if (draining === undefined) finish();
            else draining.then(finish, fail);
          } catch (error) {
            fail(error);
          }
        },
      });
      return () => {
        upstream.unsubscribe();
        if (!isDrained) handlers.abort?.();
      };
    });
  return markHolding(processor, "on_purpose");
}

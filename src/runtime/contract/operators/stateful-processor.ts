import { Observable } from "rxjs";
import type { Processor } from "../component.js";
import type { Delivery } from "../delivery.js";
import { markHolding } from "./holding.js";

/** Where a stateful processor hands on what it is done with. */
export interface DeliveryOutput {
  /** Hands a delivery on. It may be called at any time, also by a timer, until the processor has ended. */
  next(delivery: Delivery): void;
  /** The processor cannot go on: what it holds is refused, retryably, and it is made anew. */
  error(error: unknown): void;
  /** True once it has ended: nothing that is handed on then arrives. */
  readonly closed: boolean;
}

/** What a stateful processor does when something happens to it. */
export interface DeliveryHandlers {
  /**
   * A delivery came: hold it, hand it on, settle, split or merge it. A throw refuses that delivery alone; one that was split
   * or merged by then cannot be refused alone, and the throw is the failure of the whole processor, as `out.error` is.
   */
  next(delivery: Delivery): void;
  /** The input has ended: hand on or settle all that is held, at once or later. The output ends when this is done. */
  drain?(): void | PromiseLike<void>;
  /** It ends without being drained, or before `drain` is done: stop timers and let go. The runtime refuses what is held. */
  abort?(): void;
}

/**
 * A processor that keeps state or holds deliveries back. `create` is called for each run of it, so that its state is in the
 * closure and begins anew when the processor is made anew.
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

import { Observable, Subject, type Subscription } from "rxjs";
import type { Processor } from "../contract/component.js";
import { type Delivery, Habitat } from "../contract/delivery.js";
import type { Counter, Logger } from "../contract/observability.js";
import { Refusal } from "../contract/refusal.js";

export interface IsolateSettings {
  readonly id: string;
  readonly logger: Logger;
  readonly incoming: Counter;
  readonly outgoing: Counter;
  readonly failures: Counter;
  /** Also give it what was taken out of the pipeline: for connectors, which decide where that goes. */
  readonly takesSetbacks?: boolean;
}

/**
 * Puts a wall around a processor: whatever it does, the pipeline goes on and every delivery is settled.
 *
 * An operator that errors has lost what it held. Everything inside it at that moment is refused, retryably, and the
 * operator is made anew for the deliveries to come. One that completes by itself is treated the same. `create` is
 * called again for that, so a processor keeps its state inside what it returns. The first call is made here and now: a
 * processor that cannot be made is the caller's to report.
 *
 * What a processor before it took out of the pipeline passes by, unless `takesSetbacks`.
 */
export function isolate(create: () => Processor, settings: IsolateSettings): Processor {
  let first: Processor | undefined = create();
  const make = () => {
    const processor = first ?? create();
    first = undefined;
    return processor;
  };
  return (source) =>
    new Observable<Delivery>((out) => {
      const inside = new Habitat();
      let input = new Subject<Delivery>();
      let current: Subscription | undefined;
      let draining = false;

      const restart = (why: unknown) => {
        const lost = inside.refuseAll(failed(settings.id, why));
        settings.failures.add(1);
        settings.logger.error({ err: why, refused: lost }, "the processor failed and was started anew");
        current?.unsubscribe();
        current = undefined;
        if (draining) out.complete();
      };
      const begin = () => {
        input = new Subject<Delivery>();
        current = make()(input).subscribe({
          next(delivery) {
            inside.leave(delivery.debt);
            if (delivery.setback === undefined) settings.outgoing.add(delivery.batch.count);
            out.next(delivery);
          },
          error: restart,
          complete: () => (draining ? out.complete() : restart(new Error("completed by itself"))),
        });
      };
      const push = (delivery: Delivery) => {
        if (delivery.setback !== undefined && settings.takesSetbacks !== true) return out.next(delivery);
        settings.incoming.add(delivery.batch.count);
        inside.enter(delivery.debt);
        try {
          if (current === undefined || current.closed) begin();
          input.next(delivery);
        } catch (error) {
          restart(error);
        }
      };

      const upstream = source.subscribe({
        next: push,
        error: (error) => out.error(error),
        complete() {
          draining = true;
          if (current === undefined || current.closed) out.complete();
          else input.complete();
        },
      });
      return () => {
        upstream.unsubscribe();
        current?.unsubscribe();
        inside.refuseAll(aborted(settings.id));
      };
    });
}

function failed(id: string, why: unknown): Refusal {
  const message = `processor ${id} failed: ${why instanceof Error ? why.message : String(why)}`;
  return new Refusal("transient", message, { code: "SLUICE_COMPONENT_FAILED", cause: why });
}

function aborted(id: string): Refusal {
  return new Refusal("transient", `processor ${id} was stopped`, { code: "SLUICE_SHUTTING_DOWN" });
}

import { type Observable, Subject, type Subscription } from "rxjs";
import type { Processor } from "../contract/component.js";
import { type Delivery, Habitat } from "../contract/delivery.js";
import type { Logger } from "../contract/observability.js";
import { type Inlet, shuttingDown } from "./intake.js";

/** A pipeline at work. */
export interface RunningPipeline {
  /** Hands a delivery in. After `drain` it refuses. */
  readonly inlet: Inlet;
  /** Lets the processors flush what they hold; resolves when everything has gone to the outlets. */
  drain(): Promise<void>;
  /** Stops at once; what is still inside is refused. */
  abort(): void;
}

/** Runs processors between an inlet and an outlet. The one subscribe of a pipeline is here. */
export function runPipeline(processors: readonly Processor[], outlet: Inlet, logger: Logger): RunningPipeline {
  const source = new Subject<Delivery>();
  const passing = new Habitat();
  let open = true;
  let finished: () => void = () => {};
  const done = new Promise<void>((resolve) => {
    finished = resolve;
  });
  const stream = processors.reduce<Observable<Delivery>>((upstream, processor) => processor(upstream), source);
  const subscription: Subscription = stream.subscribe({
    next: outlet,
    error(error) {
      logger.error({ err: error }, "the pipeline ended on an error");
      finished();
    },
    complete: () => finished(),
  });
  return {
    inlet(delivery) {
      if (!open || subscription.closed) return delivery.refuse(shuttingDown());
      passing.enter(delivery.debt);
      source.next(delivery);
    },
    drain() {
      open = false;
      source.complete();
      return done;
    },
    abort() {
      open = false;
      subscription.unsubscribe();
      passing.refuseAll(shuttingDown());
      finished();
    },
  };
}

import { type Observable, Subject, type Subscription } from "rxjs";
import type { Processor } from "../contract/component.js";
import { HeldDebts } from "../contract/debt.js";
import type { Delivery } from "../contract/delivery.js";
import type { Logger } from "../contract/observability.js";
import type { Journal } from "../contract/outlet.js";
import { type DeliveryConsumer, shutdownRefusal } from "./intake.js";

/** A pipeline at work. */
export interface RunningPipeline {
  /** Hands a delivery in. After `drain` it refuses. */
  readonly consume: DeliveryConsumer;
  /** Lets the processors flush what they hold; resolves when everything has gone to the outlets. */
  drain(): Promise<void>;
  /** Stops at once; what is still inside is refused. */
  abort(): void;
}

/** Runs processors between a consumer and what takes their output. The one subscribe of a pipeline is here. */
export function runPipeline(
  processors: readonly Processor[],
  output: DeliveryConsumer,
  logger: Logger,
): RunningPipeline {
  const source = new Subject<Delivery>();
  const heldDebts = new HeldDebts();
  let open = true;
  let resolveDone: () => void = () => {};
  const done = new Promise<void>((resolve) => {
    resolveDone = resolve;
  });
  const stream = processors.reduce<Observable<Delivery>>((upstream, processor) => processor(upstream), source);
  const subscription: Subscription = stream.subscribe({
    next(delivery) {
      // What has left is for those who take it to settle: a queue may have it on disk while its sender still waits.
      heldDebts.remove(delivery.debt);
      output(delivery);
    },
    error(error) {
      logger.error({ err: error }, "the pipeline ended on an error");
      resolveDone();
    },
    complete: () => resolveDone(),
  });
  return {
    consume(delivery) {
      if (!open || subscription.closed) return delivery.refuse(shutdownRefusal());
      heldDebts.add(delivery.debt);
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
      heldDebts.refuseAll(shutdownRefusal());
      resolveDone();
    },
  };
}

/** A pipeline with a journal in its midst. When it is drained, each part lets nothing more into the next before that flushes. */
export function aroundJournal(before: RunningPipeline, journal: Journal, behind: RunningPipeline): RunningPipeline {
  return {
    consume: before.consume,
    async drain() {
      await before.drain();
      await journal.drain();
      await behind.drain();
    },
    abort() {
      before.abort();
      journal.abort();
      behind.abort();
    },
  };
}

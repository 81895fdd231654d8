import type { SchedulerLike } from "rxjs";
import type { Clock } from "#contract";
import { Debt, Delivery, type Origin, type Outcome } from "#contract";
import type { Batch } from "#otlp";

/** A delivery that a test passes to a processor, and its outcome. */
export interface TestDelivery {
  readonly delivery: Delivery;
  /** Undefined until settled. */
  readonly outcome: Outcome | undefined;
}

/** A delivery of this batch, for testing a processor as a plain operator: with marbles, or with `of(...)`. */
export function testDelivery(batch: Batch, origin: Partial<Origin> = {}): TestDelivery {
  let outcome: Outcome | undefined;
  const debt = new Debt((settled) => {
    outcome = settled;
  });
  return {
    delivery: new Delivery(batch, { receiver: "test", transport: "", ...origin }, debt),
    get outcome() {
      return outcome;
    },
  };
}

/** The time of an RxJS scheduler, such as `TestScheduler`, as the `clock` of a component. */
export function schedulerClock(scheduler: SchedulerLike): Clock {
  return {
    now: () => scheduler.now(),
    monotonic: () => scheduler.now(),
    after(ms, run) {
      const action = scheduler.schedule(() => run(), ms);
      return () => action.unsubscribe();
    },
  };
}

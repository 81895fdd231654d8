import type { SchedulerLike } from "rxjs";
import {
  ACCEPTED,
  type Clock,
  type ComponentContext,
  type ComponentFactory,
  type ComponentKind,
  Debt,
  Delivery,
  type Intake,
  noMetrics,
  type Origin,
  type Outcome,
  silentLogger,
} from "#contract";
import { BUSY_RETRY_AFTER_MS, ERROR_CODES, Refusal } from "#contract/errors";
import type { Batch } from "#otlp";
import { MemoryStore, NoopStore, type QueueStore } from "#queue/store";
import { assertionError } from "./eventually.js";

/** The context that a component of this kind gets in a test. */
export function testContext(kind: ComponentKind, id: string, clock: Clock, random: () => number): ComponentContext {
  return { id, kind, logger: silentLogger, metrics: noMetrics, clock, random };
}

/** Parses a config, as in the YAML, for the component's `create`. Fails with all of its problems. */
export function parseConfig({ schema, type }: ComponentFactory, config: unknown): unknown {
  const { data, error } = schema.safeParse(config ?? {});
  if (error === undefined) return data;
  const lines = error.issues.map(({ path, message }) => `${[type, ...path].map(String).join(".")}: ${message}`);
  throw assertionError(`the config is not valid:\n${lines.join("\n")}`);
}

/** The store of a test's queues and dead letters: none, memory, or your own stores by exporter. */
export type TestQueue = "none" | "noop" | "memory" | ((exporter: string) => QueueStore);

/** Creates each exporter's store; undefined when exporters have no queue. */
export function storeFactory(queue: TestQueue): ((exporter: string) => QueueStore) | undefined {
  switch (queue) {
    case "none":
      return undefined;
    case "noop":
      return (exporter) => new NoopStore({ exporter });
    case "memory":
      return (exporter) => new MemoryStore({ exporter });
    default:
      return queue;
  }
}

/** In-memory stores that outlive the pipelines that use them, for testing restarts. */
export function lastingStores(): (exporter: string) => QueueStore {
  const stores = new Map<string, QueueStore>();
  return (exporter) => {
    const store = stores.get(exporter) ?? new MemoryStore({ exporter });
    stores.set(exporter, store);
    return store;
  };
}

export {
  type EntryRef,
  type NewEntry,
  type OpenReport,
  type QueueStore,
  type StoredEntry,
  StoreError,
  type StoreStats,
} from "#queue/store";
export { MemoryStore, NoopStore };

/** An intake that records its batches and answers as configured. */
export class TestIntake implements Intake {
  readonly batches: Batch[] = [];
  /** Bytes that are reserved and not yet released. */
  reserved = 0;
  /** How many bytes may be reserved. */
  room = Number.POSITIVE_INFINITY;
  answer: (batch: Batch) => Outcome | Promise<Outcome> = () => ACCEPTED;

  async accept(batch: Batch): Promise<Outcome> {
    if (batch.byteLength > this.room) {
      const refusal = new Refusal("throttled", "over the limit", {
        code: ERROR_CODES.SLUICE_OVERLOADED,
        retryAfterMs: BUSY_RETRY_AFTER_MS,
      });
      return { ok: false, refusal };
    }
    this.batches.push(batch);
    return this.answer(batch);
  }

  reserve(bytes: number): boolean {
    if (this.reserved + bytes > this.room) return false;
    this.reserved += bytes;
    return true;
  }

  release(bytes: number): void {
    this.reserved -= bytes;
  }
}

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

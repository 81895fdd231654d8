import type { QueueStore } from "#queue";
import { MemoryStore, NoopStore } from "#queue";

/** Where a test's queues and dead letters are: nowhere, in memory, or in stores of one's own, by exporter. */
export type TestQueue = "none" | "noop" | "memory" | ((exporter: string) => QueueStore);

/** Makes each exporter's store; undefined when exporters are to have no queue. */
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

/** Stores in memory that outlive the pipelines that use them: for what happens after a restart. */
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
} from "#queue";
export { MemoryStore, NoopStore };

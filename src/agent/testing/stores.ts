import { MemoryStore, NoopStore, type QueueStore } from "#queue/store";

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

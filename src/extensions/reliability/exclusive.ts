import type { QueueStore } from "./store/store.js";

const tails = new WeakMap<QueueStore, Promise<unknown>>();

/**
 * Runs the work when all earlier work on the same store's dead letters is done. Whoever changes dead letters looks at
 * them and changes them inside one such turn, so that two of them never act on the same entry.
 */
export function exclusively<T>(store: QueueStore, work: () => Promise<T>): Promise<T> {
  const before = tails.get(store) ?? Promise.resolve();
  const result = before.then(work);
  tails.set(
    store,
    result.catch(() => {}),
  );
  return result;
}

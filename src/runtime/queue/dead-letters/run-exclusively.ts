import type { QueueStore } from "../store/store.js";

const lastTurns = new WeakMap<QueueStore, Promise<unknown>>();

/**
 * Runs the work when all earlier work on the same store's dead letters is done. Whoever changes dead letters looks at
 * them and changes them inside one such turn, so that two of them never act on the same entry.
 */
export function runExclusively<T>(store: QueueStore, work: () => Promise<T>): Promise<T> {
  const previous = lastTurns.get(store) ?? Promise.resolve();
  const result = previous.then(work);
  lastTurns.set(
    store,
    result.catch(() => {}),
  );
  return result;
}

import type { QueueStore } from "../store/store.js";

const lastTurns = new WeakMap<QueueStore, Promise<unknown>>();

/**
 * Runs the work after all earlier work on the same store's dead letters is done. All code that changes dead letters
 * reads and changes them inside one such turn, so that no two changes act on the same entry at once.
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

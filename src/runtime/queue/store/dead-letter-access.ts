import type { EntryRef, QueueStore, StoredEntry } from "./store.js";

export const READ_CHUNK_SIZE = 500;
/** Number of entries that are deleted in one write. */
export const DELETE_CHUNK_SIZE = 200;

/** Yields a store's dead letters. It is safe if entries come or go meanwhile. */
export async function* walkDeadLetters(
  store: QueueStore,
  order: "oldest" | "newest" = "oldest",
  after?: EntryRef,
): AsyncGenerator<StoredEntry> {
  for await (const page of pagesOfDeadLetters(store, order, after)) yield* page;
}

/** Yields a store's dead letters in chunks. */
export async function* pagesOfDeadLetters(
  store: QueueStore,
  order: "oldest" | "newest" = "oldest",
  after?: EntryRef,
  chunkSize = READ_CHUNK_SIZE,
): AsyncGenerator<readonly StoredEntry[]> {
  for (let position = after; ; ) {
    const page = await store.failed(position, chunkSize, order);
    yield page;
    const last = page.at(-1);
    if (last === undefined || page.length < chunkSize) return;
    position = last.ref;
  }
}

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

import { failedEntry, newEntry } from "./entries.js";
import type { Place } from "./level-harness.js";

/** Entries that are neither delivered nor replaced in a store that was filled. */
export const LIVE_ENTRIES = 38;

/** Three tables and a log: small and large entries, dead letters, replayed, changed and delivered ones. */
export async function fillStore(place: Place): Promise<void> {
  const store = place.store();
  await store.open();
  const put = [];
  for (let n = 0; n < 30; n++) put.push(await store.put(newEntry(`${n}`.padEnd(sizeOf(n), "."))));
  for (const { ref, entry } of put.slice(0, 8)) await store.fail(ref, failedEntry(entry));
  for (const { ref } of put.slice(8, 12)) store.ack(ref);
  for (const { ref, entry } of put.slice(12, 16)) store.update(ref, { ...entry, attempts: 2 });
  await store.replay(put.slice(0, 3).map(({ ref, entry }) => ({ ref, entry })));
  for (let round = 0; round < 3; round++) {
    await store.close();
    await store.open();
    for (let n = 0; n < 5; n++) put.push(await store.put(newEntry(`${round}:${n}`.padEnd(2000, "."))));
    store.ack(put[20 + round]!.ref);
  }
  await store.close();
}

const sizeOf = (n: number) => (n % 10 === 9 ? 300_000 : n % 3 === 0 ? 20_000 : 300);

/** Numbers from 0 to 1, the same ones every time. */
export function seededRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
    return state / 2 ** 31;
  };
}

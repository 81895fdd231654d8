import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";

/**
 * Total size of the files below a folder, in bytes; files that vanish meanwhile do not count.
 * @param {string} folder @returns {Promise<number>}
 */
export async function diskUse(folder) {
  const names = await readdir(folder, { withFileTypes: true }).catch(() => []);
  const sizes = names.map((name) => {
    const path = join(folder, name.name);
    return name.isDirectory()
      ? diskUse(path)
      : stat(path).then(
          ({ size }) => size,
          () => 0,
        );
  });
  return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
}

/**
 * Calls `look` every `everyMs` until stopped, and keeps its results.
 *
 * @template T @param {number} everyMs @param {() => Promise<T>} look
 */
export function watch(everyMs, look) {
  /** @type {T[]} */
  const seen = [];
  const stopped = new AbortController();
  const loop = (async () => {
    while (!stopped.signal.aborted) {
      seen.push(await look());
      await delay(everyMs, undefined, { signal: stopped.signal }).catch(() => {});
    }
  })();
  return {
    stop: async () => {
      stopped.abort();
      await loop;
      return seen;
    },
  };
}

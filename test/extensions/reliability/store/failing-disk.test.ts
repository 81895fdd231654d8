import { execFileSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { LevelStore } from "../../../../src/extensions/reliability/store/level-store.js";
import { failedOf, fresh } from "./entries.js";
import { failingDb } from "./failing-db.js";
import { makePlace, type Place, textsIn } from "./level-harness.js";

let place: Place;
beforeEach(() => {
  place = makePlace();
});
afterEach(() => place.remove());

describe("a queue whose disk fails", () => {
  for (const [message, code] of [
    ["IO error: 000005.log: No space left on device", "full"],
    ["IO error: 000005.log: Read-only file system", "io"],
    ["IO error: 000005.log: Input/output error", "io"],
  ] as const)
    it(`refuses with "${code}", keeps what it has, and goes on by itself: ${message}`, async () => {
      const failing = failingDb();
      const store = place.store({ durability: "fsync" }, { makeDb: failing.make });
      await store.open();
      const a = await store.put(fresh("a"));
      const b = await store.put(fresh("b"));
      failing.failWrites(message);
      const outcomes = await Promise.allSettled([
        store.put(fresh("c")),
        store.fail(a.ref, failedOf(a.entry)),
        store.replace(b.ref, [fresh("b1"), fresh("b2")]),
        store.delete([b.ref]),
      ]);
      for (const outcome of outcomes) expect(outcome).toMatchObject({ status: "rejected", reason: { code } });
      expect(await textsIn(store)).toEqual(["a", "b"]);
      expect(store.stats.pending.entries).toBe(2);
      store.ack(a.ref);
      expect(await textsIn(store)).toEqual(["b"]);
      failing.failWrites();
      const d = await store.put(fresh("d"));
      expect(new Set([a, b, d].map(({ entry }) => entry.id)).size).toBe(3);
      expect(failing.made).toBe(2);
      expect(await textsIn(store)).toEqual(["b", "d"]);
      await store.close();
      const again = place.store();
      expect(await again.open()).toMatchObject({ lostEntries: 0, corruptEntries: 0, setAside: undefined });
      expect(await textsIn(again)).toEqual(["b", "d"]);
      expect(again.stats.pending.entries).toBe(2);
      await again.close();
    });

  it.skipIf(!canMount)("goes on when a full disk has room again (needs the right to mount)", async () => {
    const { settings, resize, unmount } = mountSmall();
    try {
      const store = new LevelStore(settings);
      await store.open();
      const kept = await fillUp(store);
      expect(await textsIn(store)).toEqual(kept.map(({ text }) => text));
      resize("400m");
      await untilTaken(store, "room");
      const texts = [...kept.map(({ text }) => text), "room"];
      expect(await textsIn(store)).toEqual(texts);
      await store.close();
      const again = new LevelStore(settings);
      expect(await again.open()).toMatchObject({ lostEntries: 0, corruptEntries: 0 });
      expect(await textsIn(again)).toEqual(texts);
      await again.close();
    } finally {
      unmount();
    }
  });

  it.skipIf(!canMount)(
    "frees a disk that it filled by delivering what is there (needs the right to mount)",
    async () => {
      const { settings, unmount } = mountSmall();
      try {
        const store = new LevelStore(settings);
        await store.open();
        for (const { ref } of (await fillUp(store)).slice(1)) store.ack(ref);
        const takesAgain = () => store.put(fresh("again")).then(() => true);
        await expect.poll(() => takesAgain().catch(() => false), { timeout: 10_000 }).toBe(true);
        await store.close();
      } finally {
        unmount();
      }
    },
  );
});

async function untilTaken(store: LevelStore, text: string): Promise<void> {
  const isTaken = () =>
    store.put(fresh(text)).then(
      () => true,
      () => false,
    );
  await expect.poll(isTaken, { timeout: 10_000 }).toBe(true);
}

/** Puts until there is no room; gives what was kept. */
async function fillUp(store: LevelStore): Promise<{ text: string; ref: number }[]> {
  const kept: { text: string; ref: number }[] = [];
  for (let n = 0; ; n++) {
    const text = `${n}${"z".repeat(500_000)}`;
    try {
      kept.push({ text, ref: (await store.put(fresh(text))).ref });
    } catch (error) {
      expect(error).toMatchObject({ code: "full" });
      expect(kept.length).toBeGreaterThan(10);
      return kept;
    }
  }
}

const canMount = (() => {
  try {
    mountSmall().unmount();
    return true;
  } catch {
    return false;
  }
})();

function mountSmall() {
  const other = makePlace();
  const root = join(other.root, "small");
  mkdirSync(root);
  try {
    execFileSync("mount", ["-t", "tmpfs", "-o", "size=120m", "tmpfs", root], { stdio: "ignore" });
  } catch (error) {
    void other.remove();
    throw error;
  }
  const settings = { exporter: "x", directory: join(root, "queue"), durability: "fsync", intervalMs: 10 } as const;
  const resize = (size: string) => execFileSync("mount", ["-o", `remount,size=${size}`, root]);
  const unmount = () => {
    execFileSync("umount", ["-l", root]);
    void other.remove();
  };
  return { settings, resize, unmount };
}

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

  it("survives a disk that is really full", async ({ skip }) => {
    const mounted = tryMount();
    if (mounted === undefined) return skip("needs the right to mount a small disk");
    const { root, unmount } = mounted;
    const settings = { exporter: "x", directory: join(root, "queue"), durability: "fsync", intervalMs: 10 } as const;
    try {
      const store = new LevelStore(settings);
      await store.open();
      const text = "z".repeat(500_000);
      const kept: string[] = [];
      const refs: number[] = [];
      let refused: unknown;
      for (let n = 0; refused === undefined; n++) {
        await store.put(fresh(`${n}${text}`)).then(
          ({ ref }) => {
            kept.push(`${n}${text}`);
            refs.push(ref);
          },
          (error) => {
            refused = error;
          },
        );
      }
      expect(refused).toMatchObject({ code: "full" });
      expect(kept.length).toBeGreaterThan(10);
      expect(await textsIn(store)).toEqual(kept);
      execFileSync("mount", ["-o", "remount,size=400m", root]);
      kept.push("room");
      await store.put(fresh("room"));
      expect(await textsIn(store)).toEqual(kept);
      await store.close();
      const again = new LevelStore(settings);
      expect(await again.open()).toMatchObject({ lostEntries: 0, corruptEntries: 0 });
      expect(await textsIn(again)).toEqual(kept);
      await again.close();
    } finally {
      unmount();
    }
  });
});

function tryMount() {
  const other = makePlace();
  const root = join(other.root, "small");
  mkdirSync(root);
  try {
    execFileSync("mount", ["-t", "tmpfs", "-o", "size=60m", "tmpfs", root], { stdio: "ignore" });
  } catch {
    void other.remove();
    return undefined;
  }
  const unmount = () => {
    execFileSync("umount", [root]);
    void other.remove();
  };
  return { root, unmount };
}

import { execFileSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { LevelStore, type LevelStoreOptions } from "../../../../../src/runtime/queue/store/level-store.js";
import { makePlace } from "../level-harness.js";

/** Mounts a disk of its own in memory. */
export function mountSmall(size = "120m") {
  const place = makePlace();
  const root = join(place.root, "small");
  mkdirSync(root);
  try {
    execFileSync("mount", ["-t", "tmpfs", "-o", `size=${size}`, "tmpfs", root], { stdio: "ignore" });
  } catch (error) {
    void place.remove();
    throw error;
  }
  const settings = { exporter: "x", directory: join(root, "queue"), durability: "fsync", intervalMs: 10 } as const;
  return {
    root,
    directory: settings.directory,
    store: (options: LevelStoreOptions = {}) => new LevelStore(settings, options),
    resize: (to: string) => execFileSync("mount", ["-o", `remount,size=${to}`, root]),
    unmount: () => {
      execFileSync("umount", ["-l", root]);
      void place.remove();
    },
  };
}

/** Where this is not allowed, the tests that need it are skipped, and their titles say why. */
export const canMount = (() => {
  try {
    mountSmall().unmount();
    return true;
  } catch {
    return false;
  }
})();

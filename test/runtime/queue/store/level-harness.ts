import { mkdtempSync } from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { LevelStore, type LevelStoreOptions } from "../../../../src/runtime/queue/store/level-store.js";
import type { LevelStoreSettings, QueueStore } from "../../../../src/runtime/queue/store/store.js";
import { bodies } from "../../../support/telemetry/batches.js";

/** A place for stores, removed at the end. */
export function makePlace() {
  const root = mkdtempSync(join(tmpdir(), "sluice-store-"));
  const directory = join(root, "queue");
  return {
    root,
    directory,
    store: (settings: Partial<LevelStoreSettings> = {}, options: LevelStoreOptions = {}) =>
      new LevelStore(
        { exporter: "otlp_http/test", directory, durability: "process", intervalMs: 10, ...settings },
        options,
      ),
    remove: () => rm(root, { recursive: true, force: true }),
  };
}

export type Place = ReturnType<typeof makePlace>;

/** The texts of everything pending, or failed, in order. */
export async function textsIn(store: QueueStore, state: "pending" | "failed" = "pending"): Promise<string[]> {
  const texts: string[] = [];
  for (let after: number | undefined; ; ) {
    const page = state === "pending" ? await store.pending(after, 100) : await store.failed(after, 100, "oldest");
    for (const { ref } of page) {
      const batch = await store.payload(ref).catch((error) => {
        if (error.code !== "corrupt") throw error;
      });
      if (batch !== undefined) texts.push(bodies(batch).join("+"));
    }
    const last = page.at(-1);
    if (last === undefined) return texts;
    after = last.ref;
  }
}

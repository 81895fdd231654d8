import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { open } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { gzipSync } from "node:zlib";
import { afterAll, expect, it } from "vitest";
import { readHead } from "../../../src/receivers/file-log/content.js";

const folder = mkdtempSync(join(tmpdir(), "sluice-content-"));
afterAll(() => rmSync(folder, { recursive: true }));

it("a gzip file stays open after its first bytes were read", async () => {
  const path = join(folder, "a.gz");
  writeFileSync(path, gzipSync("x".repeat(2_000_000)));
  const handle = await open(path);
  try {
    for (let times = 0; times < 20; times++) {
      expect((await readHead(handle, 10, true)).toString()).toBe("x".repeat(10));
      await delay(2);
      expect((await handle.stat()).size).toBeGreaterThan(0);
    }
  } finally {
    await handle.close();
  }
});

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { onTestFinished } from "vitest";

/** A folder that is gone when the test is over. Not for tests that run at the same time as others of their file. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "sluice-test-"));
  onTestFinished(() => removeFolder(folder));
  return folder;
}

/**
 * The workers of a process that was just killed may still write. `maxRetries` does not help: it tries only to remove
 * the folder again, not the file that has appeared in it.
 */
async function removeFolder(folder: string): Promise<void> {
  for (let triesLeft = 100; ; triesLeft--) {
    try {
      return rmSync(folder, { recursive: true, force: true });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENOTEMPTY" || triesLeft === 0) throw error;
      await setTimeout(50);
    }
  }
}

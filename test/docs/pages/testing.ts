import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { beforeAll, expect, it } from "vitest";
import type { Page } from "../pages.js";
import { folderOf } from "../project.js";

/** Every block is a file, and those that are tests pass under node:test. */
export function nodeTests(page: Page): void {
  let folder: string;
  beforeAll(() => {
    folder = folderOf(page);
  });

  it("has blocks that are files", () => {
    expect(page.blocks.map(({ file }) => file)).not.toContain(undefined);
  });

  it.each(page.blocks.filter(({ file }) => file?.endsWith(".test.js")))("has a $file that passes", async ({ file }) => {
    const run = promisify(execFile)(process.execPath, ["--test-reporter=tap", file!], { cwd: folder });
    const { stdout } = await run.catch((error: { stdout: string }) => error);
    expect(stdout).toMatch(/^# fail 0$/m);
    expect(stdout).not.toMatch(/^# pass 0$/m);
  });
}

import { execFile } from "node:child_process";
import { writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { promisify } from "node:util";
import { beforeAll, expect, it } from "vitest";
import type { Page } from "../pages.js";
import { folderOf } from "../project.js";

/** A reporter of node:test that says of every test, as a line of JSON, which file it is from and how it ended. */
const REPORTER = `
export default async function* (events) {
  for await (const { type, data } of events)
    if (type === "test:pass" || type === "test:fail") yield JSON.stringify({ type, ...data, details: undefined }) + "\\n";
}
`;

/** One process runs all files: most of the time of a process of its own would be spent on loading Sluice again. */
const ALL_FILES = 'for (const file of process.argv.slice(2)) await import("./" + file);\n';

interface Ended {
  readonly type: "test:pass" | "test:fail";
  readonly file: string;
  readonly name: string;
}

/** Every block is a file, and those that are tests pass under node:test. */
export function nodeTests(page: Page): void {
  const files = page.blocks.flatMap(({ file }) => (file?.endsWith(".test.js") ? [file] : []));
  let ended: readonly Ended[];
  beforeAll(async () => {
    const folder = folderOf(page);
    writeFileSync(join(folder, "reporter.mjs"), REPORTER);
    writeFileSync(join(folder, "all-files.mjs"), ALL_FILES);
    const args = ["--test-reporter=./reporter.mjs", "all-files.mjs", ...files];
    const run = promisify(execFile)(process.execPath, args, { cwd: folder });
    const { stdout } = await run.catch((error: { stdout: string }) => error);
    const lines = stdout.split("\n").filter((line) => line.startsWith("{"));
    ended = lines.map((line) => JSON.parse(line) as Ended);
  });

  it("has blocks that are files", () => {
    expect(page.blocks.map(({ file }) => file)).not.toContain(undefined);
  });

  it.each(files)("has a %s that passes", (file) => {
    const own = ended.filter((test) => basename(test.file) === file);
    expect(own.filter(({ type }) => type === "test:fail").map(({ name }) => name)).toEqual([]);
    expect(own).not.toEqual([]);
  });

  it("has no test that fails elsewhere", () => {
    expect(ended.filter(({ type }) => type === "test:fail")).toEqual([]);
  });
}

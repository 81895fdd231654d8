import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { installSluice } from "../../support/installed.js";

const project = join(import.meta.dirname, "../../..");
const page = readFileSync(join(project, "docs/testing.md"), "utf8");
const blocks = [...page.matchAll(/^```\w+\n(.*?)^```$/gms)].map(([, text]) => text!);
const files = blocks.map((text) => ({ name: /^\/\/ ([\w.-]+\.js)\n/.exec(text)?.[1], text }));

const folder = mkdtempSync(join(tmpdir(), "sluice-testing-docs-"));
beforeAll(() => {
  installSluice(folder);
  for (const { name, text } of files) writeFileSync(join(folder, name ?? ""), text);
  writeFileSync(join(folder, "package.json"), '{"type":"module"}');
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe("docs/testing.md", () => {
  it("has blocks that are files", () => {
    expect(files.map(({ name }) => name)).not.toContain(undefined);
  });

  it.concurrent.each(files.filter(({ name }) => name?.endsWith(".test.js")))(
    "has a $name that passes",
    async ({ name }) => {
      const run = promisify(execFile)(process.execPath, ["--test", name!], { cwd: folder, timeout: 60_000 });
      const { stdout } = await run.catch((error: { stdout: string }) => error);
      expect(stdout).toMatch(/^# fail 0$|^ℹ fail 0$/m);
      expect(stdout).not.toMatch(/^[#ℹ] pass 0$/m);
    },
    60_000,
  );
});

import { execFile } from "node:child_process";
import { chmodSync, existsSync, lstatSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from "node:fs";
import module from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { promisify } from "node:util";
import { afterEach, beforeEach, describe, expect, it } from "vitest";

const run = promisify(execFile);
const SCRIPT = join(import.meta.dirname, "../../../bin/sluice.js");
/** Node.js 20 keeps no compiled code. */
const isKept = "enableCompileCache" in module;

describe("compiled code", () => {
  let temporary: string;
  let folder: string;

  beforeEach(() => {
    temporary = mkdtempSync(join(tmpdir(), "sluice-compiled-"));
    folder = join(temporary, `sluice-code-${process.getuid!()}`);
  });
  afterEach(() => rmSync(temporary, { recursive: true, force: true }));

  async function version(variables: Readonly<Record<string, string>> = {}): Promise<string> {
    const { NODE_COMPILE_CACHE, NODE_DISABLE_COMPILE_CACHE, ...env } = process.env;
    const options = { env: { ...env, TMPDIR: temporary, ...variables } };
    return (await run(process.execPath, [SCRIPT, "--version"], options)).stdout;
  }

  it("is kept in a folder of its user alone", async () => {
    expect(await version()).toMatch(/^\d/);
    expect(existsSync(folder)).toBe(isKept);
    if (isKept) expect([lstatSync(folder).mode & 0o777, readdirSync(folder).length]).toEqual([0o700, 1]);
    expect(await version()).toMatch(/^\d/);
  });

  it("is not taken from a folder that others can write to", async () => {
    mkdirSync(folder);
    chmodSync(folder, 0o777);
    expect(await version()).toMatch(/^\d/);
    expect(readdirSync(folder)).toEqual([]);
  });

  it("is not taken from where a link leads", async () => {
    const other = join(temporary, "other");
    mkdirSync(other);
    symlinkSync(other, folder);
    expect(await version()).toMatch(/^\d/);
    expect(readdirSync(other)).toEqual([]);
  });

  it("is not needed", async () => {
    expect(await version({ TMPDIR: "/dev/null" })).toMatch(/^\d/);
    expect(await version({ NODE_DISABLE_COMPILE_CACHE: "1" })).toMatch(/^\d/);
    expect(existsSync(folder)).toBe(false);
  });

  it("is kept where NODE_COMPILE_CACHE says", async () => {
    const other = join(temporary, "other");
    await version({ NODE_COMPILE_CACHE: other });
    expect(existsSync(other)).toBe(isKept);
    expect(existsSync(folder)).toBe(false);
  });
});

import { execFile } from "node:child_process";
import { cpSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, it } from "vitest";

const run = promisify(execFile);
const project = join(import.meta.dirname, "../..");
const COPIED = ["src", "bench", "package.json", "tsconfig.json", "tsconfig.build.json"];

interface Outcome {
  readonly code: number;
  readonly stderr: string;
}

async function ledger(directory: string, ...args: string[]): Promise<Outcome> {
  const figures = ["--cell=1 x 1000", "--kind=copied", "--kind=functions"];
  return run(process.execPath, ["bench/ledger/run.js", ...figures, ...args], { cwd: directory }).then(
    ({ stderr }) => ({ code: 0, stderr }),
    (error: Outcome) => error,
  );
}

it("fails and names the cell if each request is joined and walked a second time", { timeout: 600_000 }, async () => {
  const copy = mkdtempSync(join(tmpdir(), "sluice-ledger-regress-"));
  try {
    const file = join(copy, "before.json");
    const written = await ledger(project, "--write", `--ledger=${file}`);
    expect(written.code, written.stderr).toBe(0);
    const same = await ledger(project, `--ledger=${file}`);
    expect(same.code, same.stderr).toBe(0);

    for (const name of COPIED) cpSync(join(project, name), join(copy, name), { recursive: true });
    symlinkSync(join(project, "node_modules"), join(copy, "node_modules"));
    await run("git", ["apply", join(import.meta.dirname, "second-walk.patch")], { cwd: copy });
    await run(process.execPath, ["node_modules/typescript/bin/tsc", "-p", "tsconfig.build.json"], { cwd: copy });
    const { code, stderr } = await ledger(copy, `--ledger=${file}`);
    expect(code, stderr).toBe(1);
    expect(stderr).toMatch(/^FAILED {2}1 x 1000, copied [\d.]+ -> [\d.]+$/m);
    expect(stderr).toMatch(/^FAILED {2}1 x 1000, functions [\d.]+ -> [\d.]+$/m);
  } finally {
    rmSync(copy, { recursive: true, force: true });
  }
});

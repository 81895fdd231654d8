import { execFile } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

const project = join(import.meta.dirname, "../..");
const COPIED = ["src", "test", "config", "package.json", "tsconfig.json", "vitest.config.ts"];
const LINKED = ["node_modules", "bin", "console", "scripts", "docs", "dist"];
const run = promisify(execFile);

export interface MutantOutcome {
  readonly failedTests: number;
  /** Files that could not be run at all. */
  readonly errors: readonly string[];
  /** How long the tests took, without loading their files. */
  readonly testSeconds: number;
  readonly output: string;
}

/** A copy of the sources and tests in which patches are tried, one after the other. */
export class MutantCopy {
  private readonly directory = mkdtempSync(join(tmpdir(), "sluice-mutants-"));

  constructor() {
    for (const name of COPIED) cpSync(join(project, name), join(this.directory, name), { recursive: true });
    for (const name of LINKED) symlinkSync(join(project, name), join(this.directory, name));
  }

  /** Applies a patch, runs the test that it names, and takes the patch back. */
  async runWith(patch: string): Promise<MutantOutcome> {
    const [, ...wanted] = commandOf(readFileSync(patch, "utf8"));
    await this.git("apply", patch);
    try {
      return await this.vitest(wanted);
    } finally {
      await this.git("apply", "--reverse", patch);
    }
  }

  remove(): void {
    rmSync(this.directory, { recursive: true, force: true });
  }

  private git(...args: string[]) {
    return run("git", args, { cwd: this.directory });
  }

  private async vitest(args: readonly string[]): Promise<MutantOutcome> {
    const report = join(this.directory, "report.json");
    rmSync(report, { force: true });
    const { npm_lifecycle_event: _, ...env } = process.env;
    const program = [join(project, "node_modules/vitest/vitest.mjs"), "run", ...args];
    const reporters = ["--reporter=default", "--reporter=json", `--outputFile.json=${report}`];
    const { stdout, stderr } = await run(process.execPath, [...program, ...reporters], {
      cwd: this.directory,
      env,
      maxBuffer: 1 << 28,
    }).catch((error) => error as { stdout: string; stderr: string });
    const { numFailedTests, testResults } = JSON.parse(readFileSync(report, "utf8")) as VitestReport;
    const errors = testResults.filter((file) => file.assertionResults.length === 0).map((file) => file.message);
    const times = testResults.flatMap((file) => file.assertionResults.map(({ duration = 0 }) => duration));
    const testSeconds = times.reduce((sum, ms) => sum + ms, 0) / 1000;
    return { failedTests: numFailedTests, errors, testSeconds, output: stdout + stderr };
  }
}

interface VitestReport {
  readonly numFailedTests: number;
  readonly testResults: readonly {
    readonly message: string;
    readonly assertionResults: readonly { readonly duration?: number }[];
  }[];
}

/** The words of a patch's first line; a title may be in quotes. */
function commandOf(patch: string): string[] {
  const [first = ""] = patch.split("\n");
  const words = /^# (catches:) (\S+)(?: (-t) "(.+)")?$/.exec(first)?.slice(1);
  if (words === undefined) throw new Error(`a patch begins with "# catches: FILE [-t \\"title\\"]", not with ${first}`);
  return words.filter((word) => word !== undefined);
}

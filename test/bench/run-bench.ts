import { spawn } from "node:child_process";
import { once } from "node:events";

/** The output of `--json`, as far as tests look at it. */
export interface Report {
  readonly ok: boolean;
  readonly failures: readonly string[];
  readonly machine: { readonly node: string };
  readonly results: readonly Record<string, unknown>[];
}

/**
 * Runs short rounds, of `passthrough` by default. Acknowledged records may arrive late, because the machine may be
 * busy. If none is missing, the run does not wait.
 */
export const SHORTEST = ["--quick", "--scenario=passthrough", "--seconds=0.1", "--warmup=0.05", "--settle=30"];

/** Runs bench/run.js and waits for its end. */
export async function runBench(...args: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  const child = spawn(process.execPath, ["bench/run.js", ...args], { stdio: ["ignore", "pipe", "pipe"] });
  let stdout = "";
  let stderr = "";
  child.stdout.on("data", (chunk) => (stdout += chunk));
  child.stderr.on("data", (chunk) => (stderr += chunk));
  const [code] = (await once(child, "close")) as [number];
  return { code, stdout, stderr };
}

/** The same in its shortest form with `--json`, and the report read: what is looked at is the report, not its figures. */
export async function quickReport(...args: string[]): Promise<{ code: number; report: Report; stderr: string }> {
  const { code, stdout, stderr } = await runBench(...SHORTEST, "--json", ...args);
  if (stdout === "") throw new Error(`no report, but code ${code}: ${stderr}`);
  return { code, report: JSON.parse(stdout) as Report, stderr };
}

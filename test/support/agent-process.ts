import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const project = join(import.meta.dirname, "../..");

/** The agent as people run it: a process of its own, its log read line by line. */
export interface AgentProcess {
  readonly child: ChildProcess;
  /** By what the log says the receiver listens on. */
  readonly ports: { readonly http: number; readonly grpc: number };
  /** Its output so far. */
  readonly output: { stdout: string; stderr: string };
  /** Resolves with the exit code, or the signal's name. */
  readonly exited: Promise<number | string>;
}

export interface AgentProcessOptions {
  /** Where it runs; by default in the folder of its config. */
  readonly cwd?: string;
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** The program to run in place of this checkout's `sluice`, alone in its environment. */
  readonly command?: readonly [string, ...string[]];
}

/** Starts `sluice run` in a folder of its own, on a YAML text or a file, and waits until it says it is ready. */
export async function startAgentProcess(
  config: { readonly yaml: string } | { readonly file: string },
  options: AgentProcessOptions = {},
): Promise<AgentProcess> {
  const directory = mkdtempSync(join(tmpdir(), "sluice-test-"));
  const file = "file" in config ? config.file : join(directory, "config.yaml");
  if ("yaml" in config) writeFileSync(file, config.yaml);
  const [program, ...first] = options.command ?? [process.execPath, join(project, "bin/sluice.js")];
  const args = [...first, "run", "--config", file, ...(options.args ?? [])];
  const env = { ...(options.command === undefined ? process.env : {}), ...options.env };
  const child = spawn(program, args, { cwd: options.cwd ?? directory, env });
  const output = { stdout: "", stderr: "" };
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    output.stdout += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    output.stderr += text;
  });
  const exited = once(child, "exit").then(([code, signal]) => {
    rmSync(directory, { recursive: true, force: true });
    return (code ?? signal) as number | string;
  });
  await new Promise<void>((resolve, reject) => {
    child.stderr.on("data", () => output.stderr.includes('"msg":"ready"') && resolve());
    void exited.then((code) => reject(new Error(`the agent exited with ${code}: ${output.stderr}`)));
  });
  return { child, output, exited, ports: portsOf(output.stderr) };
}

/** Returns the token from the agent's file, which only its owner can read. */
export async function adminToken(origin: string): Promise<string> {
  const about = (await (await fetch(`${origin}/api/v1`)).json()) as { token_file: string };
  return readFileSync(about.token_file, "utf8").trim();
}

function portsOf(log: string): { http: number; grpc: number } {
  const line = log.split("\n").find((text) => text.includes("listening for OTLP"));
  const { http, grpc } = line === undefined ? {} : (JSON.parse(line) as { http?: string; grpc?: string });
  const portOf = (address = "") => Number(address.slice(address.lastIndexOf(":") + 1));
  return { http: portOf(http), grpc: portOf(grpc) };
}

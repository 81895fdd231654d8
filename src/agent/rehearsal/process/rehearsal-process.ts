import type { ChildProcessByStdio } from "node:child_process";
import { constants, setPriority } from "node:os";
import { join } from "node:path";
import process from "node:process";
import type { Readable, Writable } from "node:stream";
import type { Batch } from "#otlp";
import { isSingleExecutable, packageFolder } from "#system";
import { splitLines } from "#text";
import { type ChildMessage, encodeBatch, encodeEnd, encodeTask, type RehearsalTask } from "./child-frames.js";
import { REHEARSAL_COMMAND } from "./rehearsal-command.js";

/** Bytes that may wait for the child before batches are left out. */
const MAX_WAITING_BYTES = 8 * 1024 * 1024;
/** A report has bounded lists of bounded texts. */
const MAX_LINE_LENGTH = 16 * 1024 * 1024;
const MAX_HEAP_MB = 512;

interface ChildListeners {
  message(message: ChildMessage): void;
  /** Called once, when the process has ended or could not be started, with the reason for people. */
  ended(reason: string): void;
}

/**
 * A process that runs both configs on a sample. It has a low priority and a limit on memory, it may write no files
 * and start no programs, and it ends with the agent. What it prints is discarded, because plugins may print records.
 */
export class RehearsalProcess {
  private readonly child: ChildProcessByStdio<Writable, null, null>;
  private isEnded = false;

  constructor(task: RehearsalTask, env: NodeJS.ProcessEnv, listeners: ChildListeners) {
    const { spawn } = process.getBuiltinModule("node:child_process");
    const { file, args } = commandLine();
    const child = spawn(file, args, {
      stdio: ["pipe", "ignore", "ignore", "pipe"],
      env: { ...env, NODE_OPTIONS: nodeOptions(env["NODE_OPTIONS"]) },
    });
    this.child = child as unknown as ChildProcessByStdio<Writable, null, null>;
    const ended = (reason: string) => {
      if (this.isEnded) return;
      this.isEnded = true;
      listeners.ended(reason);
    };
    child.on("error", (error) => ended(`the process for it cannot be started: ${error.message}`));
    child.on("close", (code, signal) => ended(endReason(code, signal)));
    this.child.stdin.on("error", () => {}); // the end of the process says more
    if (child.pid !== undefined) lowerPriority(child.pid);
    void readMessages(child.stdio[3] as Readable, listeners);
    this.child.stdin.write(encodeTask(task, process.pid));
  }

  /** Returns false if the child does not keep up, and the batch was left out. */
  send(batch: Batch, receiver: string, at: number): boolean {
    const { stdin } = this.child;
    if (stdin.writableLength > MAX_WAITING_BYTES || !stdin.writable) return false;
    stdin.cork();
    for (const part of encodeBatch(batch, receiver, at)) stdin.write(part);
    stdin.uncork();
    return true;
  }

  /** The sample is complete. */
  finish(skipped: number): void {
    this.child.stdin.end(encodeEnd(skipped));
  }

  kill(): void {
    this.child.kill("SIGKILL");
  }
}

function commandLine(): { readonly file: string; readonly args: readonly string[] } {
  const script = isSingleExecutable() ? [] : [join(packageFolder() ?? "", "bin", "sluice.js")];
  return { file: process.execPath, args: [...script, REHEARSAL_COMMAND] };
}

/**
 * Plugins are the agent's own code and are no more trusted here than there. But a rehearsal must have no effects, so
 * files cannot be written and programs cannot be started, as far as this Node.js can prevent it.
 */
function nodeOptions(inherited = ""): string {
  const known = (option: string) => process.allowedNodeEnvironmentFlags.has(option);
  const permission = ["--permission", "--experimental-permission"].find(known);
  const allowed = ["--allow-worker", "--allow-addons", "--allow-net"].filter(known);
  const limits = permission === undefined ? [] : [permission, "--allow-fs-read=*", ...allowed];
  return [inherited, `--max-old-space-size=${MAX_HEAP_MB}`, ...limits].join(" ").trim();
}

function lowerPriority(pid: number): void {
  try {
    setPriority(pid, constants.priority.PRIORITY_BELOW_NORMAL);
  } catch {} // it has ended already
}

async function readMessages(output: Readable, { message }: ChildListeners): Promise<void> {
  const tooLong = () => new Error("a line is too long");
  try {
    for await (const line of splitLines(output.setEncoding("utf8"), MAX_LINE_LENGTH, tooLong))
      message(JSON.parse(line) as ChildMessage);
  } catch {
    output.destroy(); // the child ends when it writes again
  }
}

/** The signal with which the child ends itself when it has too much memory. */
export const MEMORY_SIGNAL = "SIGUSR2";

function endReason(code: number | null, signal: NodeJS.Signals | null): string {
  if (signal === MEMORY_SIGNAL || signal === "SIGABRT") return "it needed too much memory: take a smaller sample";
  return `its process ended early (${signal ?? `exit code ${code}`})`;
}

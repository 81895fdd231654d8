import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { accessSync, constants, mkdtempSync, rmSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { CONDITION_LIMIT_MS } from "../limits.js";

/** How a real server is started: by its own program, with its files in `folder`, until `isReady` says so. */
export interface ServerSettings {
  readonly program: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly folder: string;
  /** The user it runs as, if it is not the user who runs the tests. */
  readonly uid?: number;
  readonly gid?: number;
  /** Asked again and again; a rejection means not yet. */
  readonly isReady: () => Promise<unknown>;
}

/**
 * A server that a test started. It can be killed and started again with the same files at the same ports, and paused, which
 * to its clients is a network that swallows everything.
 */
export class ServerProcess {
  private child: ChildProcess | undefined;
  private output = "";
  private readonly settings: ServerSettings;

  constructor(settings: ServerSettings) {
    this.settings = settings;
  }

  get pid(): number {
    return this.child!.pid!;
  }

  get isRunning(): boolean {
    return this.child !== undefined && this.child.exitCode === null && this.child.signalCode === null;
  }

  async start(): Promise<this> {
    const { program, args, env, folder, isReady, uid, gid } = this.settings;
    this.output = "";
    const child = spawn(program, args, {
      cwd: folder,
      env: { ...process.env, ...env },
      stdio: ["ignore", "pipe", "pipe"],
      // A group of its own: some servers are the child of a script, and signals are for all of them.
      detached: true,
      ...(uid !== undefined && { uid, gid }),
    });
    this.child = child;
    let exit: string | undefined;
    child.once("error", (error) => {
      exit = String(error);
    });
    child.once("exit", (code, signal) => {
      exit = String(signal ?? code);
    });
    for (const stream of [child.stdout!, child.stderr!])
      stream.setEncoding("utf8").on("data", (text: string) => {
        this.output = (this.output + text).slice(-10_000);
      });
    const limit = Date.now() + CONDITION_LIMIT_MS;
    for (;;) {
      if (exit !== undefined) throw new Error(`${program} ended with ${exit}: ${this.output}`);
      if (
        await isReady().then(
          () => true,
          () => false,
        )
      )
        return this;
      if (Date.now() > limit) throw new Error(`${program} is not ready: ${this.output}`);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }

  pause(): void {
    this.signal("SIGSTOP");
  }

  resume(): void {
    this.signal("SIGCONT");
  }

  /** Ends it at once, as a power cut would. Resolves when it is gone. */
  async kill(signal: NodeJS.Signals = "SIGKILL"): Promise<void> {
    if (!this.isRunning) return;
    const child = this.child!;
    const gone = once(child, "close");
    this.signal("SIGCONT");
    this.signal(signal);
    await gone;
    this.child = undefined;
  }

  private signal(signal: NodeJS.Signals): void {
    if (this.child?.pid !== undefined) process.kill(-this.child.pid, signal);
  }
}

/** A folder for a server's files; `remove` when the server is gone. Any user may reach it, for servers that change theirs. */
export function serverFolder(name: string): { readonly path: string; remove(): void } {
  const path = mkdtempSync(join(tmpdir(), `sluice-${name}-`));
  return { path, remove: () => rmSync(path, { recursive: true, force: true, maxRetries: 5 }) };
}

/** Rejects unless the port has a listener. */
export async function canConnect(port: number): Promise<void> {
  const socket = connect(port, "127.0.0.1");
  try {
    await once(socket, "connect");
  } finally {
    socket.destroy();
  }
}

/** The first of these programs that is installed; undefined when none is, which `what` is then said to be missing for. */
export function installedProgram(what: string, candidates: readonly string[]): string | undefined {
  const found = candidates.find((file) => {
    try {
      accessSync(file, constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
  if (found === undefined) console.warn(`The tests of ${what} are skipped: its server is not installed.`);
  return found;
}

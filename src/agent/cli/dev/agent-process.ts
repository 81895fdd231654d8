import { type ChildProcess, spawn } from "node:child_process";
import process from "node:process";
import type { Readable } from "node:stream";
import type { Clock } from "#contract";
import { isSingleExecutable } from "#system";
import { AGENT_VARIABLE, type AgentMessage, type TerminalMessage } from "./messages.js";

/** The agent hangs when it has not said for this long that it is alive, in milliseconds. */
const HANG_MS = 5000;
const CHECK_MS = 500;
/** Longer lines of its output are cut, in characters. */
const MAX_LINE = 10_000;

interface AgentProcessSettings {
  readonly clock: Clock;
  /** How it writes its log; with a terminal its output comes to `onOutput`, otherwise it is that of this process. */
  readonly output: { readonly isTerminal: boolean; readonly colour: boolean };
  onMessage(message: AgentMessage): void;
  onOutput(line: string): void;
  /** Called when the agent stops to answer, and when it answers again. */
  onHang(isHanging: boolean): void;
  onExit(status: string): void;
}

/** The process that runs the agent and the code of plugins. This process may end it at any time. */
export class AgentProcess {
  private readonly settings: AgentProcessSettings;
  private readonly child: ChildProcess;
  private readonly exited: Promise<void>;
  private lastSeen: number;
  private cancelCheck = () => {};
  isHanging = false;

  constructor(settings: AgentProcessSettings) {
    const { clock, output } = settings;
    this.settings = settings;
    this.lastSeen = clock.monotonic();
    const ownOutput = output.isTerminal ? "pipe" : "inherit";
    this.child = spawn(process.execPath, ownArguments(), {
      stdio: ["ignore", ownOutput, ownOutput, "ipc"],
      env: { ...process.env, [AGENT_VARIABLE]: output.isTerminal ? (output.colour ? "colour" : "terminal") : "plain" },
    });
    this.child.on("message", (message) => this.onMessage(message as AgentMessage));
    for (const stream of [this.child.stdout, this.child.stderr])
      if (stream !== null) eachLine(stream, settings.onOutput);
    this.exited = new Promise((resolve) => {
      const end = (status: string) => {
        this.cancelCheck();
        resolve();
        settings.onExit(status);
      };
      this.child.once("error", (error) => end(error.message));
      this.child.once("exit", (code, signal) => {
        const status = signal ?? `code ${code}`;
        // Its last messages come before the channel is closed.
        if (this.child.connected) this.child.once("disconnect", () => end(status));
        else end(status);
      });
    });
    this.check();
  }

  send(message: TerminalMessage): void {
    if (this.child.connected) this.child.send(message, () => {}); // it may end at any moment
  }

  /** Lets it deliver what it has, for a limited time. A process that hangs is ended at once. */
  async stop(timeoutMs: number): Promise<void> {
    if (this.isHanging) this.kill();
    else this.send({ kind: "stop" });
    const cancel = this.settings.clock.after(timeoutMs, () => this.kill());
    await this.exited;
    cancel();
  }

  kill(): void {
    this.child.kill("SIGKILL");
  }

  private onMessage(message: AgentMessage): void {
    this.lastSeen = this.settings.clock.monotonic();
    this.setHanging(false);
    this.settings.onMessage(message);
  }

  private check(): void {
    const { clock } = this.settings;
    if (clock.monotonic() - this.lastSeen > HANG_MS) this.setHanging(true);
    this.cancelCheck = clock.after(CHECK_MS, () => this.check());
  }

  private setHanging(isHanging: boolean): void {
    if (this.isHanging === isHanging) return;
    this.isHanging = isHanging;
    this.settings.onHang(isHanging);
  }
}

/** The arguments of this process. A single executable is its own program. */
function ownArguments(): string[] {
  const [, program, ...args] = process.argv;
  return isSingleExecutable() ? args : [...process.execArgv, program!, ...args];
}

function eachLine(stream: Readable, onLine: (line: string) => void): void {
  let rest = "";
  stream.setEncoding("utf8").on("data", (text: string) => {
    const lines = (rest + text).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) onLine(line.slice(0, MAX_LINE));
    if (rest.length > MAX_LINE) {
      onLine(rest.slice(0, MAX_LINE));
      rest = "";
    }
  });
  stream.on("end", () => rest !== "" && onLine(rest));
}

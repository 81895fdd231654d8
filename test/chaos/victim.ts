import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";

const project = join(import.meta.dirname, "../..");

/** The program under attack, started again and again in one directory with one config. */
export class Victim {
  private readonly argv: readonly string[];
  private readonly directory: string;
  private child: ChildProcess | undefined;
  private ended: Promise<unknown> = Promise.resolve();
  private log = "";
  private listening: number | undefined;
  private onOutput = () => {};
  /** Everything it has ever logged, a line a string. */
  readonly lines: string[] = [];

  private constructor(argv: readonly string[], directory: string) {
    this.argv = argv;
    this.directory = directory;
  }

  /** The agent, with a config that is written into its directory. `options` are those of Node.js. */
  static agent(directory: string, config: object, name = "sluice.json", options: readonly string[] = []): Victim {
    const file = join(directory, name);
    writeFileSync(file, JSON.stringify(config));
    return new Victim([...options, join(project, "bin/sluice.js"), "run", "--config", file], directory);
  }

  /** Any other program that logs its port as the agent does. */
  static program(directory: string, argv: readonly string[]): Victim {
    return new Victim(argv, directory);
  }

  /** The port of its OTLP/HTTP receiver, while it runs and has one. */
  get port(): number | undefined {
    return this.listening;
  }

  /** The port of its OTLP/gRPC receiver, while it runs and has one. */
  get grpcPort(): number | undefined {
    const port = this.listening === undefined ? undefined : /"grpc":"[^"]*:(\d+)"/.exec(this.log)?.[1];
    return port === undefined ? undefined : Number(port);
  }

  get running(): boolean {
    return this.child !== undefined;
  }

  get pid(): number | undefined {
    return this.child?.pid;
  }

  /** Starts it and does not wait. */
  spawn(): void {
    const child = spawn(process.execPath, this.argv, { cwd: this.directory, stdio: ["ignore", "pipe", "pipe"] });
    this.child = child;
    this.log = "";
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding("utf8").on("data", (text: string) => this.child === child && this.read(text));
    }
    this.ended = once(child, "exit").then(() => {
      if (this.child === child) this.child = undefined;
      this.listening = undefined;
    });
  }

  /** Starts it and waits until it is ready; throws with what it said when it ends instead. */
  async start(): Promise<void> {
    this.spawn();
    const child = this.child;
    while (!this.isReady) {
      if (this.child !== child) throw new Error(`the agent ended: ${this.log}`);
      await Promise.race([this.ended, this.nextOutput()]);
    }
  }

  private nextOutput(): Promise<void> {
    return new Promise((resolve) => {
      this.onOutput = resolve;
    });
  }

  get isReady(): boolean {
    return this.log.includes('"msg":"ready"');
  }

  /** Sends the signal and waits for the end. */
  async end(signal: "SIGKILL" | "SIGTERM"): Promise<void> {
    this.signal(signal);
    await this.ended;
  }

  signal(signal: NodeJS.Signals): void {
    if (signal === "SIGKILL") this.listening = undefined;
    this.child?.kill(signal);
  }

  /** Its output since it was last started. */
  get output(): string {
    return this.log;
  }

  private read(text: string): void {
    this.log += text;
    this.lines.push(...text.split("\n").filter((line) => line !== ""));
    const port = /"http":"[^"]*:(\d+)"/.exec(this.log)?.[1];
    if (port !== undefined && this.listening === undefined && this.child !== undefined) this.listening = Number(port);
    this.onOutput();
  }
}

import { EventEmitter } from "node:events";
import { dirname } from "node:path";
import process from "node:process";
import type { LoadedConfig } from "#config";
import type { Problem } from "#config/text";
import { PluginFolders, RemoteSources, Watchdog, withFileVersions } from "#host";
import { fileSignature, useEnvironment } from "#system";
import type { CommandContext } from "../command.js";
import { loadFromArguments } from "../load-from-arguments.js";
import { PluginImports } from "../plugin-imports.js";
import { type Development, factsOf, readProxies, runConfig } from "../run.js";
import { EXIT } from "../terminal.js";
import type { AgentMessage, DevOutcome, ReadFile, TerminalMessage } from "./messages.js";
import { problemLines, reportedProblem } from "./problem-lines.js";
import { RecordTap } from "./record-tap.js";

const ALIVE_MS = 500;
/** The drain of a development agent is short, in milliseconds, because its backend is often not there. */
const MAX_SHUTDOWN_MS = 3000;
/** Records wait for a terminal that is slow; more than this many messages do not. */
const MAX_UNSENT = 50;

/**
 * The process of `sluice dev` that runs the agent. It ends when the config or a plugin cannot be loaded or started, after
 * telling why: the other process then starts a new one when a file has changed.
 */
export async function devAgent(context: CommandContext, style: string): Promise<number> {
  const { terminal } = context;
  const isTerminal = style !== "plain";
  const colour = style === "colour";
  // The log is coloured if its stream says so. Here it is a pipe to the process with the terminal.
  Object.assign(process.stderr, { hasColors: () => colour });
  const agent = new DevAgent({ ...context, terminal: { ...terminal, err: { ...terminal.err, isTerminal, colour } } });
  return agent.run();
}

class DevAgent {
  private readonly context: CommandContext;
  private readonly signals = new EventEmitter();
  private readonly tap: RecordTap;
  private readonly scripts = new Set<string>();
  private files: ReadFile[] = [];
  private loaded: LoadedConfig | undefined;
  private unsent = 0;
  private hasStarted = false;

  constructor(context: CommandContext) {
    this.context = context;
    this.tap = new RecordTap((message) => this.send(message));
  }

  async run(): Promise<number> {
    const { context } = this;
    this.listen();
    const watchdog = new Watchdog({ json: !context.terminal.err.isTerminal });
    const pluginFolders = new PluginFolders();
    useEnvironment(context.terminal.env);
    readProxies(context.terminal.env);
    const imports = new PluginImports({
      onFile: (file, signature) => this.onFile(file, signature),
      onCompiler: (name) => this.send({ kind: "notice", text: `TypeScript is compiled by ${name}` }),
    });
    const remote = new RemoteSources(async (sent) => {
      const onFile = (file: string) => this.onFile(file, fileSignature(file));
      const importModule = imports.nextImport();
      const loaded = await loadFromArguments(context, watchdog, pluginFolders, onFile, sent, importModule);
      this.loaded = withFileVersions(loaded, onFile);
      return this.loaded;
    });
    const loaded = await remote.loadFirst();
    this.sendFiles();
    if (loaded.config === undefined) return this.fail(await this.problemLines(loaded.problems));
    const shutdownTimeoutMs = Math.min(MAX_SHUTDOWN_MS, loaded.config.service.shutdown_timeout);
    try {
      return await runConfig(loaded.config, factsOf(loaded), {
        shutdownTimeoutMs,
        terminal: context.terminal,
        watch: watchdog,
        pluginFolders,
        remote,
        watched: undefined,
        development: this.development(),
      });
    } catch (error) {
      const { problems } = (error ?? {}) as { problems?: unknown };
      if (!Array.isArray(problems)) throw error;
      return this.fail(await this.problemLines(problems as Problem[]));
    }
  }

  /** The process with the terminal decides when this one stops: Ctrl-C reaches both. */
  private listen(): void {
    for (const signal of ["SIGINT", "SIGHUP"]) process.on(signal, () => {});
    const stop = () => {
      if (!this.hasStarted) process.exit(EXIT.failed); // nothing runs yet
      this.signals.emit("SIGTERM", "SIGTERM");
    };
    process.on("disconnect", stop);
    process.on("SIGTERM", stop);
    process.on("message", (message: TerminalMessage) => {
      if (message.kind === "stop") stop();
      else if (message.kind === "show") this.tap.show(message);
      else this.signals.emit("SIGHUP");
    });
    setInterval(() => this.send({ kind: "alive", counts: this.tap.counts() }), ALIVE_MS).unref();
  }

  private development(): Development {
    const { signals } = this;
    for (const event of ["uncaughtException", "unhandledRejection"])
      process.on(event, (error: unknown) => void signals.emit(event, error));
    this.hasStarted = true;
    return {
      signals,
      onStarted: async (agent) => {
        await this.tap.use(agent);
        this.send({ kind: "problems", lines: await this.problemLines(this.loaded?.problems ?? []) });
        this.send({ kind: "ready", pipelines: agent.inspection!.agent.pipelines });
      },
      onReloaded: async (agent, { outcome, changes, problems }) => {
        this.sendFiles();
        const needsRestart = problems.some(({ code }) => code === "restart_needed");
        const found = outcome === "rolled_back" ? problems.map(reportedProblem) : (this.loaded?.problems ?? []);
        this.send({ kind: "problems", lines: needsRestart ? [] : await this.problemLines(found) });
        if (outcome === "applied") await this.tap.use(agent);
        const changed = changes.map(({ action, kind, id }) => `${action} ${kind} ${id}`);
        this.send({ kind: "reloaded", outcome: (needsRestart ? "restart" : outcome) as DevOutcome, changes: changed });
      },
    };
  }

  private onFile(file: string, signature: string): void {
    this.files.push({ file, signature, folder: fileSignature(dirname(file)) });
    if (/\.[mc]?[jt]s$/.test(file)) this.scripts.add(file);
    if (this.hasStarted) this.sendFiles();
  }

  private sendFiles(): void {
    if (this.files.length > 0) this.send({ kind: "files", files: this.files });
    this.files = [];
  }

  private async fail(lines: readonly string[]): Promise<number> {
    await new Promise<void>((resolve) => {
      this.send({ kind: "problems", lines }, resolve);
    });
    return EXIT.failed;
  }

  private problemLines(problems: readonly Problem[]): Promise<string[]> {
    const { loaded, scripts, context } = this;
    return problemLines(problems, loaded ?? { lineAt: () => undefined }, scripts, context.terminal.err);
  }

  /** Records are left out while the other process does not read. */
  private send(message: AgentMessage, onSent?: () => void): void {
    if (process.send === undefined || !process.connected) return onSent?.();
    if (message.kind === "record" && this.unsent > MAX_UNSENT) return;
    this.unsent += 1;
    process.send(message, undefined, undefined, () => {
      this.unsent -= 1;
      onSent?.();
    });
  }
}

import cluster from "node:cluster";
import { EventEmitter } from "node:events";
import { rmSync } from "node:fs";
import process from "node:process";
import type { LoadedConfig } from "#config";
import type { ResolvedConfig } from "#config/resolve";
import type { Problem } from "#config/text";
import { systemClock } from "#contract";
import { waitAtMost } from "#contract/time";
import { Agent, createSelfTelemetry, PluginFolders, Watchdog, withFileVersions } from "#host";
import { useEnvironment } from "#system";
import { adminMethods, answerCalls, type LinkEnd, type LinkMessage, SocketExchange, WorkerMetrics } from "#workers";
import { loadTextMask, masks } from "../../mask-batch.js";
import type { ConfigSnapshot } from "../../rehearsal/process/child-frames.js";
import { snapshotReader } from "../../rehearsal/process/config-snapshots.js";
import type { CommandContext } from "../command.js";
import { loadFromArguments } from "../load-from-arguments.js";
import { importsOfRun } from "../plugin-imports.js";
import { factsOf, readProxies, restrictNewFiles } from "../run.js";
import { logStreamErrors, supervise } from "../supervise.js";
import { EXIT } from "../terminal.js";
import { collectGarbage, tuneV8 } from "../v8.js";
import { type Assignment, type LastMetrics, LISTENING, type StartAnswer } from "./assignment.js";
import { configOfWorker } from "./worker-config.js";

const TELEMETRY_STOP_MS = 2000;
const LAST_METRICS_MS = 1000;

/** A process of an agent with several workers: does what its parent says. */
export async function workerChild(context: CommandContext): Promise<number> {
  useEnvironment(context.terminal.env);
  readProxies(context.terminal.env);
  cluster.worker!.exitedAfterDisconnect = true; // otherwise Node.js reports success when the parent has ended
  // Node's cluster module sends messages without a callback. "disconnect" tells that the parent is gone.
  cluster.worker!.on("error", () => {});
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => {}); // the parent decides
  return new Promise((resolve) => {
    const worker = new WorkerProcess(context, resolve);
    const end = parentEnd();
    answerCalls(end, worker.methods());
    end.onGone(() => worker.parentIsGone());
    process.send?.(LISTENING);
  });
}

function parentEnd(): LinkEnd {
  return {
    send: (message) => void process.send?.(message, undefined, undefined, () => {}),
    onMessage: (listener) =>
      void process.on("message", (message) => {
        if (isLinkMessage(message)) listener(message);
      }),
    onGone: (listener) => void process.once("disconnect", listener),
  };
}

function isLinkMessage(message: unknown): message is LinkMessage {
  return typeof message === "object" && message !== null && "sluice" in message;
}

class WorkerProcess {
  private readonly context: CommandContext;
  private readonly exit: (code: number) => void;
  private readonly signals = new EventEmitter();
  private readonly watchdog: Watchdog;
  private readonly pluginFolders = new PluginFolders();
  private readonly imports = importsOfRun(() => {});
  private agent: Agent | undefined;
  private metrics: WorkerMetrics | undefined;
  private assignment: Assignment | undefined;
  /** The config that the agent runs with. */
  private config: ResolvedConfig | undefined;

  constructor(context: CommandContext, exit: (code: number) => void) {
    this.context = context;
    this.exit = exit;
    this.watchdog = new Watchdog({ json: !context.terminal.err.isTerminal });
    for (const event of ["uncaughtException", "unhandledRejection"])
      process.on(event, (error) => void this.signals.emit(event, error));
  }

  methods() {
    return {
      ...adminMethods(
        () => this.agent?.admin,
        () => this.agent?.inspection,
        () => this.agent?.receivers() ?? [],
        () => this.agent?.insight,
      ),
      start: (assignment: Assignment) => this.start(assignment),
      reload: (snapshot: ConfigSnapshot) => this.reload(snapshot),
      adoptAbove: (count: number) => this.agent?.adoptWorkersAbove(count),
      signal: (name: string) => void this.signals.emit(name, name),
      metrics: () => this.metrics?.snapshot() ?? { families: [] },
      ping: () => this.agent?.state ?? "starting",
    };
  }

  /**
   * Ends at once, so that the next parent finds the queues free. What is in them is sent then. The folder of the sockets
   * between the workers is removed, because the parent cannot do it any more.
   */
  parentIsGone(): void {
    const { socketDirectory } = this.assignment ?? {};
    if (socketDirectory !== undefined) rmSync(socketDirectory, { recursive: true, force: true });
    this.exit(EXIT.failed);
  }

  /** Otherwise what was counted since the parent asked last would be missing. */
  private async tellLastMetrics(): Promise<void> {
    const { metrics } = this;
    if (metrics === undefined || !process.connected) return;
    const last: LastMetrics = { lastMetrics: metrics.snapshot() };
    const sent = new Promise<void>((resolve) => process.send?.(last, undefined, undefined, () => resolve()));
    await waitAtMost(LAST_METRICS_MS, sent, systemClock);
  }

  private async start(assignment: Assignment): Promise<StartAnswer> {
    this.assignment = assignment;
    const loaded = await this.load(assignment, assignment.snapshot);
    if (loaded.config === undefined) return this.failed(loaded.problems);
    try {
      await this.run(assignment, loaded, loaded.config);
      return { problems: [] };
    } catch (error) {
      return this.failed(problemsOf(error));
    }
  }

  /** The answer is sent before the process ends. */
  private failed(problems: readonly Problem[]): StartAnswer {
    setImmediate(() => this.exit(EXIT.failed));
    return { problems };
  }

  private async load({ config, set, number, count }: Assignment, snapshot: ConfigSnapshot): Promise<LoadedConfig> {
    const context = { ...this.context, values: { ...this.context.values, config, set } };
    const { watchdog, pluginFolders, imports } = this;
    const read = snapshotReader(snapshot);
    const { remoteFiles } = snapshot;
    const loaded = await loadFromArguments(context, watchdog, pluginFolders, undefined, remoteFiles, imports(), read);
    const noted = withFileVersions(loaded, () => {});
    return noted.config === undefined ? noted : { ...noted, config: configOfWorker(noted.config, { number, count }) };
  }

  private async run(assignment: Assignment, loaded: LoadedConfig, config: ResolvedConfig): Promise<void> {
    const { number, count, careful, socketDirectory, key, shutdownTimeoutMs } = assignment;
    await loadTextMask(); // before the first line is logged
    restrictNewFiles();
    const { isTerminal } = this.context.terminal.err;
    const fields = { worker: number };
    const telemetry = createSelfTelemetry(config, { stderr: process.stderr, isTerminal, fields, role: "worker" });
    const { logger, metrics } = telemetry;
    this.metrics = new WorkerMetrics(metrics);
    logStreamErrors(logger);
    const agent = new Agent(
      config,
      {
        logger,
        metrics,
        pluginTracker: this.watchdog,
        configFacts: factsOf(loaded),
        collectGarbage,
        worker: { number, count, careful },
        exchange: new SocketExchange({ worker: { number, count, socketDirectory, key }, logger, metrics }),
      },
      masks,
    );
    this.agent = agent;
    this.config = config;
    await new Promise<void>((resolve, reject) => {
      const supervised = {
        async start() {
          await telemetry.start();
          await agent.start();
          telemetry.useAuthenticators(agent.authenticators);
          tuneV8();
          resolve();
        },
        stop: (timeoutMs: number) => agent.stop(timeoutMs),
        abort: () => agent.abort(),
        reload() {},
      };
      const pluginOf = (error: unknown) => this.pluginFolders.pluginOf(error);
      const timeout = () => shutdownTimeoutMs ?? this.config!.service.shutdown_timeout;
      const options = { signals: this.signals, logger, clock: systemClock, shutdownTimeoutMs: timeout, pluginOf };
      supervise(supervised, options).then(async (code) => {
        await waitAtMost(TELEMETRY_STOP_MS, telemetry.stop(), systemClock);
        await this.tellLastMetrics();
        this.exit(code);
      }, reject);
    });
  }

  /** The parent tells, counts and records how the reload ended. */
  private async reload(snapshot: ConfigSnapshot): Promise<StartAnswer> {
    const loaded = await this.load(this.assignment!, snapshot);
    if (loaded.config === undefined) return { problems: loaded.problems };
    try {
      await this.agent!.reload(loaded.config, factsOf(loaded));
      this.config = loaded.config;
      return { problems: [] };
    } catch (error) {
      return { problems: problemsOf(error) };
    }
  }
}

/** Returns the config problems that made a start or reload fail. Any other error is a bug, and is thrown again. */
function problemsOf(error: unknown): readonly Problem[] {
  const { problems } = (error ?? {}) as { readonly problems?: readonly Problem[] };
  if (!Array.isArray(problems)) throw error;
  return problems;
}

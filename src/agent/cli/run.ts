import process from "node:process";
import { isMainThread } from "node:worker_threads";
import { type LoadedConfig, redactedConfig } from "#config";
import type { ResolvedConfig } from "#config/resolve";
import { type Problem, placeText, problemMessage } from "#config/text";
import { type Clock, type Logger, silentLogger, systemClock } from "#contract";
import type { PluginTracker } from "#contract/border";
import type { ReloadReport } from "#contract/operations";
import { parseDuration } from "#contract/schema";
import { waitAtMost } from "#contract/time";
import {
  type ConfigCandidate,
  type ConfigFacts,
  PluginFolders,
  RemoteSources,
  type Agent as RunningAgent,
  Watchdog,
  withFileVersions,
} from "#host";
import { useProxyEnvironment } from "#net";
import { fileSignature, useEnvironment, workerCount } from "#system";
import { loadTextMask, masks } from "../mask-batch.js";
import type { RehearsalTask } from "../rehearsal/process/child-frames.js";
import { ConfigSnapshots, changedFiles } from "../rehearsal/process/config-snapshots.js";
import type { CommandContext } from "./command.js";
import { loadFromArguments } from "./load-from-arguments.js";
import { importsOfRun } from "./plugin-imports.js";
import { showProblems } from "./show-problems.js";
import { logStreamErrors, supervise } from "./supervise.js";
import { EXIT, type Terminal, UsageError } from "./terminal.js";
import { collectGarbage, tuneV8 } from "./v8.js";
import type { ParentAgent, ParentSettings } from "./workers/parent-agent.js";

/** Time for the agent's own telemetry to send its last data, in milliseconds. */
const TELEMETRY_STOP_MS = 2000;
/** The same limit after a failure or a second signal, when stopping must be quick. */
const SHORT_TELEMETRY_STOP_MS = 250;
/** How often watched files are looked at, in milliseconds. */
const WATCH_INTERVAL_MS = 500;

/** `sluice run`: runs the agent until a signal stops it. */
export async function run(context: CommandContext): Promise<number> {
  const hangups = { count: 0 };
  const onHangup = () => void hangups.count++;
  process.on("SIGHUP", onHangup);
  try {
    return await runUntilStopped(context, () => hangups.count > 0);
  } finally {
    process.off("SIGHUP", onHangup);
  }
}

async function runUntilStopped(context: CommandContext, isReloadDue: () => boolean): Promise<number> {
  const { values, terminal } = context;
  const timeout = shutdownTimeout(values["shutdown-timeout"] as string | undefined);
  const watchdog = new Watchdog({ json: !terminal.err.isTerminal });
  const pluginFolders = new PluginFolders();
  useEnvironment(terminal.env);
  readProxies(terminal.env);
  const files = new Set<string>();
  const imports = importsOfRun((file) => void files.add(file));
  const snapshots = new ConfigSnapshots();
  const remote = new RemoteSources((sent) =>
    snapshots.load(sent, async (onFile, readFile) => {
      const onRead = (file: string) => {
        files.add(file);
        onFile(file);
      };
      const loaded = await loadFromArguments(context, watchdog, pluginFolders, onRead, sent, imports(), readFile);
      return withFileVersions(loaded, (file) => void files.add(file));
    }),
  );
  for (let loaded = await remote.loadFirst(); ; ) {
    const { config } = loaded;
    if (config === undefined) {
      showProblems(loaded.problems, loaded.lineAt, terminal.err);
      return EXIT.failed;
    }
    try {
      const watched = values["watch"] === true ? files : undefined;
      const taskOf = (running: ResolvedConfig) => snapshots.task(running, values, remote.current);
      const snapshotOf = (running: ResolvedConfig) => snapshots.of(running)!;
      const plugins = { watch: watchdog, pluginFolders };
      const parent = { values, snapshotOf, shutdownTimeoutMs: timeout };
      const environment = {
        shutdownTimeoutMs: timeout,
        terminal,
        ...plugins,
        remote,
        watched,
        taskOf,
        isReloadDue,
        parent,
      };
      return await runConfig(config, factsOf(loaded), environment);
    } catch (error) {
      const problems = problemsOfStart(error);
      const own = await remote.loadWithout(problems);
      if (own === undefined) return reportFailedStart(problems, loaded, terminal);
      loaded = own;
    }
  }
}

export function factsOf({ problems: warnings, tree, registry }: LoadedConfig): ConfigFacts {
  const redacted = (defaults: boolean) => (tree === undefined ? {} : redactedConfig(tree, { registry, defaults }));
  return { warnings, shown: () => redacted(true), merged: () => redacted(false) };
}

export function readProxies(env: Terminal["env"]): void {
  try {
    useProxyEnvironment(env);
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
}

/** The parts that `sluice dev` puts in the place of those of `sluice run`. */
export interface Development {
  /** The events that stop and reload the agent. */
  readonly signals: Parameters<typeof supervise>[1]["signals"];
  onStarted(agent: RunningAgent): Promise<void>;
  /** Called after each reload; it is not logged. */
  onReloaded(agent: RunningAgent, report: ReloadReport): Promise<void>;
}

interface RunEnvironment {
  /** In the place of `service.shutdown_timeout`. */
  readonly shutdownTimeoutMs: number | undefined;
  readonly terminal: Terminal;
  readonly watch: PluginTracker;
  readonly pluginFolders: PluginFolders;
  /** Loads the config again, and takes configs of a management server. */
  readonly remote: RemoteSources;
  /** The files whose changes cause a reload; undefined without `--watch`. */
  readonly watched: ReadonlySet<string> | undefined;
  readonly development?: Development;
  /** Returns the task of a rehearsal while this config runs; undefined if there are no rehearsals. */
  readonly taskOf?: (running: ResolvedConfig) => RehearsalTask | undefined;
  /** The settings of an agent with several workers; undefined if there is always one process. */
  readonly parent?: ParentSettings;
  /** Whether SIGHUP has come since the config was read; not asked again after the start. */
  readonly isReloadDue?: () => boolean;
}

/** Runs a loaded config until it is asked to stop, and returns the exit code. Rejects if it cannot start. */
export async function runConfig(
  config: ResolvedConfig,
  configFacts: ConfigFacts,
  environment: RunEnvironment,
): Promise<number> {
  const { shutdownTimeoutMs, terminal, watch, pluginFolders, remote, watched, taskOf, development, parent } =
    environment;
  void config.prepareGeneration();
  const [{ Agent }, { ConfigReloader }, { createSelfTelemetry }, { AgentRehearsals }] = await Promise.all([
    import("../../runtime/host/agent.js"),
    import("../../runtime/host/reload/config-reloader.js"),
    import("../../runtime/host/self-telemetry/self-telemetry.js"),
    import("../rehearsal/process/agent-rehearsals.js"),
    loadTextMask(), // before the first line is logged
  ]);
  restrictNewFiles();
  const output = { stderr: process.stderr, isTerminal: terminal.err.isTerminal };
  const hasWorkers = parent !== undefined && workerCount(config.service.workers) > 1;
  const telemetry = createSelfTelemetry(config, {
    ...output,
    ...(hasWorkers && { role: "parent", refreshMetrics: async () => (agent as ParentAgent).refreshMetrics() }),
  });
  const { logger, metrics } = telemetry;
  logStreamErrors(logger);
  const options = { logger, metrics, pluginTracker: watch, configFacts, collectGarbage };
  const agent: RunningAgent = hasWorkers
    ? new (await import("./workers/parent-agent.js")).ParentAgent(config, options, parent)
    : new Agent(config, options, masks);
  const reloader = new ConfigReloader({
    agent,
    config,
    load: () => remote.load(),
    factsOf,
    hasNewCode: () => changedFiles(task()?.before.plugins ?? {}).length > 0,
    wasRehearsedWithOldCode: () => rehearsals.hasOldCode,
    logger: development === undefined ? logger : silentLogger,
    metrics,
    clock: systemClock,
  });
  agent.configControl = reloader;
  const task = () => taskOf?.(reloader.runningConfig);
  const rehearsals = new AgentRehearsals({ agent, task, env: terminal.env, logger, clock: systemClock });
  agent.rehearsals = rehearsals;
  const reloadFor = async (actor: string, candidate?: ConfigCandidate) => {
    const operator = { actor };
    const report = await (candidate === undefined
      ? reloader.reload({ operator })
      : reloader.reloadWith(candidate, operator));
    await development?.onReloaded(agent, report);
    return report;
  };
  remote.useReload((candidate) => reloadFor("opamp", candidate));
  agent.remoteConfig = remote;
  const supervised = {
    async start() {
      await telemetry.start();
      logWarnings(configFacts.warnings, logger);
      const { startProblem } = remote;
      if (startProblem !== undefined)
        logger.error(
          { problems: startProblem },
          "the config of the management server is invalid or cannot start: starting without it",
        );
      await agent.start();
      telemetry.useAuthenticators(agent.authenticators);
      if (watched !== undefined)
        watchFiles(
          () => watched,
          systemClock,
          () => void reloadFor("run --watch"),
        );
      await development?.onStarted(agent);
      logger.info({ pipelines: config.pipelines.map((pipeline) => pipeline.id) }, "ready");
      tuneV8();
    },
    stop: (timeoutMs: number) => {
      rehearsals.cancel();
      return agent.stop(timeoutMs);
    },
    abort: () => agent.abort(),
    reload: () => void reloadFor(development === undefined ? "SIGHUP" : "dev"),
  };
  let code: number = EXIT.failed;
  try {
    const ownerOf = (error: unknown) => pluginFolders.pluginOf(error);
    code = await supervise(supervised, {
      signals: development?.signals ?? process,
      logger,
      clock: systemClock,
      shutdownTimeoutMs: () => shutdownTimeoutMs ?? reloader.runningConfig.service.shutdown_timeout,
      pluginOf: ownerOf,
      isReloadDue: environment.isReloadDue?.() === true,
    });
    logger.info({ code }, "stopped");
    return code;
  } finally {
    const telemetryStopMs = code === EXIT.ok ? TELEMETRY_STOP_MS : SHORT_TELEMETRY_STOP_MS;
    await waitAtMost(telemetryStopMs, telemetry.stop(), systemClock);
  }
}

function logWarnings(problems: readonly Problem[], logger: Logger): void {
  for (const problem of problems) {
    const { place, path, code } = problem;
    logger.warn({ code, path, ...(place && { place: placeText(place) }) }, `config: ${problemMessage(problem)}`);
  }
}

/** Returns the config problems that made a start fail. Any other error is a bug, and is thrown again. */
function problemsOfStart(error: unknown): readonly Problem[] {
  const { problems } = (error ?? {}) as { problems?: unknown };
  if (!Array.isArray(problems)) throw error;
  return problems as Problem[];
}

/** Prints a failed start like any other config problem. */
function reportFailedStart(problems: readonly Problem[], { lineAt }: LoadedConfig, terminal: Terminal): number {
  showProblems(problems, lineAt, terminal.err);
  return EXIT.failed;
}

function shutdownTimeout(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const ms = /^\d+$/.test(text) && text !== "0" ? undefined : parseDuration(text);
  if (ms === undefined)
    throw new UsageError(`--shutdown-timeout ${text} is not a duration`, "write it with a unit: 10s, 1m");
  return ms;
}

/** Files that the agent and its plugins create are readable by their owner only, unless they set other permissions. */
export function restrictNewFiles(): void {
  if (isMainThread) process.umask(0o077);
}

/**
 * Calls `onChange` when one of the files has changed, appeared or disappeared, and then stayed the same for one
 * interval: a file that is being written is not read. It compares what the path leads to, so replaced files and links
 * (as Kubernetes swaps those of a ConfigMap) are noticed. `files` is asked each time. Returns a function that ends it.
 */
function watchFiles(files: () => Iterable<string>, clock: Clock, onChange: () => void): () => void {
  let known = signature(files());
  let last = known;
  let cancel = () => {};
  const check = () => {
    const now = signature(files());
    if (now !== known && now === last) {
      known = now;
      onChange();
    }
    last = now;
    cancel = clock.after(WATCH_INTERVAL_MS, check);
  };
  cancel = clock.after(WATCH_INTERVAL_MS, check);
  return () => cancel();
}

function signature(files: Iterable<string>): string {
  return [...files].sort().map(fileSignature).join("\n");
}

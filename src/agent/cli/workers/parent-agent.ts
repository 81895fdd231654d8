import { randomBytes } from "node:crypto";
import { rmSync } from "node:fs";
import { tmpdir } from "node:os";
import type { ResolvedConfig } from "#config/resolve";
import type { Problem } from "#config/text";
import { type Logger, systemClock } from "#contract";
import type { InsightBy } from "#contract/insight";
import { waitAtMost } from "#contract/time";
import {
  Agent,
  type AgentDescription,
  type AgentFace,
  type AgentOptions,
  AgentStartError,
  addProcessMetrics,
  type ConfigFacts,
  describeAgent,
  MetricRegistry,
  type ReloadPlan,
  reloadPlan,
} from "#host";
import { removeStaleSocket } from "#net";
import { workerCount } from "#system";
import {
  createFace,
  type Face,
  MergedMetrics,
  type MetricsSnapshot,
  PARENT,
  type RemoteCalls,
  WorkerMetrics,
} from "#workers";
import { masks } from "../../mask-batch.js";
import type { ConfigSnapshot } from "../../rehearsal/process/child-frames.js";
import type { StartAnswer } from "./assignment.js";
import { createSocketFolder, removeOldSocketFolders, restoreSocketFolder } from "./socket-folders.js";
import { configOfParent } from "./worker-config.js";
import { WorkerProcesses } from "./worker-processes.js";

export interface ParentSettings {
  /** The arguments of `--config` and `--set`. */
  readonly values: Readonly<Record<string, unknown>>;
  /** The value of the command line, which takes precedence over the config. */
  readonly shutdownTimeoutMs: number | undefined;
  /** Returns the texts that a config was loaded from. */
  readonly snapshotOf: (config: ResolvedConfig) => ConfigSnapshot;
}

const METRICS_EVERY_MS = 1000;
/** A page of metrics does not wait longer for a worker that hangs. */
const MAX_METRICS_MS = 1000;
/** The extensions that operators look at stop quickly. */
const FACE_STOP_MS = 2000;

/**
 * An agent whose pipelines run in several other processes. It starts and watches these workers, and runs the extensions
 * that show them as one agent.
 */
export class ParentAgent extends Agent {
  private whole: ResolvedConfig;
  private wholeFacts: ConfigFacts | undefined;
  private described: AgentDescription;
  private readonly settings: ParentSettings;
  private readonly logger: Logger;
  private readonly processes: WorkerProcesses;
  private readonly merged: MergedMetrics;
  private readonly ownMetrics = new MetricRegistry();
  /** Set by the start. */
  private socketDirectory: string | undefined;
  private readonly key = randomBytes(32);
  /** With `auto` the number may be another one later. All workers that run must have the same. */
  private count: number;
  private readonly face: ParentFace;
  private cancelMetrics: () => void = () => {};
  private readonly askedForMetrics = new WeakMap<RemoteCalls, Promise<void>>();
  private wholeNumber = 1;
  private ending: Promise<void> | undefined;

  constructor(
    config: ResolvedConfig,
    options: AgentOptions & { readonly metrics: MetricRegistry },
    settings: ParentSettings,
  ) {
    const face = new ParentFace();
    super(configOfParent(config), { ...options, face }, masks);
    this.face = face;
    this.whole = config;
    this.count = workerCount(config.service.workers);
    this.wholeFacts = options.configFacts;
    this.described = this.describe();
    this.settings = settings;
    this.logger = options.logger;
    this.merged = new MergedMetrics(options.metrics, config.service.telemetry.metrics.level === "detailed");
    addProcessMetrics(this.ownMetrics);
    const ownSnapshot = new WorkerMetrics(this.ownMetrics);
    this.takeOwnMetrics = () => this.merged.take(PARENT, ownSnapshot.snapshot());
    this.processes = new WorkerProcesses({
      assignment: (number, careful) => ({
        number,
        careful,
        count: this.count,
        socketDirectory: this.socketFolder(),
        key: this.key,
        config: (settings.values["config"] ?? []) as readonly string[],
        set: (settings.values["set"] ?? []) as readonly string[],
        shutdownTimeoutMs: settings.shutdownTimeoutMs,
        snapshot: settings.snapshotOf(this.whole),
      }),
      logger: options.logger,
      clock: systemClock,
      random: Math.random,
      onLastMetrics: (number, metrics) => this.merged.take(number, metrics),
      onEnded: (number) => this.merged.forget(number),
      prepare: (number, calls) =>
        this.face.shown.restore(calls).catch((error: unknown) => {
          this.logger.warn({ err: error, worker: number }, "could not pass the operators' settings on to a worker");
        }),
    });
    face.workers = () => this.processes.status();
    face.hasWorkers = () => this.processes.ready.length > 0;
    face.shown = createFace({
      workers: () => this.processes.linked,
      description: () => this.described,
      clock: systemClock,
      logger: options.logger,
    });
  }

  private readonly takeOwnMetrics: () => void;

  private readonly startedAt = systemClock.now();

  private describe() {
    const { whole: config, wholeFacts: facts, startedAt } = this;
    return describeAgent({ config, facts, startedAt });
  }

  private get shutdownTimeoutMs(): number {
    return this.settings.shutdownTimeoutMs ?? this.whole.service.shutdown_timeout;
  }

  private socketFolder(): string {
    const folder = this.socketDirectory!;
    restoreSocketFolder(folder);
    return folder;
  }

  override async start(): Promise<void> {
    this.socketDirectory = usableSocketFolder();
    await removeStaleSockets(this.whole);
    await super.start();
    const problems = await this.processes.start(this.count);
    if (this.ending !== undefined) throw new Error("the agent was stopped while it was starting");
    if (problems.length > 0) {
      await this.stop(0);
      throw new AgentStartError(problems);
    }
    this.face.ownState = "ready";
    void removeOldSocketFolders(this.socketDirectory).catch(() => {});
    const next = () => {
      this.cancelMetrics = systemClock.after(METRICS_EVERY_MS, () => void this.refreshMetrics().then(next));
    };
    next();
  }

  override stop(timeoutMs = this.shutdownTimeoutMs): Promise<void> {
    this.ending ??= this.end(timeoutMs);
    return this.ending;
  }

  override abort(): void {
    this.processes.abort();
    super.abort();
  }

  override get generationNumber(): number {
    return this.wholeNumber;
  }

  /**
   * First the extensions here change, then the first worker, then the others. If the first worker cannot run the new
   * config, everything stays as it was. Another one that cannot is started again. If the number of workers changes, they
   * are started again one after the other.
   */
  override async reload(config: ResolvedConfig, facts?: ConfigFacts): Promise<ReloadPlan> {
    const plan = reloadPlan(this.whole, config);
    const before = configOfParent(this.whole);
    await super.reload(configOfParent(config), facts);
    const snapshot = this.settings.snapshotOf(config);
    const count = workerCount(config.service.workers);
    await removeStaleSockets(config);
    const [first] = this.processes.ready;
    const reloadOne = async (worker: NonNullable<typeof first>) =>
      ((await worker.calls.call("reload", snapshot)) as StartAnswer).problems;
    const problems = first === undefined ? [] : await reloadOne(first).catch(asProblems);
    if (problems.length > 0) {
      await super.reload(before);
      throw new AgentStartError(problems);
    }
    this.whole = config;
    this.wholeFacts = facts;
    this.described = this.describe();
    this.wholeNumber += 1;
    if (count !== this.count) {
      this.count = count;
      await this.processes.resize(count, this.shutdownTimeoutMs);
    } else {
      const others = this.processes.ready.filter(({ calls }) => calls !== first?.calls); // those that start catch up
      await Promise.all(others.map(async (worker) => this.settle(worker, await reloadOne(worker).catch(asProblems))));
    }
    return plan;
  }

  /** Asks every worker for its metrics. Those of a worker that hangs stay as they were. */
  async refreshMetrics(): Promise<void> {
    this.takeOwnMetrics();
    const asked = this.processes.ready.map(({ worker, calls }) => this.askForMetrics(worker, calls));
    await waitAtMost(MAX_METRICS_MS, Promise.all(asked), systemClock);
  }

  /** Does not ask again before the worker has answered. */
  private askForMetrics(worker: number, calls: RemoteCalls): Promise<void> {
    const asked = this.askedForMetrics.get(calls) ?? this.takeMetrics(worker, calls);
    this.askedForMetrics.set(calls, asked);
    return asked;
  }

  private async takeMetrics(worker: number, calls: RemoteCalls): Promise<void> {
    const snapshot = await calls.call("metrics").catch(() => undefined);
    this.askedForMetrics.delete(calls);
    const isCurrent = this.processes.ready.some((each) => each.calls === calls); // what it left behind was counted
    if (snapshot !== undefined && isCurrent) this.merged.take(worker, snapshot as MetricsSnapshot);
  }

  private settle({ worker, calls }: ReadyWorker, problems: readonly Problem[]): void {
    if (problems.length === 0) return;
    const messages = problems.map(({ message }) => message);
    this.logger.error({ worker, problems: messages }, "a worker cannot run the new config: restarting it");
    this.processes.replace(worker, calls);
  }

  private async end(timeoutMs: number): Promise<void> {
    this.face.ownState = "draining";
    await this.processes.stop(timeoutMs);
    this.cancelMetrics();
    await this.refreshMetrics();
    await super.stop(FACE_STOP_MS);
    if (this.socketDirectory !== undefined) rmSync(this.socketDirectory, { recursive: true, force: true });
  }
}

/** The extensions see all workers through this. */
class ParentFace implements AgentFace {
  ownState: AgentFace["state"] = "starting";
  /** Set before the first extension starts. */
  shown!: Face;
  workers!: AgentFace["workers"];
  hasWorkers!: () => boolean;

  /** An agent whose workers have all ended accepts nothing. */
  get state() {
    return this.ownState === "ready" && !this.hasWorkers() ? "starting" : this.ownState;
  }

  get admin() {
    return this.shown.admin;
  }

  get inspection() {
    return this.shown.inspection;
  }

  receivers() {
    return this.shown.receivers();
  }

  refresh() {
    return this.shown.refresh();
  }

  readonly insight = (by: InsightBy) => this.shown.insight(by);
}

type ReadyWorker = WorkerProcesses["ready"][number];

/** Workers cannot do this themselves, because each would have to know that no other one listens there yet. */
async function removeStaleSockets({ receivers }: ResolvedConfig): Promise<void> {
  const listeners = [...receivers.values()].flatMap(({ factory, config }) => factory.listensAt?.(config) ?? []);
  for (const { address } of listeners) if ("path" in address) await removeStaleSocket(address.path);
}

function usableSocketFolder(): string {
  try {
    return createSocketFolder();
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const hint = "set TMPDIR to a directory that can be written, such as a volume of the container, or use workers: 1";
    const problem = `several workers need a temporary directory for their sockets, and ${tmpdir()} cannot be used (${code ?? message}): ${hint}`;
    throw new AgentStartError(
      [{ severity: "error", code: "start_failed", place: undefined, path: "service.workers", message: problem }],
      { cause: error },
    );
  }
}

function asProblems(error: unknown): readonly Problem[] {
  const message = error instanceof Error ? error.message : String(error);
  return [{ severity: "error", code: "start_failed", place: undefined, path: "service.workers", message }];
}

import type { ExtensionSpec, ResolvedConfig } from "#config/resolve";
import type { Problem } from "#config/text";
import type { Authenticators, AuthSide, Delivery } from "#contract";
import { type Clock, systemClock } from "#contract";
import type { BuiltInExtension, BuiltInHost, BuiltInReceiver } from "#contract/built-in";
import { directOutlet } from "#contract/calls";
import { ERROR_CODES, isStartError, StartError } from "#contract/errors";
import type {
  Admin,
  AgentInspection,
  ConfigControl,
  ReceiverHealth,
  ReceiverStatus,
  RemoteConfigControl,
} from "#contract/operations";
import type { RehearsalControl } from "#contract/rehearsal";
import type { ExtensionServices } from "#contract/services";
import { SharedSockets } from "#net";
import type { Batch } from "#otlp";
import { buildGraph, ComponentCreateError, type Graph, type GraphServices, type WorkerExchange } from "#pipeline";
import { maskStrings } from "#text";
import type { AgentOptions } from "./agent-options.js";
import { ComponentRunner, ComponentStartError, STOP_GRACE_MS } from "./component-runner.js";
import { callerStack, ProblemsError, thrownTo } from "./errors/problems-error.js";
import { type ConfigFacts, inspectAgent } from "./inspect-agent.js";
import { LeavingExporters } from "./reload/leaving-exporters.js";
import { type ReloadPlan, reloadPlan, restartProblems } from "./reload/reload-plan.js";
import { retire } from "./reload/retire.js";
import { StoppedParts } from "./reload/stopped-parts.js";
import { Swap } from "./reload/swap.js";
import { RunningParts, stoppedWhileStarting } from "./running-parts.js";

/** Part of a receiver's status that stays as it is: its name in the config. */
const KEPT_OF_STATUS: ReadonlySet<string> = new Set(["id"]);

/** The agent cannot run as configured; each problem has its place in the config. Nothing is left running. */
export class AgentStartError extends ProblemsError {
  override readonly name = "AgentStartError";
  readonly code = ERROR_CODES.SLUICE_AGENT_START;

  constructor(problems: readonly Problem[], options?: { cause?: unknown }) {
    super("", problems, options);
  }
}

/** Loads what masks data for people who may not see its content. */
interface Masks {
  /** Installs the mask for texts of this process. */
  forTexts(): Promise<void>;
  /** The function masks synchronously, and throws if it cannot. */
  forBatches(): Promise<(batch: Batch) => Batch>;
}

/**
 * Runs one config in this process. Starts extensions, exporters, processors and receivers, in this order, and stops
 * them in reverse. Changes nothing global, so several agents can run side by side.
 */
export class Agent implements BuiltInHost {
  readonly current: { config: ResolvedConfig };
  private readonly options: AgentOptions;
  private readonly clock: Clock;
  private readonly masks: Masks;
  private currentState: BuiltInHost["state"] = "starting";
  /** True while receivers may hand in data: from before the first one starts until the stop. */
  private readonly intakeState = { isOpen: false };
  private graph: Graph | undefined;
  private seen: AgentInspection | undefined;
  private readonly runner: ComponentRunner;
  private readonly running: RunningParts;
  private readonly leaving: LeavingExporters;
  private readonly sockets = new SharedSockets();
  /** The end of what the last reload replaced. */
  private retiring: Promise<void> = Promise.resolve();
  private reloading: Promise<unknown> | undefined;
  private number = 1;
  private facts: ConfigFacts | undefined;
  private readonly healthGauges = new Map<ReceiverHealth, () => void>();
  /** Reloads the config from its files. Set by the loader of the config. */
  configControl: ConfigControl | undefined;
  /** Rehearses the config from its files. Set by the loader of the config. */
  rehearsals: RehearsalControl | undefined;
  /** Takes configs of a management server. Set by the loader of the config. */
  remoteConfig: RemoteConfigControl | undefined;
  private stopping: Promise<void> | undefined;
  /** Aborts a start that is under way. */
  private interruptStart = () => {};
  private readonly removeGauges: (() => void)[] = [];
  /** Gives other components access to the authenticators of started extensions. */
  readonly authenticators: Authenticators = startedAuthenticators((id) => this.running.extensions.get(id)?.extension);

  /** Gives receivers access to what started extensions offer them. */
  private readonly extensions: ExtensionServices = startedServices((id) => this.running.extensions.get(id)?.extension);

  constructor(config: ResolvedConfig, options: AgentOptions, masks: Masks) {
    this.current = { config };
    this.options = options;
    this.facts = options.configFacts;
    this.masks = masks;
    this.clock = options.clock ?? systemClock;
    this.runner = new ComponentRunner(this.clock, options.logger);
    this.leaving = new LeavingExporters(this.runner, options.logger);
    this.running = new RunningParts(
      this.runner,
      (spec) => this.createExtension(spec),
      () => this.stopping !== undefined,
    );
  }

  get state(): BuiltInHost["state"] {
    const { face } = this.options;
    return face === undefined || this.currentState !== "ready" ? this.currentState : face.state;
  }

  async mask(batch: Batch): Promise<Batch> {
    return (await this.loadMask())(batch);
  }

  loadMask(): Promise<(batch: Batch) => Batch> {
    return this.masks.forBatches();
  }

  get generation(): string {
    return this.current.config.generation;
  }

  /** How many configs this agent has run with so far. */
  get generationNumber(): number {
    return this.number;
  }

  /**
   * Replaces the config while the agent runs. Resolves when the new config is in use; what was replaced may still
   * finish its work then. Rejects with an `AgentStartError` if a component cannot be made or started: the old config
   * runs on. Must not be called again before it has ended.
   */
  async reload(config: ResolvedConfig, facts?: ConfigFacts): Promise<ReloadPlan> {
    const plan = reloadPlan(this.current.config, config);
    if (plan.refused.length > 0) throw new AgentStartError(restartProblems(plan, config));
    const { graph } = this;
    if (this.currentState !== "ready" || graph === undefined)
      throw new AgentStartError([notReadyProblem(this.currentState)]);
    const reloading = this.swap(graph, config, plan);
    this.reloading = reloading;
    try {
      await reloading;
    } finally {
      this.reloading = undefined;
    }
    this.current.config = config;
    this.facts = facts ?? this.facts;
    this.number += 1;
    this.inspect(graph);
    this.registerHealth(graph);
    return plan;
  }

  private async swap(graph: Graph, config: ResolvedConfig, plan: ReloadPlan): Promise<void> {
    await this.retiring;
    const { running, runner, sockets, leaving, clock } = this;
    const services = (of: ResolvedConfig) => this.graphServices(of);
    const agent = { graph, running, runner, sockets, leaving, clock, logger: this.options.logger, services };
    const stopped = new StoppedParts(agent);
    try {
      const replaced = await new Swap({ ...agent, stopped }, this.current.config, config, plan).run();
      this.retiring = retire(agent, replaced, config.service.shutdown_timeout);
    } catch (error) {
      throw withLostParts(asAgentError(asStartError(error)), stopped.lost);
    }
  }

  get admin(): Admin | undefined {
    return this.options.face?.admin ?? this.extensionWith("admin")?.admin;
  }

  /**
   * Adopts the queues of workers above this number, which have ended. Queues of the others are not touched any more, so
   * that these workers can be started when the promise has resolved. Only worker 1 does this.
   */
  async adoptWorkersAbove(count: number): Promise<void> {
    for (const { extension } of this.running.extensions.values()) await extension.adoptWorkersAbove?.(count);
  }

  receiver(id: string): BuiltInReceiver | undefined {
    return this.graph?.receivers.find(({ spec }) => spec.id === id)?.receiver;
  }

  receivers(): readonly ReceiverStatus[] {
    if (this.options.face !== undefined) return this.options.face.receivers();
    const here = this.graph?.receivers.filter(({ isElsewhere }) => isElsewhere !== true) ?? [];
    return here.map(({ health }) => maskStrings(health.status(), KEPT_OF_STATUS));
  }

  get insight(): BuiltInHost["insight"] {
    const { face } = this.options;
    if (face !== undefined) return face.insight;
    const source = this.extensionWith("insight")?.insight;
    return source && (async (by) => ({ snapshots: [source.snapshot(by)], unavailableWorkers: [] }));
  }

  /** Undefined if the agent is one process. */
  get workers(): BuiltInHost["workers"] {
    const { face } = this.options;
    return face && (() => face.workers());
  }

  get refresh(): BuiltInHost["refresh"] {
    const { face } = this.options;
    return face && (() => face.refresh());
  }

  get inspection(): AgentInspection | undefined {
    return this.options.face?.inspection ?? this.seen;
  }

  /**
   * Resolves when every receiver accepts requests. Rejects with an `AgentStartError` after stopping everything again. A
   * stop ends the start: it does not wait for a component that hangs while starting, which is stopped if it comes up
   * later.
   */
  async start(): Promise<void> {
    const calledFrom = callerStack(this.start);
    const interrupted = new Promise<never>((_resolve, reject) => {
      this.interruptStart = () => reject(stoppedWhileStarting());
    });
    try {
      await Promise.race([this.startAll(), interrupted]);
      this.throwIfStopping();
      this.currentState = "ready";
      this.runner.limitStarts();
    } catch (error) {
      await this.stop(0);
      const failure = asAgentError(error);
      throw failure instanceof AgentStartError ? thrownTo(calledFrom, failure) : failure;
    }
  }

  /**
   * Accepts nothing new, lets all data reach its exporters, and stops. Data that is not settled after `timeoutMs` is
   * refused, so its sender keeps it. Never rejects; a second call joins the first.
   */
  stop(timeoutMs: number = this.current.config.service.shutdown_timeout): Promise<void> {
    this.stopping ??= this.shutDown(timeoutMs);
    this.interruptStart();
    return this.stopping;
  }

  /** Refuses all unsettled data at once. For a stop that should not wait any longer. */
  abort(): void {
    this.graph?.abort();
  }

  private async startAll(): Promise<void> {
    await this.masks.forTexts(); // whatever comes from outside is masked from now on
    this.throwIfStopping();
    for (const spec of this.current.config.extensions.values()) await this.running.startExtension(spec);
    const graph = this.buildGraph();
    this.graph = graph;
    this.inspect(graph);
    this.registerGauges(graph);
    await this.running.startAll(graph.parts, this.current.config, async () => {
      await this.options.exchange?.start();
      this.throwIfStopping();
      this.intakeState.isOpen = true;
    });
  }

  private inspect({ flows }: Graph): void {
    const { facts } = this;
    const { metrics } = this.options;
    const startedAt = this.seen?.agent.startedAt ?? this.clock.now();
    this.seen = inspectAgent({ config: this.current.config, facts, startedAt, flows, metrics });
    for (const { extension } of this.running.extensions.values()) extension.inspect?.(this.seen);
  }

  /** A stop may have been requested during an await. */
  private throwIfStopping(): void {
    if (this.stopping !== undefined) throw stoppedWhileStarting();
  }

  private extensionWith(member: "admin" | "outlets" | "journals" | "insight"): BuiltInExtension | undefined {
    return [...this.running.extensions.values()].find(({ extension }) => extension[member] !== undefined)?.extension;
  }

  private createExtension({ id, factory, config }: ExtensionSpec): BuiltInExtension {
    const { logger, metrics, worker, exchange, random = Math.random } = this.options;
    return factory.create(config, {
      ...(worker !== undefined && { worker }),
      ...(exchange !== undefined && {
        toFirstWorker: (place, onArrival) => this.wayToFirst(exchange, place, onArrival),
      }),
      id,
      kind: "extension",
      metrics,
      random,
      clock: this.clock,
      sockets: this.sockets,
      host: this,
      logger: logger.child({ component: `extension ${id}` }),
      authenticators: this.authenticators,
      maxRecordSize: this.current.config.service.max_record_size,
    });
  }

  private wayToFirst(exchange: WorkerExchange, place: string, onArrival: (delivery: Delivery) => void) {
    const limit = () => this.current.config.service.intake.max_bytes;
    const opened = exchange.open(place, { mode: "one", onArrival, limit });
    return (delivery: Delivery) => {
      const here = opened.handOver(delivery);
      if (here !== undefined) onArrival(here);
    };
  }

  private buildGraph(): Graph {
    try {
      const { config: plan } = this.current;
      return buildGraph({ ...this.graphServices(plan), plan, intakeLimit: plan.service.intake.max_bytes });
    } catch (error) {
      throw asStartError(error);
    }
  }

  private graphServices({ service }: ResolvedConfig): GraphServices {
    const {
      logger,
      metrics,
      random = Math.random,
      pluginTracker,
      collectGarbage,
      keepsRefused,
      exchange,
    } = this.options;
    const { clock, authenticators, extensions, sockets, intakeState } = this;
    return {
      logger,
      metrics,
      random,
      clock,
      authenticators,
      extensions,
      sockets,
      intakeState,
      pluginTracker,
      collectGarbage,
      keepsRefused,
      exchange,
      maxRecordValues: service.intake.max_record_values || Number.POSITIVE_INFINITY,
      maxRecordSize: service.max_record_size,
      outletFactory: this.extensionWith("outlets")?.outlets ?? directOutlet,
      journalFactory: this.extensionWith("journals")?.journals,
    };
  }

  private registerGauges(graph: Graph): void {
    const { metrics } = this.options;
    const gauge = (name: string, description: string, read: () => number) =>
      this.removeGauges.push(metrics.gauge(name, { description, unit: "By" }, read));
    gauge("sluice_intake_bytes", "Bytes of requests that have not been answered yet.", () => graph.budget.used);
    gauge("sluice_intake_limit_bytes", "Limit for these bytes.", () => graph.budget.limit);
    const description = "The number of the config that runs: 1 after a start, one more after each reload.";
    const readNumber = () => this.number;
    this.removeGauges.push(metrics.gauge("sluice_config_generation", { description }, readNumber));
    this.registerHealth(graph);
  }

  /** New gauges replace those of a former receiver with the same id. */
  private registerHealth({ receivers }: Graph): void {
    for (const { health, isElsewhere } of receivers)
      if (isElsewhere !== true && !this.healthGauges.has(health)) this.healthGauges.set(health, health.start());
    for (const [health, remove] of this.healthGauges) {
      if (receivers.some((each) => each.health === health)) continue;
      remove();
      this.healthGauges.delete(health);
    }
  }

  private async shutDown(timeoutMs: number): Promise<void> {
    const { runner, reloading } = this;
    const ended = () => {};
    if (reloading !== undefined) await runner.waitFor(reloading.then(ended, ended), timeoutMs);
    this.currentState = "draining";
    this.intakeState.isOpen = false;
    await runner.waitFor(this.drain(), timeoutMs, () => {
      this.options.logger.warn({ timeoutMs }, "the stop took too long: refusing undelivered data");
      this.abort();
    });
    if (this.options.exchange !== undefined) await runner.waitFor(this.options.exchange.stop(), STOP_GRACE_MS);
    await this.stopParts();
    const stopped = reloading && this.stopPartsAfter(reloading.then(ended, ended));
    if (this.reloading === undefined) await stopped; // a reload that still runs may hang
    for (const remove of [...this.removeGauges, ...this.healthGauges.values()]) remove();
    this.currentState = "stopped";
  }

  private async stopParts(): Promise<void> {
    const { runner, running } = this;
    await runner.waitFor(this.retiring, STOP_GRACE_MS);
    await runner.waitFor(this.leaving.stopAll(), STOP_GRACE_MS);
    await runner.stopInTime(running.outlets.values());
    await runner.stopInTime(running.journals.values());
    await runner.stopInTime(running.exporters.values());
    for (const extension of [...running.extensions.values()].reverse()) await runner.stopInTime([extension]);
  }

  /** A reload that outlasts a stop still starts parts, or puts former ones back. They are stopped when it has ended. */
  private async stopPartsAfter(reloaded: Promise<void>): Promise<void> {
    await reloaded;
    this.abort();
    await this.runner.stopInTime(this.running.receivers.values());
    await this.stopParts();
  }

  private async drain(): Promise<void> {
    const receiversStopped = this.runner.stopAll(this.running.receivers.values());
    await this.graph?.drain();
    await receiversStopped;
  }
}

/** A failure of a component as problems of the config. A StartError's problem says everything. */
function asAgentError(error: unknown): unknown {
  if (!(error instanceof ComponentStartError)) return error;
  const cause = isStartError(error.cause) ? error.cause.cause : error.cause;
  return new AgentStartError([error.problem], { cause });
}

/** Adds problems for parts of the old config that a failed reload has stopped and that could not be started again. */
function withLostParts(error: unknown, lost: readonly unknown[]): unknown {
  const problems = lost.map(asAgentError).flatMap((each) => (each instanceof AgentStartError ? each.problems : []));
  if (problems.length === 0 || !(error instanceof AgentStartError)) return error;
  const more = problems.map((problem) => ({
    ...problem,
    message: `it was stopped for this reload and could not be restarted, so it no longer runs: restart the agent: ${problem.message}`,
  }));
  return new AgentStartError([...error.problems, ...more], { cause: error.cause });
}

function notReadyProblem(state: BuiltInHost["state"]): Problem {
  const message = `the agent is ${state}: its config cannot be reloaded`;
  return { severity: "error", code: "start_failed", place: undefined, path: "", message };
}

function asStartError(error: unknown): unknown {
  return error instanceof ComponentCreateError ? new ComponentStartError(error.component, error.cause) : error;
}

/** The authenticators of started extensions. A config that refers to any other does not load. */
function startedAuthenticators(find: (id: string) => BuiltInExtension | undefined): Authenticators {
  const found = <T>(id: string, side: AuthSide, authenticator: T | undefined): T => {
    if (authenticator !== undefined) return authenticator;
    throw new StartError(`extension "${id}" cannot authenticate for a ${side}`, ["auth", "authenticator"]);
  };
  return {
    server: (id) => found(id, "server", find(id)?.serverAuthenticator),
    client: (id) => found(id, "client", find(id)?.clientAuthenticator),
  };
}

/** The services that started extensions offer to receivers. A config that refers to any other does not load. */
function startedServices(find: (id: string) => BuiltInExtension | undefined): ExtensionServices {
  const found = <T>(id: string, service: T | undefined): T => {
    if (service !== undefined) return service;
    throw new StartError(`extension "${id}" does not run, or does something else`);
  };
  return {
    observer: (id) => found(id, find(id)?.endpointObserver),
    leaderElection: (id) => found(id, find(id)?.leaderElection),
  };
}

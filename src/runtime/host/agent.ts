import type { ComponentSpec, ResolvedConfig } from "#config/resolve";
import type { Problem } from "#config/text";
import type { Authenticators, AuthSide, Extension, Host, Logger, Metrics, PlannedComponent, Receiver } from "#contract";
import { type Clock, systemClock } from "#contract";
import { checkComponent, type PluginTracker } from "#contract/border";
import { directOutlet } from "#contract/calls";
import { ERROR_CODES, errorMessage, isStartError, StartError } from "#contract/errors";
import type { Admin, AgentInspection, ReceiverStatus } from "#contract/operations";
import { waitAtMost } from "#contract/time";
import type { Batch } from "#otlp";
import { buildGraph, ComponentCreateError, type Graph } from "#pipeline";
import { maskStrings } from "#text";
import { callerStack, ProblemsError, thrownTo } from "./errors/problems-error.js";
import { thrownAt } from "./errors/source-position.js";
import { type ConfigFacts, inspectAgent } from "./inspect-agent.js";

/** The options of an agent besides its config. */
export interface AgentOptions {
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly clock?: Clock;
  readonly random?: () => number;
  /** Tracks which plugin's code is running. */
  readonly pluginTracker?: PluginTracker;
  /**
   * Runs a full garbage collection, to find deliveries that plugins have dropped. Only `sluice run` sets it: see
   * cli/v8.ts.
   */
  readonly collectGarbage?: () => void;
  /** True when some senders never see a refusal, so that refused data must be kept. */
  readonly keepsRefused?: boolean;
  /** The parts of the config that extensions may show. */
  readonly configFacts?: ConfigFacts;
}

/** Part of a receiver's status that stays as it is: its name in the config. */
const KEPT_OF_STATUS: ReadonlySet<string> = new Set(["id"]);
/** Time for a component to stop, and for a receiver to answer the requests refused at the last moment. */
const STOP_GRACE_MS = 2000;
/** A start may take long; after this time the log says which component is still starting. */
const SLOW_START_MS = 10_000;

/** The agent cannot run as configured; each problem has its place in the config. Nothing is left running. */
export class AgentStartError extends ProblemsError {
  override readonly name = "AgentStartError";
  readonly code = ERROR_CODES.SLUICE_AGENT_START;

  constructor(problems: readonly Problem[], options?: { cause?: unknown }) {
    super("", problems, options);
  }
}

/**
 * Runs one config in this process. Starts extensions, exporters, processors and receivers, in this order, and stops
 * them in reverse. Changes nothing global, so several agents can run side by side.
 */
export class Agent implements Host {
  private readonly config: ResolvedConfig;
  private readonly options: AgentOptions;
  private readonly clock: Clock;
  readonly loadMask: NonNullable<Host["loadMask"]>;
  private currentState: Host["state"] = "starting";
  /** True while receivers may hand in data: from before the first one starts until the stop. */
  private readonly intakeState = { isOpen: false };
  private graph: Graph | undefined;
  private seen: AgentInspection | undefined;
  /** Started components; they are stopped in reverse order. */
  private readonly extensions: (StartedComponent & { readonly extension: Extension })[] = [];
  private readonly startedExporters: StartedComponent[] = [];
  private readonly startedOutlets: StartedComponent[] = [];
  private readonly startedJournals: StartedComponent[] = [];
  private readonly startedReceivers: StartedComponent[] = [];
  private stopping: Promise<void> | undefined;
  /** Aborts a start that is under way. */
  private interruptStart = () => {};
  private readonly removeGauges: (() => void)[] = [];
  /** Gives other components access to the authenticators of started extensions. */
  readonly authenticators: Authenticators = startedAuthenticators((id) =>
    this.extensions.find((each) => each.id === id),
  );

  /** `loadMask` loads the function that masks batches for people who may not see their content. */
  constructor(config: ResolvedConfig, options: AgentOptions, loadMask: NonNullable<Host["loadMask"]>) {
    this.config = config;
    this.options = options;
    this.loadMask = loadMask;
    this.clock = options.clock ?? systemClock;
  }

  get state(): Host["state"] {
    return this.currentState;
  }

  async mask(batch: Batch): Promise<Batch> {
    return (await this.loadMask())(batch);
  }

  get generation(): string {
    return this.config.generation;
  }

  get admin(): Admin | undefined {
    return this.extensions.find(({ extension }) => extension.admin !== undefined)?.extension.admin;
  }

  receiver(id: string): Receiver | undefined {
    return this.graph?.receivers.find(({ spec }) => spec.id === id)?.receiver;
  }

  receivers(): readonly ReceiverStatus[] {
    return this.graph?.receivers.map(({ health }) => maskStrings(health.status(), KEPT_OF_STATUS)) ?? [];
  }

  get inspection(): AgentInspection | undefined {
    return this.seen;
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
    } catch (error) {
      await this.stop(0);
      if (!(error instanceof ComponentStartError)) throw error;
      // A StartError's problem says everything; any other error has its own details.
      const cause = isStartError(error.cause) ? error.cause.cause : error.cause;
      throw thrownTo(calledFrom, new AgentStartError([error.problem], { cause }));
    }
  }

  /**
   * Accepts nothing new, lets all data reach its exporters, and stops. Data that is not settled after `timeoutMs` is
   * refused, so its sender keeps it. Never rejects; a second call joins the first.
   */
  stop(timeoutMs: number = this.config.service.shutdown_timeout): Promise<void> {
    this.stopping ??= this.shutDown(timeoutMs);
    this.interruptStart();
    return this.stopping;
  }

  /** Refuses all unsettled data at once. For a stop that should not wait any longer. */
  abort(): void {
    this.graph?.abort();
  }

  private async startAll(): Promise<void> {
    await this.loadMask(); // whatever comes from outside is masked from now on
    this.throwIfStopping();
    await this.startExtensions();
    this.throwIfStopping();
    this.graph = this.buildGraph();
    const { configFacts: facts, metrics } = this.options;
    const startedAt = this.clock.now();
    this.seen = inspectAgent({ config: this.config, facts, startedAt, flows: this.graph.flows, metrics });
    this.registerGauges(this.graph);
    await this.startExporters(this.graph);
    this.throwIfStopping();
    await this.startJournals(this.graph);
    this.throwIfStopping();
    this.intakeState.isOpen = true;
    await this.startReceivers(this.graph);
  }

  /** A stop may have been requested during an await. */
  private throwIfStopping(): void {
    if (this.stopping !== undefined) throw stoppedWhileStarting();
  }

  /** Registers a started component for the stop; if the stop is already over, stops it at once. */
  private async addStarted<T extends StartedComponent>(component: T, started: T[]): Promise<void> {
    if (this.stopping === undefined) return void started.push(component);
    await this.stopAll([component]);
    throw stoppedWhileStarting();
  }

  private buildGraph(): Graph {
    const { logger, metrics, random = Math.random } = this.options;
    const outletExtension = this.extensions.find(({ extension }) => extension.outlets !== undefined)?.extension;
    const outletFactory = outletExtension?.outlets ?? directOutlet;
    const journalFactory = this.extensions.find(({ extension }) => extension.journals !== undefined)?.extension
      .journals;
    try {
      const { intake, max_record_size: maxRecordSize } = this.config.service;
      const { config: plan, clock } = this;
      const { pluginTracker, collectGarbage, keepsRefused } = this.options;
      const factories = { outletFactory, journalFactory };
      return buildGraph({
        plan,
        intakeLimit: intake.max_bytes,
        maxRecordValues: intake.max_record_values || Number.POSITIVE_INFINITY,
        maxRecordSize,
        logger,
        metrics,
        clock,
        random,
        ...factories,
        intakeState: this.intakeState,
        authenticators: this.authenticators,
        pluginTracker,
        collectGarbage,
        keepsRefused,
      });
    } catch (error) {
      if (error instanceof ComponentCreateError) throw new ComponentStartError(error.component, error.cause);
      throw error;
    }
  }

  private async startExtensions(): Promise<void> {
    for (const spec of this.config.extensions.values()) {
      const extension = await this.startComponent(spec, async () => {
        const { logger, metrics, random = Math.random } = this.options;
        const component = logger.child({ component: `extension ${spec.id}` });
        const context = {
          id: spec.id,
          kind: "extension" as const,
          logger: component,
          metrics,
          clock: this.clock,
          random,
          authenticators: this.authenticators,
        };
        const extension = checkComponent("extension", spec.factory.create(spec.config, { ...context, host: this }));
        await extension.start();
        return extension;
      });
      await this.addStarted({ id: spec.id, extension, stop: () => extension.stop() }, this.extensions);
    }
  }

  private async startExporters(graph: Graph): Promise<void> {
    for (const { spec, exporter, outlet } of graph.exporters) {
      await this.startComponent(spec, async () => exporter.start?.());
      await this.addStarted({ id: spec.id, stop: async () => exporter.stop?.() }, this.startedExporters);
      await this.startComponent(spec, async () => outlet.start?.());
      await this.addStarted({ id: spec.id, stop: async () => outlet.stop?.() }, this.startedOutlets);
    }
  }

  private async startJournals(graph: Graph): Promise<void> {
    for (const { owner, journal } of graph.journals) {
      const { id, path } = owner;
      const spec = { id, path: path.join("."), placeOf: () => this.config.placeOf(path) };
      await this.startComponent(spec, () => journal.start());
      await this.addStarted({ id, stop: () => journal.stop() }, this.startedJournals);
    }
  }

  private async startReceivers(graph: Graph): Promise<void> {
    for (const { spec, receiver } of graph.receivers) {
      await this.startComponent(spec, () => receiver.start());
      await this.addStarted({ id: spec.id, stop: () => receiver.stop() }, this.startedReceivers);
    }
  }

  /** Logs the name of a component that takes long to start. Nothing else can be done about one that never starts. */
  private async startComponent<T>(spec: PlannedPlace, start: () => Promise<T>): Promise<T> {
    const { path } = spec;
    const warnSlowStart = () => this.options.logger.warn({ component: path }, `${path} has not started after 10 s`);
    const cancel = this.clock.after(SLOW_START_MS, warnSlowStart);
    try {
      return await start();
    } catch (error) {
      throw new ComponentStartError(spec, error);
    } finally {
      cancel();
    }
  }

  private registerGauges(graph: Graph): void {
    const { metrics } = this.options;
    const gauge = (name: string, description: string, read: () => number) =>
      this.removeGauges.push(metrics.gauge(name, { description, unit: "By" }, read));
    gauge("sluice_intake_bytes", "Bytes taken from clients and not yet answered.", () => graph.budget.used);
    for (const { health } of graph.receivers) this.removeGauges.push(health.start());
    gauge("sluice_intake_limit_bytes", "Limit for these bytes.", () => graph.budget.limit);
  }

  private async shutDown(timeoutMs: number): Promise<void> {
    this.currentState = "draining";
    this.intakeState.isOpen = false;
    await this.waitFor(this.drain(), timeoutMs, () => {
      this.options.logger.warn({ timeoutMs }, "the drain took too long: refusing what is unsettled");
      this.abort();
    });
    await this.waitFor(this.stopAll(this.startedOutlets), STOP_GRACE_MS);
    await this.waitFor(this.stopAll(this.startedJournals), STOP_GRACE_MS);
    await this.waitFor(this.stopAll(this.startedExporters), STOP_GRACE_MS);
    for (const extension of this.extensions.reverse()) {
      await this.waitFor(this.stopAll([extension]), STOP_GRACE_MS);
    }
    for (const remove of this.removeGauges) remove();
    this.currentState = "stopped";
  }

  private async drain(): Promise<void> {
    const receiversStopped = this.stopAll(this.startedReceivers);
    await this.graph?.drain();
    await receiversStopped;
  }

  /** Waits for the work. After `ms` calls `onTimeout` and waits a little longer, but not forever. */
  private async waitFor(work: Promise<void>, ms: number, onTimeout?: () => void): Promise<void> {
    const isLate = await waitAtMost(ms, work, this.clock, () => true);
    if (isLate !== true || onTimeout === undefined) return;
    onTimeout();
    await waitAtMost(STOP_GRACE_MS, work, this.clock);
  }

  private async stopAll(components: readonly StartedComponent[]): Promise<void> {
    await Promise.all(
      components.map(async ({ id, stop }) => {
        try {
          await stop();
        } catch (error) {
          this.options.logger.error({ err: error, component: id }, "the component failed to stop");
        }
      }),
    );
  }
}

type PlannedPlace = Pick<PlannedComponent<unknown>, "path">;

interface StartedComponent {
  readonly id: string;
  readonly stop: () => Promise<void>;
}

/** The authenticators of started extensions. A config that refers to any other does not load. */
function startedAuthenticators(find: (id: string) => { readonly extension: Extension } | undefined): Authenticators {
  const found = <T>(id: string, side: AuthSide, authenticator: T | undefined): T => {
    if (authenticator !== undefined) return authenticator;
    throw new StartError(`extension "${id}" cannot authenticate for a ${side}`, ["auth", "authenticator"]);
  };
  return {
    server: (id) => found(id, "server", find(id)?.extension.serverAuthenticator),
    client: (id) => found(id, "client", find(id)?.extension.clientAuthenticator),
  };
}

function stoppedWhileStarting(): Error {
  return new Error("the agent was stopped while it was starting");
}

/** A component's failure to start, with its place in the config. */
class ComponentStartError extends Error {
  readonly problem: Problem;

  constructor(component: PlannedPlace, cause: unknown) {
    const position = isStartError(cause) ? undefined : thrownAt(cause);
    const message = `${errorMessage(cause)}${position === undefined ? "" : ` (${position})`}`;
    super(message, { cause });
    const path = isStartError(cause) ? cause.path : [];
    const spec = component as Pick<ComponentSpec<unknown>, "path" | "placeOf">; // the graph was built from these specs
    this.problem = {
      severity: "error",
      code: "start_failed",
      place: spec.placeOf(path),
      path: [spec.path, ...path].join("."),
      message,
    };
  }
}

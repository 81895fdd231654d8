import type { ResolvedConfig } from "#config";
import { problemLine } from "#config";
import type { Logger, Outcome } from "#contract";
import { type Clock, systemClock, waitAtMost } from "#contract";
import type { Refusal } from "#contract/errors";
import type { Admin, ExporterStatus, ReplayOptions, ReplayReport, Selection } from "#contract/operations";
import type { SelfTelemetry } from "#host";
import { Agent, AgentStartError, callerStack, thrownTo } from "#host";
import type { Batch } from "#otlp";
import type { Signal } from "#otlp/signals";
import { loadedMask } from "../mask-batch.js";
import { AppIntake } from "./app-intake.js";
import { AppReceiver } from "./app-receiver.js";
import { checkedSelection } from "./checked-query.js";
import { SluiceConfigError } from "./config-error.js";
import { DeadLetters, notRunning } from "./dead-letters.js";
import { embeddedTelemetry } from "./embedded-telemetry.js";
import { FailOnError, withoutUnhandledRejection } from "./fail-on-error.js";
import { type EmbeddedConfig, type EmbeddedLoadSettings, loadEmbedded } from "./load-embedded.js";
import { LogEmitter } from "./log-emitter.js";
import { type MetricSample, metricSamples } from "./metric-samples.js";
import { type PinoDestination, pinoDestination } from "./pino/destination.js";

/** Which config an embedded Sluice runs, and how it behaves towards the program. */
export interface SluiceOptions extends EmbeddedLoadSettings {
  /** Whether `emit` rejects when a record is not taken. False: it is counted and logged. */
  readonly failOnError?: boolean;
  /** Attributes of the resource that emitted records belong to, such as `{ "service.name": "shop" }`. */
  readonly resource?: Readonly<Record<string, unknown>>;
  /** Where Sluice logs; to stderr, from warnings on, unless told. */
  readonly logger?: Logger;
  readonly clock?: Clock;
  readonly random?: () => number;
}

/** How an embedded Sluice and its exporters are. */
export interface SluiceStatus {
  readonly state: "created" | "starting" | "ready" | "draining" | "stopped";
  /** None before the start. */
  readonly exporters: readonly ExporterStatus[];
}

/**
 * One config, running in this process. Touches nothing global: no signals, no exit, no environment; several run side by
 * side. It runs once: after a stop, make another one.
 */
export class Sluice {
  /** Log records of the program. */
  readonly logs: LogEmitter;
  readonly deadLetters: DeadLetters;
  private readonly config: ResolvedConfig;
  private readonly forDisplay: EmbeddedConfig["forDisplay"];
  private readonly telemetry: SelfTelemetry;
  private readonly intake: AppIntake;
  private readonly failOnError: FailOnError;
  private readonly agent: Agent;
  private readonly clock: Clock;
  private state: SluiceStatus["state"] = "created";
  private starting: Promise<void> | undefined;
  private stopping: Promise<void> | undefined;

  /** @internal use createSluice */
  constructor(loaded: EmbeddedConfig, telemetry: SelfTelemetry, receiver: AppReceiver, options: SluiceOptions) {
    const { clock = systemClock, random } = options;
    this.clock = clock;
    this.config = loaded.config;
    this.forDisplay = loaded.forDisplay;
    this.telemetry = telemetry;
    const { logger, metrics } = telemetry;
    const intake = new AppIntake({ receiver, logger, metrics, clock });
    this.intake = intake;
    this.failOnError = new FailOnError(options.failOnError ?? false);
    this.logs = new LogEmitter({ intake, clock, failOnError: this.failOnError, resource: options.resource ?? {} });
    this.deadLetters = new DeadLetters(() => this.admin);
    const agentOptions = { logger, metrics, clock, keepsRefused: true, ...(random && { random }) };
    this.agent = new Agent(loaded.config, agentOptions, loadedMask);
  }

  /**
   * Resolves when everything runs. Rejects with a `SluiceConfigError` when it cannot be started as configured; then
   * nothing is left running. Rejects after a stop.
   */
  start(): Promise<void> {
    if (this.stopping !== undefined) return withoutUnhandledRejection(this.rejectRestart());
    this.starting ??= withoutUnhandledRejection(this.startOnce(callerStack(this.start)));
    return this.starting;
  }

  /**
   * Takes nothing new, hands over all that was emitted and waits until it is settled; what is not after `timeoutMs`
   * (service.shutdown_timeout) is refused, and counted. A start that is under way has as long to end. Never rejects; a
   * second call joins the first.
   */
  stop(timeoutMs?: number): Promise<void> {
    this.stopping ??= this.stopOnce(timeoutMs);
    return this.stopping;
  }

  /** Resolves when all that was emitted until now is settled, well or not. Never rejects. */
  flush(): Promise<void> {
    return this.logs.flush();
  }

  /** Hands in a batch of any signal; resolves with what became of it. Never rejects. */
  accept(batch: Batch): Promise<Outcome> {
    return this.intake.accept(batch);
  }

  /** Counts and reports records that were meant for this Sluice and that no batch can be made of. */
  refuse(signal: Signal, records: number, refusal: Refusal): void {
    this.intake.refuse(signal, records, refusal);
  }

  /** Runs a function, and all that it starts, with another `failOnError`. */
  withFailOnError<T>(failOnError: boolean, run: () => T): T {
    return this.failOnError.runWith(failOnError, run);
  }

  status(): SluiceStatus {
    return { state: this.state, exporters: this.agent.admin?.exporters() ?? [] };
  }

  /** What Sluice counts of itself, at this moment. */
  metrics(): readonly MetricSample[] {
    return metricSamples(this.telemetry.metrics);
  }

  /** Puts dead letters back into their queues. */
  async replay(selection: Selection, options: Partial<ReplayOptions> = {}): Promise<ReplayReport> {
    return this.admin.replay(checkedSelection(selection), { by: "the program", ...options });
  }

  /** A destination for pino, in this thread: `pino(sluice.pinoDestination())`. */
  pinoDestination(): PinoDestination {
    return pinoDestination(this);
  }

  private get admin(): Admin {
    const { admin } = this.agent;
    if (admin === undefined) throw notRunning();
    return admin;
  }

  /** After a stop: a start that failed stays failed, any other comes too late. */
  private async rejectRestart(): Promise<void> {
    await this.starting;
    throw new Error("this Sluice was stopped: make another one with createSluice");
  }

  private async startOnce(calledFrom: string): Promise<void> {
    this.state = "starting";
    try {
      await this.telemetry.start();
      await this.agent.start();
      this.telemetry.useAuthenticators(this.agent.authenticators);
    } catch (error) {
      this.state = "stopped";
      this.intake.close();
      const failure = this.asConfigError(error);
      this.telemetry.logger.error({ err: failure }, "Sluice cannot start");
      await this.telemetry.stop();
      throw failure instanceof SluiceConfigError ? thrownTo(calledFrom, failure) : failure;
    }
    this.state = "ready";
    this.intake.open();
  }

  private async stopOnce(timeoutMs = this.config.service.shutdown_timeout): Promise<void> {
    await this.awaitStart(timeoutMs);
    if (this.state !== "ready") {
      this.state = "stopped";
      return this.intake.close();
    }
    this.state = "draining";
    // In one go: what gathers is handed in while the intake is open, and nothing can be emitted after it.
    void this.logs.flush();
    this.intake.close();
    await this.agent.stop(timeoutMs);
    await this.telemetry.stop();
    this.state = "stopped";
  }

  /** Resolves when the start has ended, well or not; after `timeoutMs` it is ended. */
  private async awaitStart(timeoutMs: number): Promise<void> {
    const ended = this.starting?.catch(() => {}) ?? Promise.resolve();
    await waitAtMost(timeoutMs, ended, this.clock);
    if (this.state === "starting") await this.agent.stop(0);
    await ended;
  }

  private asConfigError(error: unknown): unknown {
    const { problems } = error as { problems?: unknown };
    if (!(error instanceof AgentStartError) && !Array.isArray(problems)) return error;
    const { cause } = error as Error;
    return new SluiceConfigError(this.forDisplay(problems as AgentStartError["problems"]), { cause });
  }
}

/**
 * Makes a Sluice of a config, not yet started. Rejects with a `SluiceConfigError` that has all problems of the config at
 * once.
 */
export async function createSluice(options: SluiceOptions): Promise<Sluice> {
  const calledFrom = callerStack(createSluice);
  const receiver = new AppReceiver();
  const loaded = await loadEmbedded(options, receiver).catch((error: unknown) => {
    throw error instanceof SluiceConfigError ? thrownTo(calledFrom, error) : error;
  });
  const telemetry = embeddedTelemetry(loaded.config, options.logger);
  for (const warning of loaded.warnings) {
    telemetry.logger.warn({ code: warning.code, path: warning.path }, `config: ${problemLine(warning)}`);
  }
  return new Sluice(loaded, telemetry, receiver, options);
}

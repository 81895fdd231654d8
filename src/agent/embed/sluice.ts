import type { ResolvedConfig } from "#config/resolve";
import { problemLine } from "#config/text";
import { type Clock, type Logger, type Outcome, systemClock } from "#contract";
import type { Refusal } from "#contract/errors";
import type { Admin, ExporterStatus, ReplayOptions, ReplayReport, Selection } from "#contract/operations";
import { waitAtMost } from "#contract/time";
import { Agent, AgentStartError, type SelfTelemetry } from "#host";
import { callerStack, thrownTo } from "#host/errors";
import type { Batch } from "#otlp";
import type { Signal } from "#otlp/signals";
import { loadTextMask, masks } from "../mask-batch.js";
import { AppIntake, AppReceiver } from "./app-intake.js";
import { SluiceConfigError } from "./config-error.js";
import { checkedSelection, DeadLetters, notRunning } from "./dead-letters.js";
import { embeddedTelemetry, type MetricSample, metricSamples } from "./embedded-telemetry.js";
import { type EmbeddedConfig, type EmbeddedLoadSettings, loadEmbedded } from "./load-embedded.js";
import { FailOnError, LogEmitter, withoutUnhandledRejection } from "./log-emitter.js";
import { type PinoDestination, pinoDestination } from "./pino/destination.js";

/** Config of an embedded Sluice, and its behaviour towards the program. */
export interface SluiceOptions extends EmbeddedLoadSettings {
  /** Whether `emit` rejects when a record is not accepted. If false, the failure is counted and logged. */
  readonly failOnError?: boolean;
  /** Resource attributes of emitted records, such as `{ "service.name": "shop" }`. */
  readonly resource?: Readonly<Record<string, unknown>>;
  /** Receives Sluice's own log; default: warnings and errors go to stderr. */
  readonly logger?: Logger;
  readonly clock?: Clock;
  readonly random?: () => number;
}

/** State of an embedded Sluice and its exporters. */
export interface SluiceStatus {
  readonly state: "created" | "starting" | "ready" | "draining" | "stopped";
  /** Empty before the start. */
  readonly exporters: readonly ExporterStatus[];
}

/**
 * One config, running in this process. It changes nothing global: no signals, no exit, no environment. Several can run
 * side by side. Each runs only once: after a stop, create a new one.
 */
export class Sluice {
  /** Emits log records of the program. */
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

  private constructor(loaded: EmbeddedConfig, telemetry: SelfTelemetry, receiver: AppReceiver, options: SluiceOptions) {
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
    this.agent = new Agent(loaded.config, agentOptions, masks);
  }

  /** @internal use createSluice */
  static of(loaded: EmbeddedConfig, telemetry: SelfTelemetry, receiver: AppReceiver, options: SluiceOptions): Sluice {
    return new Sluice(loaded, telemetry, receiver, options);
  }

  /**
   * Resolves when everything runs. Rejects with a `SluiceConfigError` when the config cannot be started; nothing is
   * left running then. Rejects after a stop.
   */
  start(): Promise<void> {
    if (this.stopping !== undefined) return withoutUnhandledRejection(this.rejectRestart());
    this.starting ??= withoutUnhandledRejection(this.startOnce(callerStack(this.start)));
    return this.starting;
  }

  /**
   * Accepts nothing new, hands in everything emitted, and waits until it is settled; after `timeoutMs` (default:
   * service.shutdown_timeout) the rest is refused and counted. A start under way gets the same time to finish. Never
   * rejects; a second call joins the first.
   */
  stop(timeoutMs?: number): Promise<void> {
    this.stopping ??= this.stopOnce(timeoutMs);
    return this.stopping;
  }

  /** Resolves when everything emitted so far is settled, whatever the outcome. Never rejects. */
  flush(): Promise<void> {
    return this.logs.flush();
  }

  /** Hands in a batch of any signal; resolves with its outcome. Never rejects. */
  accept(batch: Batch): Promise<Outcome> {
    return this.intake.accept(batch);
  }

  /** Counts and reports records that were meant for this Sluice but cannot be encoded as a batch. */
  refuse(signal: Signal, records: number, refusal: Refusal): void {
    this.intake.refuse(signal, records, refusal);
  }

  /** Runs a function, and everything it starts, with another `failOnError`. */
  withFailOnError<T>(failOnError: boolean, run: () => T): T {
    return this.failOnError.runWith(failOnError, run);
  }

  status(): SluiceStatus {
    return { state: this.state, exporters: this.agent.admin?.exporters() ?? [] };
  }

  /** The current values of Sluice's own metrics. */
  metrics(): readonly MetricSample[] {
    return metricSamples(this.telemetry.metrics);
  }

  /** Puts dead letters back into their queues. */
  async replay(selection: Selection, options: Partial<ReplayOptions> = {}): Promise<ReplayReport> {
    return this.admin.replay(checkedSelection(selection), { by: "the program", ...options });
  }

  /** A destination for pino in this thread: `pino(sluice.pinoDestination())`. */
  pinoDestination(): PinoDestination {
    return pinoDestination(this);
  }

  private get admin(): Admin {
    const { admin } = this.agent;
    if (admin === undefined) throw notRunning();
    return admin;
  }

  /** Rejects a start after a stop: with the error of the first start if it failed, else because it comes too late. */
  private async rejectRestart(): Promise<void> {
    await this.starting;
    throw new Error("this Sluice was stopped: create a new one with createSluice");
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
    // Both calls must follow each other without await: collected records are handed in while the intake is open, and
    // nothing can be emitted afterwards.
    void this.logs.flush();
    this.intake.close();
    await this.agent.stop(timeoutMs);
    await this.telemetry.stop();
    this.state = "stopped";
  }

  /** Resolves when the start has ended, whatever its result. Aborts it after `timeoutMs`. */
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
 * Creates a Sluice from a config, without starting it. Rejects with a `SluiceConfigError` that has all problems of the
 * config.
 */
export async function createSluice(options: SluiceOptions): Promise<Sluice> {
  const calledFrom = callerStack(createSluice);
  const receiver = new AppReceiver();
  await loadTextMask(); // before the first line is logged
  const loaded = await loadEmbedded(options, receiver).catch((error: unknown) => {
    throw error instanceof SluiceConfigError ? thrownTo(calledFrom, error) : error;
  });
  const telemetry = embeddedTelemetry(loaded.config, options.logger);
  for (const warning of loaded.warnings) {
    telemetry.logger.warn({ code: warning.code, path: warning.path }, `config: ${problemLine(warning)}`);
  }
  return Sluice.of(loaded, telemetry, receiver, options);
}

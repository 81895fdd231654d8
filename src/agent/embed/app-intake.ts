import { AsyncResource } from "node:async_hooks";
import {
  type Clock,
  type Intake,
  type Logger,
  limitedLog,
  type Metrics,
  type Outcome,
  type Receiver,
  type ReceiverContext,
  type ReceiverFactory,
} from "#contract";
import { BUSY_RETRY_AFTER_MS, ERROR_CODES, Refusal } from "#contract/errors";
import type { Batch } from "#otlp";
import { SIGNALS, type Signal } from "#otlp/signals";
import { type ReceiverCounters, receiverCounters } from "#receiving";

interface AppIntakeSettings {
  readonly receiver: AppReceiver;
  readonly metrics: Metrics;
  readonly logger: Logger;
  readonly clock: Clock;
}

type RefusedRecords = { readonly refusal: Refusal; readonly records: number };

/**
 * Takes the program's own telemetry in: the receiver `app` of an embedded Sluice.
 *
 * Every offered record is counted once, as accepted or refused. Refusals are logged at most once in ten seconds. No
 * method throws. Pipelines run outside the caller's asynchronous context: what they send belongs to many requests of
 * the program, and a context must not live as long as a connection.
 */
export class AppIntake {
  private readonly receiver: AppReceiver;
  private state: "before" | "open" | "closed" = "before";
  private readonly counts: Readonly<Record<Signal, ReceiverCounters>>;
  private readonly unsettled = new Set<Promise<unknown>>();
  private readonly metrics: Metrics;
  private readonly logRefusal: (what: RefusedRecords) => void;
  private isLogging = false;
  private readonly asyncScope = new AsyncResource("Sluice");

  constructor({ receiver, metrics, logger, clock }: AppIntakeSettings) {
    this.receiver = receiver;
    this.metrics = metrics;
    receiver.settled = () => this.settled();
    const countsOf = (signal: Signal): [Signal, ReceiverCounters] => [
      signal,
      receiverCounters(metrics, signal, { receiver: APP, ...ORIGIN }),
    ];
    this.counts = Object.fromEntries(SIGNALS.map(countsOf)) as Record<Signal, ReceiverCounters>;
    this.logRefusal = limitedLog(clock, ({ refusal, records }, suppressed) => {
      const { message: reason, code, kind } = refusal;
      logger.warn({ reason, code, kind, records, suppressed }, "records emitted by the program were refused");
    });
  }

  open(): void {
    this.state = "open";
  }

  /** Refuses everything from now on. */
  close(): void {
    this.state = "closed";
  }

  /** The reason why nothing of this signal can be accepted, or undefined. */
  refusalOf(signal: Signal): Refusal | undefined {
    if (this.state !== "open") return this.state === "before" ? notStarted() : stopped();
    return this.receiver.intakes[signal] === undefined ? noPipeline(signal) : undefined;
  }

  /**
   * Reserves room for bytes that are handed in later. Returns the reason when there is no room. The caller must release
   * what it has reserved.
   */
  reserve(signal: Signal, bytes: number): Refusal | undefined {
    const refusal = this.refusalOf(signal);
    if (refusal !== undefined) return refusal;
    return this.receiver.intakes[signal]!.reserve(bytes) ? undefined : overloaded();
  }

  release(signal: Signal, bytes: number): void {
    this.receiver.intakes[signal]?.release(bytes);
  }

  /** Resolves when the batch is settled. Never rejects. `unattended` means that the program will not see a refusal. */
  accept(batch: Batch, unattended = false): Promise<Outcome> {
    if (!Object.hasOwn(this.counts, batch?.signal)) return Promise.resolve({ ok: false, refusal: noBatch() });
    const refusal = this.refusalOf(batch.signal);
    if (refusal !== undefined) {
      this.refuse(batch.signal, batch.count, refusal);
      return Promise.resolve({ ok: false, refusal });
    }
    const intake = this.receiver.intakes[batch.signal]!;
    const settled = this.asyncScope
      .runInAsyncScope(intake.accept, intake, batch, unattended ? UNATTENDED : ORIGIN)
      .then((outcome) => {
        this.unsettled.delete(settled);
        this.count(batch, outcome);
        return outcome;
      });
    this.unsettled.add(settled);
    return settled;
  }

  /** Counts and logs records that could not be handed in. */
  refuse(signal: Signal, records: number, refusal: Refusal): void {
    this.counts[signal].refused.add(records);
    // The program's logger may emit into this very intake.
    if (this.isLogging) return;
    this.isLogging = true;
    try {
      this.logRefusal({ refusal, records });
    } catch {
      // A failing logger must not fail the program.
    } finally {
      this.isLogging = false;
    }
  }

  /** Counts failures that the program does not see (`failOnError: false`), in addition to counting them as refused. */
  countSilent(records: number, { code }: Refusal): void {
    const description = "Records that were refused while failOnError was false.";
    const errorClass = isWord(code) ? code : "other";
    this.metrics.counter("sluice_silent_failures", { description }, { error_class: errorClass }).add(records);
  }

  /** Resolves when everything handed in so far is settled. */
  async settled(): Promise<void> {
    await Promise.all(this.unsettled);
  }

  private count(batch: Batch, outcome: Outcome): void {
    if (!outcome.ok) return this.refuse(batch.signal, batch.count, outcome.refusal);
    this.counts[batch.signal].accepted.add(batch.count - outcome.rejected);
    if (outcome.rejected > 0) this.refuse(batch.signal, outcome.rejected, partlyRejected(outcome));
  }
}

/** A plugin's error code can be any string. Unusual ones are counted as "other", to bound the number of series. */
function isWord(code: string): boolean {
  return /^[A-Za-z][A-Za-z0-9_]{0,39}$/.test(code);
}

const ORIGIN = { transport: "in_process" };
const UNATTENDED = { ...ORIGIN, isUnattended: true };

/** Refusal for a backend that accepted the request, but not all of its records. */
export function partlyRejected({ rejected, message }: { rejected: number; message: string }): Refusal {
  const text = `the backend rejected ${rejected} of the records: ${message}`;
  return new Refusal("permanent", text, { code: ERROR_CODES.SLUICE_PARTLY_REJECTED, category: "integration" });
}

function noBatch(): Refusal {
  const message = "the argument is not a batch: create one with Batch.admit";
  return new Refusal("permanent", message, { code: ERROR_CODES.SLUICE_NO_BATCH, category: "integration" });
}

function notStarted(): Refusal {
  return new Refusal("transient", "Sluice has not been started: await sluice.start()", {
    code: ERROR_CODES.SLUICE_NOT_STARTED,
  });
}

function stopped(): Refusal {
  return new Refusal("transient", "Sluice has been stopped", { code: ERROR_CODES.SLUICE_SHUTTING_DOWN });
}

function overloaded(): Refusal {
  const message = "over the limit of unsettled bytes (service.intake.max_bytes)";
  return new Refusal("throttled", message, { code: ERROR_CODES.SLUICE_OVERLOADED, retryAfterMs: BUSY_RETRY_AFTER_MS });
}

function noPipeline(signal: Signal): Refusal {
  const message = `no ${signal} pipeline reads from the receiver app: write service.pipelines.${signal}.receivers: [app]`;
  return new Refusal("permanent", message, { code: ERROR_CODES.SLUICE_NO_PIPELINE, category: "integration" });
}

/** Id of the receiver that a program emits into. */
export const APP = "app";

/** The receiver `app` of one embedded Sluice. It gets its intakes when the config starts. */
export class AppReceiver {
  intakes: Readonly<Partial<Record<Signal, Intake>>> = {};
  /** Resolves when everything handed in is settled. */
  settled: () => Promise<void> = async () => {};

  /** Returns the receiver type `app` bound to this object. */
  bindFactory(type: ReceiverFactory): ReceiverFactory {
    return { ...type, create: (_config, context) => this.connect(context) };
  }

  private connect({ id, intakes }: ReceiverContext): Receiver {
    if (id !== APP)
      throw new Error(
        `there can be only one receiver ${APP}, without a name; to separate its data, use the connector routing`,
      );
    this.intakes = intakes;
    return { start: async () => {}, stop: () => this.settled() };
  }
}

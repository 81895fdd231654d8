import type { Intake, Origin, Outcome, ReceiverContext, Setback } from "#contract";
import { BUSY_RETRY_AFTER_MS, ERROR_CODES, type Refusal } from "#contract/errors";
import type { Batch } from "#otlp";
import type { Signal } from "#otlp/signals";
import { backoff, type Delays, jittered, pause } from "#resilience";
import { type ReceiverCounters, receiverCounters } from "./receiver-counters.js";

/**
 * The answer to a source that keeps its data until it is acknowledged:
 *
 * - `taken`: every exporter has the data on disk, or has kept it as a dead letter for the reason in `setback`:
 *   acknowledge.
 * - `rejected`: the data can be neither accepted nor kept as a dead letter, so the source must keep it. The refusal
 *   says whether a retry makes sense. Only with `maxTries`.
 * - `returned`: the agent is stopping. The source must deliver the data again.
 */
export type MessageOutcome =
  | { readonly kind: "taken"; readonly setback?: Setback | undefined }
  | { readonly kind: "rejected"; readonly refusal: Refusal }
  | { readonly kind: "returned" };

export interface BatchIntakeSettings {
  readonly signal: Signal;
  /** The value of `transport` in metrics. */
  readonly transport: string;
  /**
   * A batch that exporters refuse so often as transient is rejected; default: no limit. If the agent only has no room,
   * the batch is tried a few times more.
   */
  readonly maxTries?: number;
}

/**
 * The intake for sources that keep their data until it is safe. A batch that a processor refuses permanently is handed
 * in again as a dead letter. A batch that is refused for now waits here and is retried; this is the back-pressure,
 * because a source reads ahead only so far.
 */
export class BatchIntake {
  private readonly settings: BatchIntakeSettings;
  private readonly context: ReceiverContext;
  private readonly intake: Intake;
  private readonly counters: ReceiverCounters;
  private inProgress = 0;
  private onIdle = () => {};
  private readonly stopping = new AbortController();
  private readonly delays: Delays;

  /** The receiver must have a pipeline for the signal. */
  constructor(settings: BatchIntakeSettings, context: ReceiverContext) {
    this.settings = settings;
    this.context = context;
    this.delays = backoff({ first: FIRST_WAIT_MS, max: MAX_WAIT_MS }, context);
    this.intake = context.intakes[settings.signal]!;
    const { signal, transport } = settings;
    this.counters = receiverCounters(context.metrics, signal, { receiver: context.id, transport });
  }

  /** Never rejects. With a `setback` the batch is kept as a dead letter, whatever its content. */
  async accept(batch: Batch, origin: Partial<Origin>, given?: Setback): Promise<MessageOutcome> {
    let setback = given;
    let first: Refusal | undefined;
    this.inProgress += 1;
    try {
      for (let tries = 0, refused = 0; !this.stopping.signal.aborted; tries++) {
        const outcome = await this.intake.accept(batch, origin, setback);
        if (outcome.ok) return this.taken(batch, outcome, setback);
        const { refusal } = outcome;
        // With wait_for_result the batch is kept as a dead letter already.
        if (refusal.code === ERROR_CODES.SLUICE_DEAD_LETTERED)
          return this.taken(batch, { ok: true, rejected: 0, message: "" }, setbackOf(refusal));
        if (refusal.kind !== "permanent") {
          refused += isBusy(refusal) ? 1 / BUSY_TRIES : 1;
          if (refused >= (this.settings.maxTries ?? Number.POSITIVE_INFINITY)) return this.rejected(batch, refusal);
          await this.wait(refusal, tries + 1);
        } else if (setback !== undefined) return this.rejected(batch, first ?? refusal);
        else {
          first = refusal;
          setback = setbackOf(refusal);
        }
      }
      if (origin.isUnattended) this.refuse(batch.count); // the source will not deliver it again
      return { kind: "returned" };
    } finally {
      this.inProgress -= 1;
      if (this.inProgress === 0) this.onIdle();
    }
  }

  /** Counts records that could not even be handed in. */
  refuse(count: number): void {
    this.counters.refused.add(count);
  }

  /** Ends all waits; resolves when every batch has its outcome. */
  stop(): Promise<void> {
    this.stopping.abort();
    if (this.inProgress === 0) return Promise.resolve();
    return new Promise((resolve) => {
      this.onIdle = resolve;
    });
  }

  private taken(batch: Batch, { rejected }: Extract<Outcome, { ok: true }>, setback?: Setback): MessageOutcome {
    this.counters.accepted.add(batch.count - rejected);
    if (rejected > 0) this.counters.refused.add(rejected);
    return { kind: "taken", setback };
  }

  private rejected(batch: Batch, refusal: Refusal): MessageOutcome {
    this.counters.refused.add(batch.count);
    return { kind: "rejected", refusal };
  }

  private wait({ retryAfterMs }: Refusal, failures: number): Promise<void> {
    // A full agent asks remote clients to wait a second; a local retry is cheap, so that is ignored here.
    const asked = retryAfterMs === BUSY_RETRY_AFTER_MS ? 0 : (retryAfterMs ?? 0);
    const ms = Math.max(jittered(asked, this.context), this.delays(failures));
    return pause(ms, this.context.clock, this.stopping.signal);
  }
}

function setbackOf({ code, message }: Refusal): Setback {
  return { reason: "rejected", category: "schema", code, message };
}

/** Whether the agent has no room now, so that the batch has not reached an exporter. */
function isBusy({ code }: Refusal): boolean {
  return code === ERROR_CODES.SLUICE_OVERLOADED || code === ERROR_CODES.SLUICE_QUEUE_FULL;
}

/** The number of refusals for lack of room that count as one refusal of an exporter. */
const BUSY_TRIES = 4;

const FIRST_WAIT_MS = 20;
const MAX_WAIT_MS = 5000;

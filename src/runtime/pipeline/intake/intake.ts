import { ACCEPTED, Debt, Delivery, type Intake, type Origin, type Outcome, type Setback } from "#contract";
import { checkHandedIn, validateSetback } from "#contract/border";
import { BUSY_RETRY_AFTER_MS, ERROR_CODES, Refusal, shutdownRefusal } from "#contract/errors";
import type { ReceiverHealth } from "#contract/operations";
import { type Batch, hasTooManyValues } from "#otlp";
import type { Signal } from "#otlp/signals";
import type { Tally } from "../flows.js";

/** Tells all intakes of a graph whether receivers may hand in data. */
export interface IntakeState {
  /** False once the agent drains: further batches are refused as transient. */
  readonly isOpen: boolean;
}

interface IntakeSettings {
  readonly receiver: string;
  readonly signal: Signal;
  readonly budget: IntakeBudget;
  /** Takes the batches into the stream. */
  readonly handIn: (delivery: Delivery) => void;
  /** How many values a record may have; see `service.intake.max_record_values`. */
  readonly maxRecordValues: number;
  readonly state: IntakeState;
  /** Counts the batches handed in, and their outcomes. */
  readonly tally: Tally;
  /** Remembers when the last batch was handed in. */
  readonly health?: Pick<ReceiverHealth, "noteMessage">;
}

/** The intake for one signal of one receiver, shared by all pipelines that read it. */
export function createIntake({
  receiver,
  signal,
  budget,
  handIn,
  maxRecordValues,
  state,
  tally,
  health,
}: IntakeSettings): Intake {
  const defaultOrigin: Origin = { receiver, transport: "", isNew: true };
  return {
    reserve: (bytes) => budget.reserve(bytes),
    release: (bytes) => budget.release(bytes),
    accept(batch: Batch, origin?: Partial<Origin>, setback?: Setback): Promise<Outcome> {
      if (!state.isOpen) return Promise.resolve({ ok: false, refusal: shutdownRefusal() });
      const invalid = checkHandedIn(batch, receiver, signal);
      if (invalid !== undefined) return Promise.resolve({ ok: false, refusal: invalid });
      if (batch.count === 0) return Promise.resolve(ACCEPTED);
      const { byteLength: bytes, count } = batch;
      if (hasTooManyValues(batch, maxRecordValues))
        return Promise.resolve({ ok: false, refusal: crowdedRefusal(maxRecordValues) });
      tally.taken += count;
      health?.noteMessage();
      if (!budget.reserve(bytes)) {
        tally.refused += count;
        return Promise.resolve({ ok: false, refusal: overloadRefusal(budget) });
      }
      return new Promise((resolve) => {
        const debt = new Debt((outcome) => {
          budget.release(bytes);
          if (outcome.ok) tally.handedOn += count;
          else tally.refused += count;
          resolve(outcome);
        });
        const whole = origin === undefined ? defaultOrigin : { ...defaultOrigin, ...origin };
        handIn(new Delivery(batch, whole, debt, undefined, setback && validateSetback(setback)));
      });
    },
  };
}

function crowdedRefusal(limit: number): Refusal {
  const message = `a record or resource has more than ${limit} values (service.intake.max_record_values)`;
  return new Refusal("permanent", message, { code: ERROR_CODES.SLUICE_TOO_MANY_VALUES });
}

function overloadRefusal(budget: IntakeBudget): Refusal {
  const message = `over the limit of ${budget.limit} unsettled bytes (service.intake.max_bytes)`;
  return new Refusal("throttled", message, { code: ERROR_CODES.SLUICE_OVERLOADED, retryAfterMs: BUSY_RETRY_AFTER_MS });
}

/**
 * Bytes held for clients without an answer: read and not settled. It bounds the memory of every operator behind it,
 * because a pipeline holds no data that was not reserved here.
 */
export class IntakeBudget {
  limit: number;
  private reserved = 0;

  constructor(limit: number) {
    this.limit = limit;
  }

  get used(): number {
    return this.reserved;
  }

  /**
   * Returns false, and reserves nothing, if that would exceed the limit. A batch larger than the limit fits if nothing
   * else is held.
   */
  reserve(bytes: number): boolean {
    if (this.reserved > 0 && this.reserved + bytes > this.limit) return false;
    this.reserved += bytes;
    return true;
  }

  release(bytes: number): void {
    this.reserved -= bytes;
  }
}

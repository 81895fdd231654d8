import { concatMap, Observable, type ObservableInput } from "rxjs";
import { type Batch, isBatch } from "#otlp";
import { type Clock, systemClock } from "../clock.js";
import type { Processor } from "../component.js";
import { type DeadLetter, deadLetter, isDeadLetter } from "../dead-letter.js";
import type { FailureHandler } from "../debt.js";
import type { Delivery } from "../delivery.js";
import { ERROR_CODES } from "../errors/error-codes.js";
import { Refusal } from "../errors/refusal.js";
import { markHolding } from "./holding.js";

/** What a function of one batch may answer: a batch, several, dead letters, or null (or none) to drop it on purpose. */
export type BatchResult = Batch | DeadLetter | readonly (Batch | DeadLetter)[] | null;

/** How long a function of a batch may take. */
export interface EachBatchOptions {
  /** How long an answer may take that does not come at once; then the batch is refused. 30 seconds; 0: for ever. */
  readonly timeoutMs?: number;
  readonly clock?: Clock;
}

const DEFAULT_TIMEOUT_MS = 30_000;

/**
 * A processor from a function of one batch, the way most processors are written.
 *
 * The batch it returns goes on in the place of the one it got; several share the debt; null or an empty list drops the
 * batch, which acknowledges it. A throw or rejection refuses that batch alone, or with the pipeline's `error_mode:
 * dead_letter` keeps it; a late answer refuses it. Returning nothing counts as a throw, so that a forgotten `return`
 * cannot lose data. Batches go through one at a time and in their order, also when the function is asynchronous. When
 * it is stopped, those that wait are not begun, and the answer to the present one is ignored.
 *
 * @example
 * const halves = eachBatch((batch) => splitBatch(batch, { records: Math.ceil(batch.count / 2) }));
 */
export function eachBatch(
  process: (batch: Batch, delivery: Delivery) => BatchResult | PromiseLike<BatchResult>,
  options?: EachBatchOptions,
): Processor {
  return eachCancellableBatch((batch, { delivery }) => process(batch, delivery), options);
}

/** What a function of one batch is given beside it. */
export interface BatchCall {
  readonly delivery: Delivery;
  /** Whether its answer is still waited for: once it is not, it is ignored. */
  readonly isWanted: () => boolean;
  /** Where the pipeline keeps what fails as dead letters: what becomes of a record that is failed on. */
  readonly onFailure: FailureHandler | undefined;
}

/** The same for a function that asks whether its answer is still waited for, or keeps failures record by record. */
export function eachCancellableBatch(
  process: (batch: Batch, call: BatchCall) => BatchResult | PromiseLike<BatchResult>,
  { timeoutMs = DEFAULT_TIMEOUT_MS, clock = systemClock }: EachBatchOptions = {},
): Processor {
  const run = (delivery: Delivery): ObservableInput<Delivery> => {
    const pending = new PendingResult(delivery);
    try {
      const result = process(delivery.batch, pending);
      return isPromiseLike(result) ? pending.wait(result, timeoutMs, clock) : outputOf(delivery, result);
    } catch (error) {
      return outputOfFailure(delivery, error);
    }
  };
  return markHolding((source) => source.pipe(concatMap(run)), "settles_all");
}

/** One call of a function of a batch. */
class PendingResult implements BatchCall {
  readonly delivery: Delivery;
  private isOver = false;

  constructor(delivery: Delivery) {
    this.delivery = delivery;
  }

  get onFailure(): FailureHandler | undefined {
    return this.delivery.debt.failureHandler;
  }

  readonly isWanted = (): boolean => !this.isOver;

  /** Emits what the promise resolves to. A late result is ignored: its delivery has been refused by then, or is refused by the abort. */
  wait(result: PromiseLike<BatchResult>, timeoutMs: number, clock: Clock): Observable<Delivery> {
    return new Observable((out) => {
      const finish = (deliveries: readonly Delivery[]) => {
        for (const next of deliveries) out.next(next);
        out.complete();
      };
      const giveUp = () => {
        this.delivery.refuse(timeoutRefusal(timeoutMs));
        finish(NO_DELIVERIES);
      };
      const cancelTimer = timeoutMs > 0 ? clock.after(timeoutMs, giveUp) : undefined;
      Promise.resolve(result).then(
        (resolved) => this.isOver || finish(outputOf(this.delivery, resolved)),
        (error: unknown) => this.isOver || finish(outputOfFailure(this.delivery, error)),
      );
      return () => {
        this.isOver = true;
        cancelTimer?.();
      };
    });
  }
}

function outputOf(delivery: Delivery, result: BatchResult): readonly Delivery[] {
  const mistake = mistakeIn(result);
  if (mistake !== undefined) return outputOfFailure(delivery, mistake);
  try {
    return toDeliveries(delivery, result);
  } catch (error) {
    delivery.refuse(error);
    return NO_DELIVERIES;
  }
}

/** The data as a dead letter where the pipeline keeps failures; otherwise nothing, and the delivery is refused. */
function outputOfFailure(delivery: Delivery, error: unknown): readonly Delivery[] {
  const setback = delivery.debt.failureHandler?.(error);
  if (setback !== undefined) return outputOf(delivery, deadLetter(delivery.batch, setback));
  delivery.refuse(error);
  return NO_DELIVERIES;
}

function toDeliveries(delivery: Delivery, result: BatchResult): readonly Delivery[] {
  if (result === null) {
    delivery.accept();
    return NO_DELIVERIES;
  }
  return delivery.split(partsOf(result));
}

function partsOf(result: Exclude<BatchResult, null>): readonly (Batch | DeadLetter)[] {
  return Array.isArray(result) ? result : [result as Batch | DeadLetter];
}

/** Why an answer is none: there is something else in it than batches and dead letters. */
function mistakeIn(result: BatchResult): Refusal | undefined {
  if (result === null || partsOf(result).every(isBatchOrDeadLetter)) return undefined;
  return new Refusal("transient", NO_RESULT_MESSAGE, { code: ERROR_CODES.SLUICE_NO_RESULT, unexpected: true });
}

function isBatchOrDeadLetter(part: unknown): boolean {
  return isBatch(isDeadLetter(part) ? part.batch : part);
}

/** Any promise will do, not only Node's own. */
function isPromiseLike(result: unknown): result is PromiseLike<BatchResult> {
  return typeof (result as { then?: unknown } | null | undefined)?.then === "function";
}

function timeoutRefusal(ms: number): Refusal {
  const message = `the function did not answer within ${ms} ms`;
  return new Refusal("transient", message, { code: ERROR_CODES.SLUICE_TIMEOUT, unexpected: true });
}

const NO_DELIVERIES: readonly Delivery[] = [];
const NO_RESULT_MESSAGE = "the function returned no batch: return the batch to pass it on, or null to drop it";

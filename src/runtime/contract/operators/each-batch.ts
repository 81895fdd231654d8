import { Observable } from "rxjs";
import { type Batch, isBatch } from "../../telemetry/batch.js";
import { type Clock, systemClock } from "../clock.js";
import type { Processor } from "../component.js";
import { type DeadLetter, deadLetter, isDeadLetter } from "../dead-letter.js";
import type { Delivery } from "../delivery.js";
import { ERROR_CODES } from "../error-codes.js";
import { Refusal } from "../refusal.js";
import { currentFailureHandler, type FailureHandler } from "./failure-handler.js";
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
  const processor: Processor = (source) =>
    new Observable<Delivery>((out) => {
      let tail: Promise<void> | undefined;
      let cancelWait: (() => void) | undefined;
      let isStopped = false;
      const onFailure = currentFailureHandler();
      const emit = (delivery: Delivery, result: BatchResult) => {
        const mistake = mistakeIn(result);
        if (mistake !== undefined) return fail(delivery, mistake);
        try {
          for (const next of toDeliveries(delivery, result)) out.next(next);
        } catch (error) {
          delivery.refuse(error);
        }
      };
      const fail = (delivery: Delivery, error: unknown) => {
        const setback = onFailure?.(error);
        if (setback === undefined) delivery.refuse(error);
        else emit(delivery, deadLetter(delivery.batch, setback));
      };
      const run = (delivery: Delivery): Promise<void> | undefined => {
        const answer = { isOver: false };
        let result: BatchResult | PromiseLike<BatchResult>;
        try {
          result = process(delivery.batch, { delivery, isWanted: () => !answer.isOver, onFailure });
          if (isPromiseLike(result)) return wait(delivery, result, answer);
        } catch (error) {
          fail(delivery, error);
          return undefined;
        }
        emit(delivery, result);
        return undefined;
      };
      const wait = (delivery: Delivery, result: PromiseLike<BatchResult>, answer: { isOver: boolean }) =>
        new Promise<void>((done) => {
          const end = (settle: () => void) => {
            if (answer.isOver) return;
            answer.isOver = true;
            cancelTimer?.();
            settle();
            done();
          };
          cancelWait = () => end(() => {});
          const cancelTimer =
            timeoutMs > 0
              ? clock.after(timeoutMs, () => end(() => delivery.refuse(timeoutRefusal(timeoutMs))))
              : undefined;
          const failed = (error: unknown) => end(() => fail(delivery, error));
          try {
            result.then((batches) => end(() => emit(delivery, batches)), failed);
          } catch (error) {
            failed(error);
          }
        });
      const queue = (work: Promise<void> | undefined) => {
        if (work === undefined) return;
        const current = work.finally(() => {
          if (tail === current) tail = undefined;
        });
        tail = current;
      };
      const runInTurn = (delivery: Delivery) => (isStopped ? undefined : run(delivery));
      const upstream = source.subscribe({
        next: (delivery) => queue(tail === undefined ? run(delivery) : tail.then(() => runInTurn(delivery))),
        error: (error) => out.error(error),
        complete: () => (tail === undefined ? out.complete() : void tail.then(() => out.complete())),
      });
      return () => {
        upstream.unsubscribe();
        isStopped = true;
        cancelWait?.();
      };
    });
  return markHolding(processor, "settles_all");
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

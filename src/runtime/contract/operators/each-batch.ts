import { concatMap, defer, finalize, Observable, type ObservableInput } from "rxjs";
import { type Batch, isBatch } from "#otlp";
import { type Clock, systemClock } from "../clock.js";
import type { Processor } from "../component.js";
import { type DeadLetter, deadLetter, isDeadLetter } from "../dead-letter.js";
import type { FailureHandler } from "../debt.js";
import type { Delivery } from "../delivery.js";
import { ERROR_CODES } from "../errors/error-codes.js";
import { Refusal } from "../errors/refusal.js";

/**
 * The result of a function of one batch: a batch, several, dead letters, or null (or an empty list) to drop it on
 * purpose.
 */
export type BatchResult = Batch | DeadLetter | readonly (Batch | DeadLetter)[] | null;

/** Options for `eachBatch`. */
export interface EachBatchOptions {
  /**
   * Milliseconds that an asynchronous result may take before the batch is refused. Default: 30 seconds; 0: no limit.
   */
  readonly timeoutMs?: number;
  readonly clock?: Clock;
}

const DEFAULT_TIMEOUT_MS = 30_000;

/**
 * Creates a processor from a function of one batch. Most processors are written this way.
 *
 * The returned batch replaces the one it got; several share the debt; null or an empty list drops the batch, which
 * acknowledges it. A throw or rejection refuses that batch alone, or dead-letters it if the pipeline has
 * `error_mode: dead_letter`. A late result refuses it. Returning nothing counts as a throw, so that a forgotten
 * `return` cannot lose data. Batches are processed one at a time and in order, even if the function is asynchronous. On
 * abort, waiting batches are not started, and the result of the current one is ignored.
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

/** The second parameter of a function of one batch. */
interface BatchCall {
  readonly delivery: Delivery;
  /** Whether the result is still needed. Once it is not, it is ignored. */
  readonly isWanted: () => boolean;
  /** Decides what happens to a record that failed, if the pipeline keeps failures as dead letters. */
  readonly onFailure: FailureHandler | undefined;
}

/**
 * Like `eachBatch`, for a function that checks whether its result is still needed, or keeps failures record by record.
 */
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

  /**
   * Emits the resolved result. A late result is ignored, because its delivery has been refused by then, or is refused
   * by the abort.
   */
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

/**
 * Returns the data as a dead letter if the pipeline keeps failures; otherwise refuses the delivery and returns nothing.
 */
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

/** Returns a refusal if the result has anything other than batches and dead letters. */
function mistakeIn(result: BatchResult): Refusal | undefined {
  if (result === null || partsOf(result).every(isBatchOrDeadLetter)) return undefined;
  return new Refusal("transient", NO_RESULT_MESSAGE, { code: ERROR_CODES.SLUICE_NO_RESULT, unexpected: true });
}

function isBatchOrDeadLetter(part: unknown): boolean {
  return isBatch(part) || (isDeadLetter(part) && isBatch(part.batch));
}

/** Accepts any promise, not only Node's own. */
function isPromiseLike(result: unknown): result is PromiseLike<BatchResult> {
  return typeof (result as { then?: unknown } | null | undefined)?.then === "function";
}

function timeoutRefusal(ms: number): Refusal {
  const message = `the function did not finish within ${ms} ms`;
  return new Refusal("transient", message, { code: ERROR_CODES.SLUICE_TIMEOUT, unexpected: true });
}

const NO_DELIVERIES: readonly Delivery[] = [];
const NO_RESULT_MESSAGE = "the function returned no batch: return the batch to pass it on, or null to drop it";

/** The output of a stateful processor. */
export interface DeliveryOutput {
  /** Hands a delivery on. It may be called at any time until the processor has ended, for example by a timer. */
  next(delivery: Delivery): void;
  /**
   * Reports that the processor cannot continue. What it holds is refused with a retryable error, and the processor is
   * created again.
   */
  error(error: unknown): void;
  /** True once the processor has ended. Deliveries handed on afterwards do not arrive. */
  readonly closed: boolean;
}

/** The event handlers of a stateful processor. */
export interface DeliveryHandlers {
  /**
   * Called with a delivery: hold it, hand it on, settle, split or merge it. A throw refuses that delivery alone. If it
   * was already split or merged, it cannot be refused alone, and the throw makes the whole processor fail, like
   * `out.error`.
   */
  next(delivery: Delivery): void;
  /**
   * Called when the input has ended: hand on or settle everything held, now or later. The output ends when this is
   * done.
   */
  drain?(): void | PromiseLike<void>;
  /**
   * Called if the processor ends before `drain` is done, or without it: stop timers and drop what is held.
   * The runtime refuses it.
   */
  abort?(): void;
}

/**
 * Creates a processor that keeps state or holds deliveries back. `create` is called for each run, so the state is in
 * its closure and starts fresh when the processor is created again.
 */
export function statefulProcessor(create: (out: DeliveryOutput) => DeliveryHandlers): Processor {
  const processor: Processor = (source) =>
    new Observable<Delivery>((out) => {
      const handlers = create(out);
      let isDrained = false;
      const finish = () => {
        isDrained = true;
        out.complete();
      };
      const fail = (error: unknown) => out.error(error);
      const upstream = source.subscribe({
        next(delivery) {
          try {
            handlers.next(delivery);
          } catch (error) {
            if (delivery.debt.isDivided) fail(error);
            else delivery.refuse(error);
          }
        },
        error: fail,
        complete() {
          try {
            const draining = handlers.drain?.();
            if (draining === undefined) finish();
            else draining.then(finish, fail);
          } catch (error) {
            fail(error);
          }
        },
      });
      return () => {
        upstream.unsubscribe();
        if (!isDrained) handlers.abort?.();
      };
    });
  return markHolding(processor, "on_purpose");
}

/**
 * How a processor treats deliveries that it does not hand on at once: it settles every one in any case, or holds them
 * on purpose. For processors written by other means this is not known.
 */
type Holding = "settles_all" | "on_purpose";

const HOLDING = Symbol.for("sluice.holding");

function markHolding(processor: Processor, holding: Holding): Processor {
  return Object.assign(processor, { [HOLDING]: holding });
}

/** Stored under a global symbol, so that processors of another copy of the package are recognised too. */
export function holdingOf(processor: Processor): Holding | undefined {
  return (processor as { [HOLDING]?: Holding })[HOLDING];
}

/** Returns the same processor with a resource that is started and stopped with its stream. */
export function withResource(processor: Processor, resource: { start(): void; stop(): void } | undefined): Processor {
  if (resource === undefined) return processor;
  const holding = holdingOf(processor);
  const wrapped: Processor = (source) =>
    defer(() => {
      resource.start();
      return processor(source).pipe(finalize(() => resource.stop()));
    });
  return holding === undefined ? wrapped : markHolding(wrapped, holding);
}

import { Observable, type Observer, type Operator, type Subscription } from "rxjs";
import { type Batch, isBatch, type LargestParts, largestParts, splitBatch } from "#otlp";
import type { Signal } from "#otlp/signals";
import type { ComponentKind } from "../component.js";
import { type DeadLetter, deadLetter, type Setback } from "../dead-letter.js";
import type { Delivery } from "../delivery.js";
import { ERROR_CODES } from "../errors/error-codes.js";
import { Refusal } from "../errors/refusal.js";

/** Rules for the deliveries that a component hands on. */
export interface OutputRules {
  /** The signal of outgoing batches. */
  readonly signal: Signal;
  /** The pipelines that a connector may choose from; undefined for a processor. */
  readonly targets?: readonly string[] | undefined;
}

/** Throws if the value is not a delivery. Returns a refusal if the delivery is not valid, or undefined if it is. */
export function checkOutput(given: Delivery, { signal, targets }: OutputRules): Refusal | undefined {
  if (!isDelivery(given)) throw new TypeError("it handed on a value that is not a delivery");
  if (!isBatch(given.batch, signal)) return handedOnRefusal(signal);
  return isRoute(given.route, targets) ? undefined : invalidRouteRefusal(targets);
}

/** Returns undefined for a batch of the signal, otherwise the refusal for the receiver that handed it in. */
export function checkHandedIn(batch: unknown, receiver: string, signal: Signal): Refusal | undefined {
  if (isBatch(batch, signal)) return undefined;
  const message = `receiver ${receiver} handed in a value that is not a batch of ${signal}`;
  return new Refusal("permanent", message, { code: NO_BATCH, category: "integration" });
}

/** Checks by shape, because a plugin may have its own copy of rxjs. */
export function assertObservable(made: Observable<Delivery>): Observable<Delivery> {
  if (typeof made?.subscribe === "function") return made;
  throw new TypeError(NOT_AN_OPERATOR);
}

export function assertSubscription<S extends { unsubscribe(): void }>(given: S): S {
  if (typeof given?.unsubscribe === "function") return given;
  throw new TypeError(NOT_AN_OPERATOR);
}

const NOT_AN_OPERATOR =
  "create returned a function that is not an operator; wrap it: eachRecord(...) or eachBatch(...)";
const NO_BATCH = ERROR_CODES.SLUICE_NO_BATCH;

/** Checks the members that are used later, because a plugin may not hand on what its types promise. */
function isDelivery(given: Partial<Delivery> | null | undefined): given is Delivery {
  return (
    typeof given?.debt?.moveTo === "function" &&
    typeof given.accept === "function" &&
    typeof given.refuse === "function" &&
    typeof given.split === "function"
  );
}

/**
 * A connector must not choose a pipeline that it does not feed: the data would be lost while its sender gets a success.
 * A processor must not choose any, because a connector behind it would take the choice for its own.
 */
function isRoute(route: unknown, targets: readonly string[] | undefined): boolean {
  if (route === undefined || targets === undefined) return route === undefined;
  return Array.isArray(route) && route.every((id) => targets.includes(id));
}

function invalidRouteRefusal(targets: readonly string[] = []): Refusal {
  const message = `it chose a pipeline that it does not feed; it feeds ${targets.join(", ") || "none"}`;
  return new Refusal("transient", message, { code: ERROR_CODES.SLUICE_NO_ROUTE, unexpected: true });
}

function handedOnRefusal(signal: Signal): Refusal {
  const message = `it handed on a value that is not a batch of ${signal}`;
  return new Refusal("transient", message, { code: NO_BATCH, unexpected: true });
}

/**
 * Bounds what a component may make of a record, or of what records share, such as their resource. Data that was larger
 * when it came in may stay as large. Only batches above the limit are looked into, so ordinary ones cost a comparison.
 */
export class RecordGrowth {
  private readonly maxSize: number;
  /** The largest part of what has come in, if it was above the limit already. */
  private largestIn = 0;

  constructor(maxSize: number) {
    this.maxSize = maxSize;
  }

  /** To be called with each batch before the component gets it. */
  noteInput(batch: Batch, isEmpty: boolean): void {
    if (isEmpty) this.largestIn = 0;
    if (batch.byteLength <= this.maxSize) return;
    const { record, owner } = partsOf(batch);
    this.largestIn = Math.max(this.largestIn, record, owner);
  }

  /** Returns the refusal for a batch with a part that has grown beyond the limit; `who` made it grow. */
  check(batch: Batch, who = "it"): Refusal | undefined {
    if (batch.byteLength <= this.maxSize) return undefined;
    const { record, owner } = partsOf(batch);
    if (Math.max(record, owner) <= this.limit) return undefined;
    const what = record > this.limit ? "record" : "resource, scope or metric";
    const message = `${who} made a ${what} too large: more than ${this.maxSize} bytes (service.max_record_size)`;
    return new Refusal("permanent", message, { code: ERROR_CODES.SLUICE_RECORD_TOO_LARGE, unexpected: true });
  }

  /** Separates the records that are too large, as dead letters. All are, if what they share is. */
  separate(batch: Batch, setback: Setback): readonly (Batch | DeadLetter)[] {
    const { limit } = this;
    if (partsOf(batch).owner > limit) return [deadLetter(batch, setback)];
    const isTooLarge = (piece: Batch) => piece.byteLength > limit && partsOf(piece).record > limit;
    return splitBatch(batch, { bytes: limit }).map((piece) => (isTooLarge(piece) ? deadLetter(piece, setback) : piece));
  }

  private get limit(): number {
    return Math.max(this.maxSize, this.largestIn);
  }
}

function partsOf({ signal, bytes }: Batch): LargestParts {
  return largestParts(signal, bytes);
}

type OnThrow = (error: unknown) => void;

/**
 * Wraps the stream that a processor gets. If an observer written by the processor's author throws in `next` or
 * `complete`, `onThrow` is called, so that this counts as a failure of the processor. RxJS itself would rethrow the
 * error asynchronously, and the delivery would stay unsettled. The guard also covers every stream piped from this one,
 * such as one with `share()`.
 */
export function guardStream<T>(source: Observable<T>, onThrow: OnThrow): Observable<T> {
  return new GuardedStream(source, onThrow);
}

/** Operators create their streams by `lift`, even those of another copy of RxJS. That is how the guard reaches them. */
class GuardedStream<T> extends Observable<T> {
  private readonly onThrow: OnThrow;

  constructor(source: Observable<T>, onThrow: OnThrow) {
    super((subscriber) => source.subscribe(subscriber));
    this.onThrow = onThrow;
  }

  override lift<R>(operator?: Operator<T, R>): Observable<R> {
    return new GuardedStream(super.lift(operator), this.onThrow);
  }

  override subscribe(first?: unknown, error?: unknown, complete?: unknown): Subscription {
    // A subscriber of RxJS turns a throw into an error of the stream, so it needs no guard.
    const observer = isSubscriber(first) ? first : guardObserver(toObserver(first, error, complete), this.onThrow);
    return super.subscribe(observer as Observer<T>);
  }
}

/** An observer without `error` cannot handle a stream's failure, so that counts as a throw too. */
function guardObserver(observer: Partial<Observer<unknown>>, onThrow: OnThrow): Observer<unknown> {
  const guarded = (run: () => void) => {
    try {
      run();
    } catch (error) {
      onThrow(error);
    }
  };
  return {
    next: (value) => guarded(() => observer.next?.(value)),
    error: (reason) => guarded(() => (observer.error === undefined ? onThrow(reason) : observer.error(reason))),
    complete: () => guarded(() => observer.complete?.()),
  };
}

function toObserver(first: unknown, error: unknown, complete: unknown): Partial<Observer<unknown>> {
  if (typeof first === "object" && first !== null) return first;
  return Object.fromEntries(
    Object.entries({ next: first, error, complete }).filter(([, handler]) => typeof handler === "function"),
  );
}

/** Recognised by shape, because a plugin may have its own copy of RxJS. */
function isSubscriber(observer: unknown): boolean {
  const { add, unsubscribe } = (observer ?? {}) as { add?: unknown; unsubscribe?: unknown };
  return typeof observer === "object" && typeof add === "function" && typeof unsubscribe === "function";
}

/** The methods that the result of a factory's `create` must have. */
const REQUIRED_METHODS: Readonly<Record<ComponentKind, readonly string[]>> = {
  receiver: ["start", "stop"],
  processor: [],
  exporter: ["send"],
  connector: [],
  extension: ["start", "stop"],
};

/** Returns the component, or throws an error for its author, because a plugin may not return what its types promise. */
export function checkComponent<T>(kind: ComponentKind, component: T): T {
  const methods = REQUIRED_METHODS[kind];
  if (typeof (component as { then?: unknown } | undefined)?.then === "function") {
    throw new TypeError("create must not be asynchronous: return the component, and do slow work in start");
  }
  if (methods.length === 0) {
    if (typeof component === "function") return component;
    throw new TypeError(
      `create returned ${describe(component)}; expected an operator: return eachRecord(...) or eachBatch(...)`,
    );
  }
  const missing = methods.filter(
    (name) => typeof (component as Record<string, unknown> | undefined)?.[name] !== "function",
  );
  if (missing.length === 0) return component;
  throw new TypeError(
    `create returned ${describe(component)} without ${missing.map((name) => `${name}()`).join(" and ")}`,
  );
}

function describe(value: unknown): string {
  if (value === null || value === undefined) return "nothing";
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
}

import { type Observer, Subject, type Subscription } from "rxjs";
import type { Delivery } from "../contract/delivery.js";

type NextHandler = (delivery: Delivery) => void;
type ErrorHandler = (error: unknown) => void;
type CompleteHandler = () => void;

/**
 * The input of one processor. What an operator written by hand throws in its own `next` or `complete` is told to
 * `onThrow`, so that it is the processor's failure: RxJS would throw it at the process, and the delivery would stay
 * where it is.
 */
export class ProcessorInput extends Subject<Delivery> {
  private readonly onThrow: ErrorHandler;

  constructor(onThrow: ErrorHandler) {
    super();
    this.onThrow = onThrow;
  }

  override subscribe(observer?: Partial<Observer<Delivery>> | NextHandler | null): Subscription;
  override subscribe(
    next?: NextHandler | null,
    error?: ErrorHandler | null,
    complete?: CompleteHandler | null,
  ): Subscription;
  override subscribe(
    first?: Partial<Observer<Delivery>> | NextHandler | null,
    error?: ErrorHandler | null,
    complete?: CompleteHandler | null,
  ): Subscription {
    if (isSubscriber(first)) return super.subscribe(first); // RxJS's own: what it throws becomes an error of the stream
    const observer = typeof first === "object" && first !== null ? first : observerOf(first, error, complete);
    return super.subscribe({
      next: (delivery) => this.guarded(() => observer.next?.(delivery)),
      error: (reason) => this.guarded(() => observer.error?.(reason)),
      complete: () => this.guarded(() => observer.complete?.()),
    });
  }

  private guarded(run: () => void): void {
    try {
      run();
    } catch (error) {
      this.onThrow(error);
    }
  }
}

function observerOf(next: unknown, error: unknown, complete: unknown): Partial<Observer<Delivery>> {
  return {
    ...(typeof next === "function" && { next: next as NextHandler }),
    ...(typeof error === "function" && { error: error as ErrorHandler }),
    ...(typeof complete === "function" && { complete: complete as CompleteHandler }),
  };
}

/** By shape: a plugin may have its own copy of rxjs. */
function isSubscriber(observer: unknown): observer is Observer<Delivery> {
  const { add, unsubscribe } = (observer ?? {}) as { add?: unknown; unsubscribe?: unknown };
  return typeof observer === "object" && typeof add === "function" && typeof unsubscribe === "function";
}

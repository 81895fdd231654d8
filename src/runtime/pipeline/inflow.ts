import { type Observer, Subject, type Subscription } from "rxjs";
import type { Delivery } from "../contract/delivery.js";

type Next = (delivery: Delivery) => void;
type Fail = (error: unknown) => void;
type Complete = () => void;

/**
 * The input of one processor. What an operator written by hand throws in its own `next` or `complete` is told to
 * `onThrow`, so that it is the processor's failure: RxJS would throw it at the process, and the delivery would stay
 * where it is.
 */
export class Inflow extends Subject<Delivery> {
  private readonly onThrow: Fail;

  constructor(onThrow: Fail) {
    super();
    this.onThrow = onThrow;
  }

  override subscribe(observer?: Partial<Observer<Delivery>> | Next | null): Subscription;
  override subscribe(next?: Next | null, error?: Fail | null, complete?: Complete | null): Subscription;
  override subscribe(
    first?: Partial<Observer<Delivery>> | Next | null,
    error?: Fail | null,
    complete?: Complete | null,
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
    ...(typeof next === "function" && { next: next as Next }),
    ...(typeof error === "function" && { error: error as Fail }),
    ...(typeof complete === "function" && { complete: complete as Complete }),
  };
}

/** By shape: a plugin may have its own copy of rxjs. */
function isSubscriber(observer: unknown): observer is Observer<Delivery> {
  const { add, unsubscribe } = (observer ?? {}) as { add?: unknown; unsubscribe?: unknown };
  return typeof observer === "object" && typeof add === "function" && typeof unsubscribe === "function";
}

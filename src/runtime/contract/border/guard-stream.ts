import { Observable, type Observer, type Operator, type Subscription } from "rxjs";

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

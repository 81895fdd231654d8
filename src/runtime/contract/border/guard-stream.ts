import { Observable, type Observer, type Operator, type Subscription } from "rxjs";

type OnThrow = (error: unknown) => void;

/**
 * The stream that a processor is given. When an observer of the processor's author throws in `next` or `complete`, `onThrow` is
 * told, so that the throw counts as a failure of the processor. RxJS itself would throw it at the process later, and the delivery
 * would stay unsettled. This holds for every stream that is piped from this one too, such as one with `share()`.
 */
export function guardStream<T>(source: Observable<T>, onThrow: OnThrow): Observable<T> {
  return new GuardedStream(source, onThrow);
}

/** Operators make their streams by `lift`, also those of another copy of RxJS: that is how the guard reaches them. */
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
    // A subscriber of RxJS turns a throw into an error of the stream: it needs no guard.
    const observer = isSubscriber(first) ? first : guardObserver(toObserver(first, error, complete), this.onThrow);
    return super.subscribe(observer as Observer<T>);
  }
}

/** An observer without `error` has nobody to tell of a stream's failure: that counts as a throw too. */
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

/** Recognised by shape: a plugin may have its own copy of RxJS. */
function isSubscriber(observer: unknown): boolean {
  const { add, unsubscribe } = (observer ?? {}) as { add?: unknown; unsubscribe?: unknown };
  return typeof observer === "object" && typeof add === "function" && typeof unsubscribe === "function";
}

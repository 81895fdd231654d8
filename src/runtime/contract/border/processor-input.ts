import { type Observable, type Observer, Subject } from "rxjs";
import type { Delivery } from "../delivery.js";

type OnThrow = (error: unknown) => void;

/**
 * The input of one processor. What its author's own observer throws in `next` or `complete` is told to `onThrow`, so that it
 * is the processor's failure: RxJS would throw it at the process, and the delivery would stay where it is. That holds for
 * the input and for all streams that are piped from it, such as one with `share()`.
 */
export function processorInput(onThrow: OnThrow): Subject<Delivery> {
  return guardSubscriptions(new Subject<Delivery>(), onThrow);
}

/** Every operator makes its stream by `lift`, also those of another copy of rxjs: so the guard goes along. */
function guardSubscriptions<S extends Observable<unknown>>(stream: S, onThrow: OnThrow): S {
  const subscribe = stream.subscribe.bind(stream) as (observer: unknown) => unknown;
  const lift = stream.lift.bind(stream);
  return Object.assign(stream, {
    lift: (operator?: unknown) => guardSubscriptions(lift(operator as never), onThrow),
    subscribe(first?: unknown, error?: unknown, complete?: unknown) {
      if (isSubscriber(first)) return subscribe(first); // RxJS's own: what it throws becomes an error of the stream
      return subscribe(guardObserver(observerOf(first, error, complete), onThrow));
    },
  });
}

/** Without an `error` of its own, an observer that a stream's failure reaches has nobody to tell: that is a throw too. */
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

function observerOf(first: unknown, error: unknown, complete: unknown): Partial<Observer<unknown>> {
  if (typeof first === "object" && first !== null) return first;
  return Object.fromEntries(
    Object.entries({ next: first, error, complete }).filter(([, handler]) => typeof handler === "function"),
  );
}

/** By shape: a plugin may have its own copy of rxjs. */
function isSubscriber(observer: unknown): boolean {
  const { add, unsubscribe } = (observer ?? {}) as { add?: unknown; unsubscribe?: unknown };
  return typeof observer === "object" && typeof add === "function" && typeof unsubscribe === "function";
}

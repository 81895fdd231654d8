import type { Setback } from "../dead-letter.js";

/**
 * What becomes of a throw in a function of a batch or a record: the setback to keep the data with as a dead letter, or
 * undefined where it is refused. It is called once for each failure, and counts and logs it.
 */
export type FailureHandler = (error: unknown) => Setback | undefined;

const CURRENT = Symbol.for("sluice.failure_handler");

type Holder = { [CURRENT]?: FailureHandler | undefined };

/** Runs `subscribe` so that the operators that are subscribed to meanwhile, however deep in a pipe, have this handler. */
export function withFailureHandler<Result>(handler: FailureHandler | undefined, subscribe: () => Result): Result {
  const holder = globalThis as Holder; // shared with another copy of the package, which a plugin may carry
  const before = holder[CURRENT];
  holder[CURRENT] = handler;
  try {
    return subscribe();
  } finally {
    holder[CURRENT] = before;
  }
}

/** The handler of whoever is being subscribed to; undefined where what is thrown refuses. */
export function currentFailureHandler(): FailureHandler | undefined {
  return (globalThis as Holder)[CURRENT];
}

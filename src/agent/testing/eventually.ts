import { AssertionError } from "node:assert";

/**
 * How long a case waits for something that should happen soon; less than the five seconds that test runners give a
 * test.
 */
export const PATIENCE_MS = 4000;

/** Resolves when the condition holds; fails with `message` if it does not within `patienceMs` of real time. */
export async function eventually(
  condition: () => boolean,
  message: string | (() => string),
  patienceMs: number = PATIENCE_MS,
): Promise<void> {
  const end = performance.now() + patienceMs;
  for (let turns = 0; !condition(); turns++) {
    if (performance.now() > end) throw assertionError(typeof message === "string" ? message : message());
    await new Promise<void>((resolve) => (turns < 50 ? setImmediate(resolve) : setTimeout(resolve, 2)));
  }
}

/** Resolves with the promise's value; fails with `message` if it does not settle within `patienceMs`. */
export async function withTimeout<T>(work: Promise<T>, message: string, patienceMs: number = PATIENCE_MS): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(assertionError(message)), patienceMs);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** The error that test runners show as a failed expectation. */
export function assertionError(message: string): AssertionError {
  return new AssertionError({ message });
}

/** Fails with `message` unless the condition holds. */
export function check(condition: boolean, message: string | (() => string)): asserts condition {
  if (!condition) throw assertionError(typeof message === "string" ? message : message());
}

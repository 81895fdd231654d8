import type { Clock } from "#contract";
import { anySignal } from "#contract/time";

/** Resolves after this time, or at once when the signal fires. */
export function pause(ms: number, clock: Clock, signal?: AbortSignal): Promise<void> {
  if (signal?.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const end = () => {
      cancel();
      signal?.removeEventListener("abort", end);
      resolve();
    };
    const cancel = clock.after(ms, end);
    signal?.addEventListener("abort", end);
  });
}

/** Work took too long: the reason of its signal, and the error of the work if it failed for that. */
export class TimeoutError extends Error {
  override readonly name = "TimeoutError";
}

/**
 * Runs the work with a signal that fires after `ms`, and when one of `followed` fires. Work that fails after the time is
 * up fails with a `TimeoutError`.
 */
export async function withTimeout<T>(
  ms: number,
  clock: Clock,
  followed: readonly AbortSignal[],
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const late = new AbortController();
  const cancel = clock.after(ms, () => late.abort(new TimeoutError(`no answer within ${Math.round(ms)} ms`)));
  const { signal, release } = anySignal(...followed, late.signal);
  signal.addEventListener("abort", cancel); // work that is not wanted any more may take a while to end
  try {
    return await work(signal);
  } catch (error) {
    throw isTimedOut(signal) ? signal.reason : error;
  } finally {
    cancel();
    release();
  }
}

/** Whether a signal of `withTimeout` has fired because the time was up. */
export function isTimedOut({ reason }: AbortSignal): boolean {
  return reason instanceof TimeoutError;
}

import { exhaustMap, fromEvent, lastValueFrom, Observable, takeUntil } from "rxjs";
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

interface Intervals {
  /** Milliseconds until the work begins for the first time. */
  readonly first: number;
  /** Milliseconds from one beginning to the next. Work that takes longer skips beginnings. */
  readonly interval: number;
}

/** Repeats the work until the signal fires; resolves when it has fired and the work has ended. */
export async function atIntervals(
  intervals: Intervals,
  clock: Clock,
  signal: AbortSignal,
  work: () => Promise<void>,
): Promise<void> {
  if (signal.aborted) return;
  const ticks = clockTimer(intervals, clock).pipe(takeUntil(fromEvent(signal, "abort")));
  await lastValueFrom(ticks.pipe(exhaustMap(work)), { defaultValue: undefined });
}

/** RxJS's `timer`, by this clock. */
function clockTimer({ first, interval }: Intervals, clock: Clock): Observable<void> {
  return new Observable((subscriber) => {
    let cancel = clock.after(first, function tick() {
      cancel = clock.after(interval, tick);
      subscriber.next();
    });
    return () => cancel();
  });
}

/** How long to wait before the next try, in milliseconds, after so many failures in a row: at least 1. */
export type Delays = (failures: number) => number;

interface DelayLimits {
  /** The longest delay after one failure. It doubles with each further failure. */
  readonly first: number;
  /** No delay is longer. */
  readonly max: number;
}

/** The part of a component's context that delays need. */
export interface Jitter {
  readonly random: () => number;
}

/** Delays that double, with jitter. If `max` is `first`, they only vary. */
export function backoff({ first, max }: DelayLimits, jitter: Jitter): Delays {
  return (failures) => jittered(Math.min(max, first * 2 ** (failures - 1)), jitter);
}

/** Between half the delay and all of it at random, so that agents that failed together do not all return together. */
export function jittered(ms: number, { random }: Jitter): number {
  return ms * (0.5 + random() / 2);
}

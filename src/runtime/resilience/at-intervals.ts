import { exhaustMap, fromEvent, lastValueFrom, Observable, takeUntil } from "rxjs";
import type { Clock } from "#contract";

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

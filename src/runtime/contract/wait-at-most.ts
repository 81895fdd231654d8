import type { Clock } from "./clock.js";

export type Timer = Pick<Clock, "after">;

/** Unlike the system's clock it keeps the process alive: for waits when nothing else may be left that does. */
export const keepAliveTimer: Timer = {
  after(ms, run) {
    const timer = setTimeout(run, ms);
    return () => clearTimeout(timer);
  },
};

/**
 * What the work comes to; what `onTimeout` gives when it has not ended after `ms`. Nobody is told how work ends that was
 * given up on, not even when it fails.
 */
export async function waitAtMost<T, Late = undefined>(
  ms: number,
  work: Promise<T>,
  timer: Timer,
  onTimeout?: () => Late,
): Promise<T | Late> {
  let cancel = () => {};
  const timeout = new Promise<Late>((resolve) => {
    cancel = timer.after(ms, () => resolve(onTimeout?.() as Late));
  });
  try {
    return await Promise.race([work, timeout]);
  } finally {
    cancel();
  }
}

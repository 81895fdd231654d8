import type { Clock } from "../clock.js";

export type Timer = Pick<Clock, "after">;

/** A timer that keeps the process alive, unlike the system's clock. For waits when nothing else may keep it alive. */
export const keepAliveTimer: Timer = {
  after(ms, run) {
    const timer = setTimeout(run, ms);
    return () => clearTimeout(timer);
  },
};

/**
 * Returns the result of the work, or of `onTimeout` if the work has not ended after `ms`. The later result or error of
 * abandoned work is ignored.
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

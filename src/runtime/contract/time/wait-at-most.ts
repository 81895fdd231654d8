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

/** A signal that fires with the first of several. */
interface AnySignal {
  readonly signal: AbortSignal;
  /** Call this when the signal is not needed any more. */
  release(): void;
}

/**
 * Like `AbortSignal.any`, for signals that live long. In Node.js 20, each signal that `any` makes leaves about 50 bytes
 * in all signals that it follows for as long as they live: one for every scrape, in the signal that stops the scrapes.
 */
export function anySignal(...followed: readonly AbortSignal[]): AnySignal {
  const controller = new AbortController();
  const { signal } = controller;
  const onAbort = () => {
    release();
    controller.abort(followed.find(({ aborted }) => aborted)?.reason);
  };
  const release = () => {
    for (const each of followed) each.removeEventListener("abort", onAbort);
  };
  for (const each of followed) each.addEventListener("abort", onAbort);
  if (followed.some(({ aborted }) => aborted)) onAbort();
  return { signal, release };
}

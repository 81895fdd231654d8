/** Time in milliseconds, passed in so that tests can hold it still. No timer of it keeps the process alive. */
export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number;
  /** Milliseconds that never jump; only differences mean anything. */
  monotonic(): number;
  /** Runs once after `ms`; the returned function cancels it. */
  after(ms: number, run: () => void): () => void;
}

/** The machine's clock. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  after(ms, run) {
    let timer: NodeJS.Timeout;
    const wait = (left: number) => {
      const step = Math.min(left, MAX_TIMER_MS);
      timer = setTimeout(() => (left > step ? wait(left - step) : run()), step).unref();
    };
    wait(ms);
    return () => clearTimeout(timer);
  },
};

/** Node.js fires a timer that is set to more than this at once. */
const MAX_TIMER_MS = 2 ** 31 - 1;

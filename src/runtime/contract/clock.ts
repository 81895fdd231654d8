/** Time in milliseconds, passed in so that tests can control it. Its timers do not keep the process alive. */
export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number;
  /** Milliseconds that never jump; only differences mean anything. */
  monotonic(): number;
  /** Runs once after `ms`. The returned function cancels it. */
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

/** Node.js fires timers with a longer delay immediately. */
const MAX_TIMER_MS = 2 ** 31 - 1;

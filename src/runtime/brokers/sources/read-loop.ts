import type { Clock } from "#contract";

interface ReadLoopSettings {
  /**
   * Connects and reads until it fails or the loop stops. Returns, or throws, the reason why reading ended. Calls
   * `onReading` when it works, so that the next failure counts as the first again.
   */
  read(onReading: () => void): Promise<unknown>;
  /** Called with the reason why reading ended, unless the loop stops. */
  onEnd(reason: unknown): void;
  /**
   * Returns the milliseconds to wait before the next `read`, after so many earlier failures in a row. 0 reads again at
   * once and does not count as a failure.
   */
  waitMs(failures: number, reason: unknown): number;
}

/** Reads from a broker for as long as the receiver runs: after each failure it waits and reads again. */
export class ReadLoop {
  private readonly clock: Clock;
  private readonly stopping = new AbortController();

  constructor(clock: Clock) {
    this.clock = clock;
  }

  get isStopping(): boolean {
    return this.stopping.signal.aborted;
  }

  /** Resolves when the loop has been stopped and the last `read` has ended. */
  async run({ read, onEnd, waitMs }: ReadLoopSettings): Promise<void> {
    for (let failures = 0; !this.isStopping; ) {
      const reason = await read(() => {
        failures = 0;
      }).catch((error: unknown) => error);
      if (this.isStopping) return;
      onEnd(reason);
      const ms = waitMs(failures, reason);
      if (ms === 0) continue;
      failures++;
      await this.pause(ms);
    }
  }

  /** Resolves after this time, or at once when the loop stops. */
  pause(ms: number): Promise<void> {
    return pause(ms, this.clock, this.stopping.signal);
  }

  /** Ends all pauses; `run` resolves after the current `read`. */
  stop(): void {
    this.stopping.abort();
  }
}

/** Resolves after this time, or at once when the signal fires. */
export function pause(ms: number, clock: Clock, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const end = () => {
      cancel();
      signal.removeEventListener("abort", end);
      resolve();
    };
    const cancel = clock.after(ms, end);
    signal.addEventListener("abort", end);
  });
}

interface Waiter {
  /** Undefined once it has left the queue. */
  proceed: (() => void) | undefined;
}

/** Limits concurrency; further callers wait in line. */
export class Semaphore {
  private free: number;
  private waiters: Waiter[] = [];
  private head = 0;

  constructor(limit: number) {
    this.free = limit;
  }

  /**
   * Returns undefined if the caller may proceed at once. Rejects with the signal's reason if it is aborted before its
   * turn.
   */
  acquire(signal: AbortSignal): Promise<void> | undefined {
    if (this.free === 0) return new Promise((resolve, reject) => this.enqueue(signal, resolve, reject));
    this.free -= 1;
    return undefined;
  }

  /** Ends an acquired turn. */
  release(): void {
    while (this.head < this.waiters.length) {
      const { proceed } = this.waiters[this.head++]!;
      if (proceed !== undefined) return proceed();
    }
    this.waiters = [];
    this.head = 0;
    this.free += 1;
  }

  private enqueue(signal: AbortSignal, resolve: () => void, reject: (reason: unknown) => void): void {
    const waiter: Waiter = { proceed: undefined };
    const onAbort = () => {
      waiter.proceed = undefined;
      reject(signal.reason);
    };
    waiter.proceed = () => {
      signal.removeEventListener("abort", onAbort);
      resolve();
    };
    signal.addEventListener("abort", onAbort, { once: true });
    this.waiters.push(waiter);
  }
}

/** Counts operations in progress and tells when there are none. */
export class InFlightCounter {
  private count = 0;
  private readonly waiting: (() => void)[] = [];

  begin(): void {
    this.count += 1;
  }

  end(): void {
    this.count -= 1;
    if (this.count === 0) for (const resolve of this.waiting.splice(0)) resolve();
  }

  /** Resolves when the count is or becomes zero. */
  whenZero(): Promise<void> {
    return this.count === 0 ? Promise.resolve() : new Promise((resolve) => this.waiting.push(resolve));
  }
}

/** How long the last answers may take to reach their clients before the sockets are destroyed. */
export const STOP_GRACE_MS = 300;

/** Counts what is under way, and tells when nothing is. */
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

  /** Resolves when the count is, or comes to, zero. */
  whenZero(): Promise<void> {
    return this.count === 0 ? Promise.resolve() : new Promise((resolve) => this.waiting.push(resolve));
  }
}

/** How long the last answers get to reach their clients before the sockets are destroyed. */
export const STOP_GRACE_MS = 300;

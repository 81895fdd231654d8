import { AuthError } from "#contract";
import type { Clock } from "../../../plugin.js";

/** Maximum number of waiting verifications. Further clients get a retryable error. */
const MAX_WAITING = 64;

/**
 * Verifications are expensive on purpose. So they run one at a time, and after each there is a pause as long as it
 * took. Attackers who send wrong passwords from many addresses get at most half a core, and everything else continues.
 */
export class VerificationQueue {
  private readonly clock: Clock;
  private readonly waiting: (() => void)[] = [];
  private isBusy = false;

  constructor(clock: Clock) {
    this.clock = clock;
  }

  /** Rejects with an `AuthError` if too many are waiting. */
  async run<T>(verify: () => T | Promise<T>): Promise<T> {
    if (this.waiting.length >= MAX_WAITING) throw new AuthError("unavailable", "too many clients are being verified");
    if (this.isBusy) await new Promise<void>((resolve) => this.waiting.push(resolve));
    this.isBusy = true;
    const began = this.clock.monotonic();
    try {
      return await verify();
    } finally {
      this.clock.after(Math.min(MAX_REST_MS, this.clock.monotonic() - began), () => this.next());
    }
  }

  private next(): void {
    const next = this.waiting.shift();
    if (next === undefined) this.isBusy = false;
    else next();
  }
}

const MAX_REST_MS = 2000;

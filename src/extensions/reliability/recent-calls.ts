import type { AttemptError, Clock } from "../../plugin.js";
import { FailureShare } from "./failure-share.js";

const WINDOW_MS = 60_000;

/** How the last calls of an exporter went, for those who look at its health. */
export class RecentCalls {
  private readonly clock: Clock;
  private readonly share: FailureShare;
  private sentAt: number | undefined;
  private failure: { readonly at: number; readonly error: AttemptError } | undefined;

  constructor(clock: Clock) {
    this.clock = clock;
    this.share = new FailureShare(WINDOW_MS, clock);
  }

  get lastSentAt(): number | undefined {
    return this.sentAt;
  }

  get lastError(): { readonly at: number; readonly error: AttemptError } | undefined {
    return this.failure;
  }

  /** Share of the calls of the last minute that failed. */
  get failureRate(): number {
    return this.share.read().share;
  }

  sent(): void {
    this.share.note(false);
    this.sentAt = this.clock.now();
  }

  failed(error: AttemptError): void {
    this.share.note(true);
    this.failure = { at: this.clock.now(), error };
  }
}

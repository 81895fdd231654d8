import type { Clock } from "#contract";
import type { AttemptError } from "#contract/operations";
import { FailureRateWindow } from "./failure-rate-window.js";
import { FailureTrend } from "./failure-trend.js";

const WINDOW_MS = 60_000;

/** The results of an exporter's recent calls, for its status. */
export class RecentCalls {
  private readonly clock: Clock;
  private readonly window: FailureRateWindow;
  private readonly trend: FailureTrend;
  private sentAt: number | undefined;
  private lastFailure: { readonly at: number; readonly error: AttemptError } | undefined;

  constructor(clock: Clock) {
    this.clock = clock;
    this.window = new FailureRateWindow(WINDOW_MS, clock);
    this.trend = new FailureTrend(clock);
  }

  get lastSentAt(): number | undefined {
    return this.sentAt;
  }

  get lastError(): { readonly at: number; readonly error: AttemptError } | undefined {
    return this.lastFailure;
  }

  /** Share of failed calls in the last minute, from 0 to 1. */
  get failureRate(): number {
    return this.window.read().rate;
  }

  get failureTrend(): ReturnType<FailureTrend["read"]> {
    return this.trend.read();
  }

  sent(): void {
    this.window.add(false);
    this.sentAt = this.clock.now();
  }

  /** Sets the last error without counting a call, for example after a failed health check. */
  setLastError(error: AttemptError, at = this.clock.now()): void {
    this.lastFailure = { at, error };
  }

  failed(error: AttemptError): void {
    this.window.add(true);
    this.trend.add();
    this.setLastError(error);
  }
}

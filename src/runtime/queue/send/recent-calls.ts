import type { Clock } from "#contract";
import type { AttemptError, ExporterStatus } from "#contract/operations";

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

  /** Number of calls in the last minute. */
  get count(): number {
    return this.window.read().calls;
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

const WINDOW_BUCKETS = 12;

/** Counts recent calls and how many of them failed, in constant memory. */
export class FailureRateWindow {
  private readonly clock: Clock;
  private readonly bucketMs: number;
  private readonly calls = new Array<number>(WINDOW_BUCKETS).fill(0);
  private readonly failures = new Array<number>(WINDOW_BUCKETS).fill(0);
  /** Number of the bucket that is being filled, counted from time 0 of the monotonic clock. */
  private currentBucket: number;

  constructor(windowMs: number, clock: Clock) {
    this.clock = clock;
    this.bucketMs = Math.max(1, windowMs / WINDOW_BUCKETS);
    this.currentBucket = this.bucketNow();
  }

  add(failed: boolean): void {
    this.advance();
    const bucket = this.currentBucket % WINDOW_BUCKETS;
    this.calls[bucket]! += 1;
    if (failed) this.failures[bucket]! += 1;
  }

  /** The number of calls in the window, and the share of failed ones, from 0 to 1. */
  read(): { readonly calls: number; readonly rate: number } {
    this.advance();
    const calls = sum(this.calls);
    return { calls, rate: calls === 0 ? 0 : sum(this.failures) / calls };
  }

  clear(): void {
    this.calls.fill(0);
    this.failures.fill(0);
  }

  private advance(): void {
    const now = this.bucketNow();
    const steps = Math.min(WINDOW_BUCKETS, now - this.currentBucket);
    for (let i = 1; i <= steps; i++) {
      this.calls[(this.currentBucket + i) % WINDOW_BUCKETS] = 0;
      this.failures[(this.currentBucket + i) % WINDOW_BUCKETS] = 0;
    }
    this.currentBucket = Math.max(this.currentBucket, now);
    if (steps === WINDOW_BUCKETS) this.clear();
  }

  private bucketNow(): number {
    return Math.floor(this.clock.monotonic() / this.bucketMs);
  }
}

function sum(numbers: readonly number[]): number {
  let total = 0;
  for (const number of numbers) total += number;
  return total;
}

const TREND_BUCKET_MS = 60_000;
/** One bucket per minute. The newer half is compared with the older half. */
const TREND_BUCKETS = 10;
/** The trend changes if the newer count is more, or less, than this multiple of the older one. */
const RISES_FROM = 1.2;
const FALLS_FROM = 0.8;

/** Whether an exporter's calls fail more often than before, in constant memory and without a timer. */
export class FailureTrend {
  private readonly clock: Clock;
  private readonly failures = new Array<number>(TREND_BUCKETS).fill(0);
  /** Number of the bucket that is being filled, counted from time 0 of the monotonic clock. */
  private current: number;

  constructor(clock: Clock) {
    this.clock = clock;
    this.current = this.bucketNow();
  }

  add(): void {
    this.advance();
    this.failures[this.current % TREND_BUCKETS]! += 1;
  }

  /** Compares the last five minutes with the five before. */
  read(): ExporterStatus["failureTrend"] {
    this.advance();
    let [recent, before] = [0, 0];
    for (let age = 0; age < TREND_BUCKETS; age++) {
      const failures = this.failures[(this.current - age + TREND_BUCKETS) % TREND_BUCKETS]!;
      if (age < TREND_BUCKETS / 2) recent += failures;
      else before += failures;
    }
    if (recent > before * RISES_FROM) return "rising";
    return recent < before * FALLS_FROM ? "falling" : "steady";
  }

  private advance(): void {
    const now = this.bucketNow();
    for (let bucket = Math.max(this.current + 1, now - TREND_BUCKETS + 1); bucket <= now; bucket++)
      this.failures[bucket % TREND_BUCKETS] = 0;
    this.current = Math.max(this.current, now);
  }

  private bucketNow(): number {
    return Math.floor(this.clock.monotonic() / TREND_BUCKET_MS);
  }
}

const RATE_WINDOW_MS = 1000;

/**
 * The calls that the backend took. While it is healthy, a success changes only these figures. The policies read them
 * when they have to decide.
 */
export class Successes {
  private readonly clock: Clock;
  private startedAt = Number.NEGATIVE_INFINITY;
  private count = 0;
  private previous = 0;
  /** Number of successful calls. */
  calls = 0;
  /** Number of entries in them. */
  entries = 0;
  /** Monotonic time of the last one: the wall clock may be set back meanwhile. */
  lastAt = Number.NEGATIVE_INFINITY;

  constructor(clock: Clock) {
    this.clock = clock;
  }

  /** Entries that the backend took per second, in the last second with any success or in the one before. */
  get rate(): number {
    return Math.max(this.previous, this.count);
  }

  /** Counts a successful call for this many entries. */
  add(entries: number): void {
    const now = this.clock.monotonic();
    const elapsed = now - this.startedAt;
    if (elapsed >= RATE_WINDOW_MS) {
      this.previous = (this.count * 1000) / elapsed;
      this.startedAt = now;
      this.count = 0;
    }
    this.count += entries;
    this.calls += 1;
    this.entries += entries;
    this.lastAt = now;
  }
}

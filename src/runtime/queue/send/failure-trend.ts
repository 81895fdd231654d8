import type { Clock } from "#contract";
import type { ExporterStatus } from "#contract/operations";

const BUCKET_MS = 60_000;
/** One bucket per minute. The newer half is compared with the older half. */
const BUCKETS = 10;
/** The trend changes if the newer count is more, or less, than this multiple of the older one. */
const RISES_FROM = 1.2;
const FALLS_FROM = 0.8;

/** Whether an exporter's calls fail more often than before, in constant memory and without a timer. */
export class FailureTrend {
  private readonly clock: Clock;
  private readonly failures = new Array<number>(BUCKETS).fill(0);
  /** Number of the bucket that is being filled, counted from time 0 of the monotonic clock. */
  private current: number;

  constructor(clock: Clock) {
    this.clock = clock;
    this.current = this.bucketNow();
  }

  add(): void {
    this.advance();
    this.failures[this.current % BUCKETS]! += 1;
  }

  /** Compares the last five minutes with the five before. */
  read(): ExporterStatus["failureTrend"] {
    this.advance();
    let [recent, before] = [0, 0];
    for (let age = 0; age < BUCKETS; age++) {
      const failures = this.failures[(this.current - age + BUCKETS) % BUCKETS]!;
      if (age < BUCKETS / 2) recent += failures;
      else before += failures;
    }
    if (recent > before * RISES_FROM) return "rising";
    return recent < before * FALLS_FROM ? "falling" : "steady";
  }

  private advance(): void {
    const now = this.bucketNow();
    for (let bucket = Math.max(this.current + 1, now - BUCKETS + 1); bucket <= now; bucket++)
      this.failures[bucket % BUCKETS] = 0;
    this.current = Math.max(this.current, now);
  }

  private bucketNow(): number {
    return Math.floor(this.clock.monotonic() / BUCKET_MS);
  }
}

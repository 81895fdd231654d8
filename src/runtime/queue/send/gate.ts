import type { Clock } from "#contract";
import type { CompleteSettings } from "#contract/schema";
import { type DeadLetterOutcome, type DropOutcome, deadLetter } from "../entry/outcome.js";
import { EXPIRED, RETRY_LIMITED } from "../entry/queue-errors.js";
import { isRetry, type QueueItem } from "../entry/queue-item.js";
import type { QueueMetrics } from "../entry/queue-metrics.js";
import { type GroupHold, POLICY, type SendPolicy, type Trouble } from "./policy.js";

/** The outcome of an entry above the rate limit for retries. */
const OUTCOMES = {
  drop: (): DropOutcome => ({ kind: "drop" }),
  dead_letter: ({ entry }: QueueItem) => deadLetter("retry_rate_limit", entry.lastError ?? RETRY_LIMITED),
};

/** Decides whether entries may be sent now. Expired entries may not, nor retries above the rate limit for retries. */
export class Gate implements SendPolicy {
  private readonly settings: CompleteSettings;
  private readonly clock: Clock;
  private readonly metrics: QueueMetrics;
  private readonly limiter: RetryLimiter;

  constructor(settings: CompleteSettings, clock: Clock, metrics: QueueMetrics, trouble: Trouble) {
    this.settings = settings;
    this.clock = clock;
    this.metrics = metrics;
    this.limiter = new RetryLimiter(settings.retry_on_failure.rate_limit, clock);
    trouble.set(POLICY.expiry, settings.sending_queue.max_age > 0);
  }

  /** Entries queued before this monotonic time have expired; undefined if entries never expire. */
  get oldestAllowed(): number | undefined {
    const { max_age } = this.settings.sending_queue;
    return max_age === 0 ? undefined : this.clock.monotonic() - max_age;
  }

  /** Returns the outcome of an entry that must not be sent at all; undefined for others. */
  endOf(item: QueueItem): DeadLetterOutcome | undefined {
    if (item.deadLetterCause !== undefined) return { kind: "dead_letter", cause: item.deadLetterCause };
    return item.queuedSince < (this.oldestAllowed ?? item.queuedSince) ? expiredOutcome(item) : undefined;
  }

  /** Entries of one request need one turn of the retry limiter if any of them is a retry. */
  blocksGroup(items: readonly QueueItem[]): GroupHold | undefined {
    if (!items.some((item) => isRetry(item) && !item.hasRetryTurn)) return undefined;
    const hold = this.takeRetryTurn(items);
    (hold === undefined ? this.metrics.limiterAllowed : this.metrics.limiterLimited).add(1);
    return hold;
  }

  private takeRetryTurn(items: readonly QueueItem[]): GroupHold | undefined {
    const { on_excess } = this.settings.retry_on_failure.rate_limit;
    if (on_excess !== "delay")
      return this.limiter.tryTake() ? undefined : { kind: "end", outcomeOf: OUTCOMES[on_excess] };
    const ms = this.limiter.reserve();
    for (const item of items) item.hasRetryTurn = true;
    return ms === 0 ? undefined : { kind: "delay", ms };
  }
}

/** The outcome of an entry that is too old. */
export function expiredOutcome({ entry }: QueueItem): DeadLetterOutcome {
  return {
    kind: "dead_letter",
    cause: { reason: "expired", category: "expired", error: entry.lastError ?? EXPIRED },
  };
}

interface RetryLimiterSettings {
  readonly per_second: number;
  readonly burst: number;
}

/**
 * A token bucket for retries: any span of t seconds has at most per_second * t + burst turns. Its state is the time of
 * the next turn, so it needs no timer. It uses monotonic time, so changes of the wall clock have no effect.
 */
export class RetryLimiter {
  private readonly clock: Clock;
  private readonly interval: number;
  private readonly tolerance: number;
  private nextTurn = Number.NEGATIVE_INFINITY;

  constructor({ per_second, burst }: RetryLimiterSettings, clock: Clock) {
    this.clock = clock;
    this.interval = 1000 / per_second;
    this.tolerance = (burst - 1) * this.interval;
  }

  /** Takes the next turn, whenever it comes. Returns the milliseconds until then. */
  reserve(): number {
    const now = this.clock.monotonic();
    const turn = Math.max(this.nextTurn, now - this.tolerance);
    this.nextTurn = turn + this.interval;
    return Math.max(0, turn - now);
  }

  /** Takes a turn only if there is one now. */
  tryTake(): boolean {
    if (this.nextTurn > this.clock.monotonic()) return false;
    this.reserve();
    return true;
  }
}

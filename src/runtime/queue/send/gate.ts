import type { Clock } from "#contract";
import type { CompleteSettings } from "#contract/schema";
import { type DeadLetterOutcome, type DropOutcome, deadLetter } from "../entry/outcome.js";
import { EXPIRED, RETRY_LIMITED } from "../entry/queue-errors.js";
import { isRetry, type QueueItem } from "../entry/queue-item.js";
import type { QueueMetrics } from "../entry/queue-metrics.js";
import { POLICY, type Trouble } from "./trouble.js";

/** The decision about a group whose turn has come: send it, let it wait, or end its entries without a call. */
type GateDecision =
  | { readonly kind: "send" }
  | { readonly kind: "wait"; readonly ms: number }
  | { readonly kind: "end" };

const SEND: GateDecision = { kind: "send" };
const END: GateDecision = { kind: "end" };
const DROP: DropOutcome = { kind: "drop" };

/** Decides whether entries may be sent now. Expired entries may not, nor retries above the rate limit for retries. */
export class Gate {
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

  /** Decides about entries of one request. They need one turn of the retry limiter if any of them is a retry. */
  decide(items: readonly QueueItem[]): GateDecision {
    if (!items.some((item) => isRetry(item) && !item.hasRetryTurn)) return SEND;
    const decision = this.takeRetryTurn(items);
    (decision === SEND ? this.metrics.limiterAllowed : this.metrics.limiterLimited).add(1);
    return decision;
  }

  /** The outcome of an entry above the rate limit for retries. */
  excessOutcome({ entry }: QueueItem): DeadLetterOutcome | DropOutcome {
    if (this.settings.retry_on_failure.rate_limit.on_excess === "drop") return DROP;
    const error = entry.lastError ?? RETRY_LIMITED;
    return deadLetter("retry_rate_limit", error);
  }

  private takeRetryTurn(items: readonly QueueItem[]): GateDecision {
    const { on_excess } = this.settings.retry_on_failure.rate_limit;
    if (on_excess !== "delay") return this.limiter.tryTake() ? SEND : END;
    const ms = this.limiter.reserve();
    for (const item of items) item.hasRetryTurn = true;
    return ms === 0 ? SEND : { kind: "wait", ms };
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

import type { Clock } from "../../../plugin.js";
import type { CompleteSettings } from "../../../runtime/kit.js";
import type { DeadLetterOutcome, DropOutcome } from "../entry/outcome.js";
import { EXPIRED, RETRY_LIMITED } from "../entry/queue-errors.js";
import type { QueueItem } from "../entry/queue-item.js";
import type { QueueMetrics } from "../operate/queue-metrics.js";
import { errorCategory } from "../send/classify.js";

/** What is to be done with an entry whose turn has come: send it, let it wait, or end it without a call. */
export type GateDecision =
  | { readonly kind: "send" }
  | { readonly kind: "wait"; readonly ms: number }
  | DeadLetterOutcome
  | DropOutcome;

const SEND: GateDecision = { kind: "send" };
const DROP: GateDecision = { kind: "drop" };

/** Decides whether an entry may be sent now: not if it has expired, and a retry not over the rate limit of retries. */
export class Gate {
  private readonly settings: CompleteSettings;
  private readonly clock: Clock;
  private readonly metrics: QueueMetrics;
  private readonly limiter: RetryLimiter;

  constructor(settings: CompleteSettings, clock: Clock, metrics: QueueMetrics) {
    this.settings = settings;
    this.clock = clock;
    this.metrics = metrics;
    this.limiter = new RetryLimiter(settings.retry_on_failure.rate_limit, clock);
  }

  /** Entries that came before this time have expired; undefined when none ever does. */
  get oldestAllowed(): number | undefined {
    const { max_age } = this.settings.sending_queue;
    return max_age === 0 ? undefined : this.clock.monotonic() - max_age;
  }

  decide(item: QueueItem): GateDecision {
    if (item.deadLetterCause !== undefined) return { kind: "dead_letter", cause: item.deadLetterCause };
    if (item.queuedSince < (this.oldestAllowed ?? item.queuedSince)) return expiredOutcome(item);
    if (item.entry.calls === 0 || item.hasRetryTurn) return SEND;
    const decision = this.takeRetryTurn(item);
    (decision === SEND ? this.metrics.limiterAllowed : this.metrics.limiterLimited).add(1);
    return decision;
  }

  private takeRetryTurn(item: QueueItem): GateDecision {
    const { on_excess } = this.settings.retry_on_failure.rate_limit;
    if (on_excess === "delay") {
      const ms = this.limiter.reserve();
      item.hasRetryTurn = true;
      return ms === 0 ? SEND : { kind: "wait", ms };
    }
    if (this.limiter.tryTake()) return SEND;
    if (on_excess === "drop") return DROP;
    const error = item.entry.lastError ?? RETRY_LIMITED;
    return { kind: "dead_letter", cause: { reason: "rate_limited", category: errorCategory(error), error } };
  }
}

/** What becomes of an entry that is too old. */
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
 * A token bucket for retries: in any span of t seconds at most per_second * t + burst turns fall. Kept as the time of
 * the next turn, so it needs no timer. Time is monotonic: a clock that is set back or forward changes nothing.
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

  /** Takes the next turn, whenever it is; gives the milliseconds until then. */
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

import { type Clock, type Logger, limitedLog, type PartialRejection } from "#contract";
import type { Undelivered } from "#contract/errors";
import type { AttemptError } from "#contract/operations";
import type { CompleteSettings } from "#contract/schema";
import type { Batch } from "#otlp";
import {
  type DeadLetterOutcome,
  deadLetter,
  type EntryOutcome,
  type GroupOutcome,
  outcomeOfEach,
} from "../entry/outcome.js";
import { breakerOpenError, partialSuccessError } from "../entry/queue-errors.js";
import {
  type DeadLetterCause,
  type QueueItem,
  recordsOf,
  type SendGroup,
  withDelay,
  withFailure,
} from "../entry/queue-item.js";
import type { BreakerState, QueueMetrics } from "../entry/queue-metrics.js";
import type { BackendMemory } from "./backend-memory.js";
import type { Bisections } from "./bisect.js";
import { Breaker, type Permit } from "./breaker.js";
import { FailurePolicy, isRefusedPermanently } from "./failure-policy.js";
import { Gate } from "./gate.js";
import { Holds } from "./holds.js";
import { Ramp } from "./ramp.js";
import { RecentCalls, Successes } from "./recent-calls.js";
import { RefusalPolicy } from "./refusal-policy.js";
import type { AttemptResult } from "./sender.js";
import { POLICY, type Trouble } from "./trouble.js";

interface AttemptPolicyServices {
  readonly settings: CompleteSettings;
  readonly clock: Clock;
  readonly random: () => number;
  readonly logger: Logger;
  readonly metrics: QueueMetrics;
  readonly trouble: Trouble;
  readonly bisections: Bisections;
  /** Remembers the backend's state across restarts. It must be loaded before `onOpened` is called. */
  readonly memory: BackendMemory;
  /** Whether the exporter has a health check, so that a probe needs no entry. */
  readonly canCheckHealth: boolean;
  /** Checks the exporter's health, if it can, and reports a success with `countHealthCheck`. */
  readonly requestHealthCheck: () => void;
  /** Whether no entry is pending. Then only a health check can tell whether the backend works again. */
  readonly isEmpty: () => boolean;
  /** Called when entries held under this key no longer have to wait. */
  readonly onHoldEnd: (key: string) => void;
  /** Called with entries that are refused permanently with this error. They need no further call. */
  readonly onBlamed: (items: readonly QueueItem[], error: AttemptError) => void;
  /** Whether entries wait under this key because the backend refuses everything under it. */
  readonly hasHeld: (key: string) => boolean;
}

/** The reason why no call may be made at the moment. */
export interface Hold {
  /** Milliseconds until `acquire` is worth calling again; undefined if that depends on a result or on an operator. */
  readonly waitMs: number | undefined;
  /** Whether entries become dead letters (with `rejection`) instead of waiting until the breaker closes. */
  readonly rejects: boolean;
}

/**
 * Combines ramp, breaker, retry limit, backoff, poison detection and refusals. It answers three questions: may a call
 * be made now (`acquire`), may this entry be sent now (`isClear`; if not, `gate` and `holds`), and what follows from the
 * result of its call (`decide`). It only returns decisions; other classes carry them out.
 *
 * While there is no `trouble`, it answers without asking any policy. The answers are the same as theirs would be.
 */
export class AttemptPolicy {
  readonly breaker: Breaker;
  readonly gate: Gate;
  readonly recent: RecentCalls;
  readonly holds: Holds;
  /** The entry of the last failed call. A probe prefers any other entry. */
  probeAvoids: QueueItem | undefined;
  private readonly services: AttemptPolicyServices;
  private readonly trouble: Trouble;
  private readonly successes: Successes;
  /** The breaker's epoch in which a health check succeeded. In this epoch, the next probes send entries. */
  private healthyEpoch: number | undefined;
  private readonly ramp: Ramp;
  private readonly failures: FailurePolicy;
  private readonly refusals: RefusalPolicy;
  private readonly logPartial: (partial: PartialRejection) => void;

  constructor(services: AttemptPolicyServices) {
    this.services = services;
    const { settings, clock, logger, metrics, trouble } = services;
    this.trouble = trouble;
    this.recent = new RecentCalls(clock);
    this.successes = new Successes(clock);
    const shared = { ...services, recent: this.recent, successes: this.successes };
    this.holds = new Holds({ ...shared, onHoldEnd: (key, wasReported) => this.onHoldEnd(key, wasReported) });
    this.ramp = new Ramp(settings.replay.ramp, clock, this.successes, trouble);
    this.breaker = new Breaker(settings.circuit_breaker, clock, (to, from) => this.onBreakerChange(to, from), trouble);
    this.gate = new Gate(settings, clock, metrics, trouble);
    this.failures = new FailurePolicy(shared);
    this.refusals = new RefusalPolicy(services);
    this.logPartial = limitedLog(clock, (partial, suppressed) =>
      logger.warn({ ...partial, suppressed }, "the backend rejected some records"),
    );
  }

  /** To be called when the queue is about to be closed. */
  onClosing(): void {
    const { memory } = this.services;
    const { failures } = this.breaker;
    if (failures !== (memory.known.failures ?? 0)) memory.update({ failures });
    memory.flush();
  }

  /**
   * To be called when the queue has been opened. Restores what an earlier run knew about the backend.
   */
  onOpened(): void {
    const { memory, logger } = this.services;
    const { breaker, error, failingSince, failures = 0 } = memory.known;
    this.breaker.restore({ failures, openSince: breaker?.openSince });
    if (error !== undefined) this.recent.setLastError(error, breaker?.openSince ?? failingSince);
    if (this.breaker.state === "closed") return;
    const details = { since: new Date(this.breaker.since).toISOString(), error: error?.class, message: error?.message };
    logger.warn(details, "circuit breaker: still open after the restart; the backend is tried now");
  }

  /** Requests the right to make one call now. A permit must be ended with `decide`, `reportHealth` or `giveBack`. */
  acquire(): Permit | Hold {
    if (this.trouble.bits === 0) return this.breaker.permit;
    const rampMs = this.ramp.waitMs();
    if (rampMs > 0) return { waitMs: rampMs, rejects: false };
    const permit = this.breaker.acquire();
    if (permit !== undefined) return permit;
    const rejects = this.services.settings.circuit_breaker.on_open === "dead_letter" && this.breaker.state === "open";
    return { waitMs: this.breaker.waitMs, rejects };
  }

  /** The maximum number of entries per call. */
  get maxEntries(): number {
    return this.trouble.bits === 0 ? Number.POSITIVE_INFINITY : this.ramp.maxEntries;
  }

  /** Entries queued before this monotonic time have expired; undefined if entries never expire. */
  get oldestAllowed(): number | undefined {
    return (this.trouble.bits & POLICY.expiry) === 0 ? undefined : this.gate.oldestAllowed;
  }

  /** Whether the group may be sent now. If not, `gate` and `holds` must be asked. */
  isClear({ items }: SendGroup): boolean {
    if (this.trouble.bits !== 0) return false;
    for (const { entry, deadLetterCause } of items) if (entry.calls > 0 || deadLetterCause !== undefined) return false;
    return true;
  }

  /** Returns a permit with which no call was made. */
  giveBack(permit: Permit): void {
    this.breaker.report(permit, "cancelled");
  }

  /** Whether a probe with this permit calls the exporter's health check instead of sending an entry. */
  isHealthCheck({ probe, epoch }: Permit): boolean {
    return probe && this.services.canCheckHealth && (epoch !== this.healthyEpoch || this.services.isEmpty());
  }

  /** Whether a health check is needed, even if there is nothing to send. */
  get wantsHealthCheck(): boolean {
    if (this.trouble.bits === 0) return false;
    const { state, forced, currentEpoch } = this.breaker;
    if (!this.services.canCheckHealth || state === "closed" || forced) return false;
    return currentEpoch !== this.healthyEpoch || this.services.isEmpty();
  }

  /**
   * A healthy exporter may still refuse data. So while entries wait, they decide the breaker's state, and the health
   * check decides only if there are none. A check answered with an error such as 500 does not stop entries from being
   * tried.
   */
  reportHealth(permit: Permit, error: AttemptError | undefined, isCancelled: boolean): void {
    const isHealthy = error === undefined;
    if (isHealthy) this.failures.checkSucceeded();
    else if (!isCancelled) this.recent.setLastError(error);
    this.services.metrics.healthChecked(isHealthy);
    const hasAnswered = isHealthy || (error.status !== undefined && error.blame === "entry");
    if (hasAnswered) this.healthyEpoch = permit.epoch;
    const isConclusive = this.services.isEmpty();
    const result = isHealthy ? "success" : "failure";
    this.breaker.report(permit, isCancelled || (hasAnswered && !isConclusive) ? "cancelled" : result);
  }

  /** Counts a health check that was made beside the calls. The breaker does not depend on it. */
  countHealthCheck(isHealthy: boolean): void {
    this.services.metrics.healthChecked(isHealthy);
    if (isHealthy) this.failures.checkSucceeded();
  }

  /**
   * Counts an entry that joins the queue while the breaker is open. With `on_open: dead_letter` it is counted in
   * `rejection` instead.
   */
  countArrival(): void {
    if (this.trouble.bits === 0) return;
    if (this.breaker.state === "open" && this.services.settings.circuit_breaker.on_open === "hold")
      this.services.metrics.rejected.add(1);
  }

  /** The outcome of an entry that met an open breaker and must not wait. */
  rejection(): DeadLetterOutcome {
    this.services.metrics.rejected.add(1);
    return deadLetter("breaker_open", breakerOpenError(this.recent.lastError?.error));
  }

  /** To be called before a call is made for this group. */
  countAttempt({ items, bisection }: SendGroup): void {
    if (bisection !== undefined) bisection.isBusy = true;
    for (const item of items) {
      item.hasRetryTurn = false;
      item.isHeld = false;
      if (item.entry.calls > 0) this.services.metrics.retried(item.entry.calls);
    }
    if (this.trouble.bits === 0) return;
    this.holds.onCall(items[0]!);
    this.ramp.countRequest(items.length);
  }

  /**
   * Decides what follows from the result of a call. Reports the result to the breaker and records the attempt on the
   * entries.
   */
  decide(group: SendGroup, permit: Permit, result: AttemptResult): GroupOutcome {
    if (group.bisection !== undefined) group.bisection.isBusy = false;
    const wasProbe = this.trouble.bits !== 0 && this.holds.endProbe(group.items[0]!);
    switch (result.kind) {
      case "delivered":
        return this.delivered(group, permit, result);
      case "failed":
        return this.notTaken(group, permit, result, wasProbe);
      case "refused_before":
        this.giveBack(permit);
        this.services.metrics.permanent.add(1);
        return this.refusals.refused(group, result.batches, result.error, true);
      case "unfit":
        this.giveBack(permit);
        return this.refusals.unfit(group.items[0]!, result.batch, result.error);
      case "unreadable":
        this.giveBack(permit);
        return unreadableOutcome(group, result.causes);
      case "cancelled":
        this.giveBack(permit);
        return outcomeOfEach(group.items, () => result);
    }
  }

  private notTaken(
    group: SendGroup,
    permit: Permit,
    result: Extract<AttemptResult, { kind: "failed" }>,
    wasProbe: boolean,
  ): GroupOutcome {
    const { batches, error, undelivered } = result;
    const isPartlySent = undelivered !== undefined && !isRefusedPermanently(error, undelivered);
    const outcome = isPartlySent
      ? this.partlySent(group, permit, result, undelivered)
      : this.failed(group, permit, batches, error, wasProbe);
    for (const item of group.items) item.lastTriedAt = this.services.clock.monotonic();
    return outcome;
  }

  private delivered(
    { items, bisection }: SendGroup,
    permit: Permit,
    { sent, partial }: Extract<AttemptResult, { kind: "delivered" }>,
  ): GroupOutcome {
    // A ramp that begins here starts at the rate before this success.
    if (this.trouble.bits !== 0) this.breaker.report(permit, "success");
    this.recent.sent();
    this.successes.add(items.length);
    bisection?.taken(items.length);
    if (this.trouble.bits !== 0) this.tellOfSuccess(items);
    if (partial !== undefined) this.logPartial(partial);
    if ((partial?.rejected ?? 0) > 0) return this.partlyDelivered(items, sent, partial!);
    return { outcomes: sent.map((batch) => ({ kind: "delivered", sent: batch })), regrouped: [] };
  }

  private tellOfSuccess(items: readonly QueueItem[]): void {
    this.services.memory.noteSuccess(this.breaker.state === "closed");
    this.holds.onSuccess(items[0]!);
    for (const item of items) this.services.bisections.delivered(item);
  }

  /** It is not known which records were rejected, so the whole request is kept, with the number of rejected records. */
  private partlyDelivered(
    items: readonly QueueItem[],
    sent: readonly Batch[],
    partial: PartialRejection,
  ): GroupOutcome {
    this.services.metrics.partialSuccess.add(1);
    const error = partialSuccessError(items, partial);
    let uncounted = partial.rejected;
    return outcomeOfEach(items, (item, i) => {
      const rejected = Math.min(uncounted, sent[i]!.count);
      uncounted -= rejected;
      item.entry = withFailure(item.entry, error, this.services.clock.now(), true, recordsOf(items));
      const own = { lost: rejected, rejected: partial.rejected };
      const cause: DeadLetterCause = { reason: "partial_success", category: "schema", error, ...own };
      const told = items.length === 1 ? partial : { rejected: 0, message: error.message };
      return { kind: "partly_delivered", sent: sent[i]!, partial: told, rejected, cause };
    });
  }

  /**
   * One of several servers did not take its share. The breaker stands for all servers, so the call counts as a success
   * if any of them took data.
   */
  private partlySent(
    group: SendGroup,
    permit: Permit,
    { batches, error }: Extract<AttemptResult, { kind: "failed" }>,
    { marks, isOutage }: Undelivered,
  ): GroupOutcome {
    const wasTaken = marks.includes(0);
    this.breaker.report(permit, wasTaken ? "success" : "answered");
    const blamed = this.failures.blamePartly(group, isOutage ? { ...error, blame: "backend" } : error);
    if (wasTaken) group.bisection?.taken(1);
    return this.failures.partlySent(group, batches, blamed, { marks });
  }

  private failed(
    group: SendGroup,
    permit: Permit,
    batches: readonly Batch[],
    cause: AttemptError,
    wasProbe: boolean,
  ): GroupOutcome {
    if (cause.kind === "permanent") {
      this.recent.failed(cause);
      this.breaker.report(permit, "answered");
      return this.refused(group, batches, cause, wasProbe);
    }
    this.ramp.failed();
    const judged = this.failures.blame(group, cause);
    this.probeAvoids = group.items[0];
    this.breaker.report(permit, "failure");
    if (judged.error.blame === "backend") this.services.memory.noteFailure(judged.error, this.successes.rate);
    if (judged.poison === "unproven") this.services.requestHealthCheck();
    // Opening the breaker is logged elsewhere, so only failures with a closed breaker are logged here.
    return this.failures.failed(group, judged, this.breaker.state === "closed");
  }

  /** Holds the entries if the backend refuses everything. Otherwise the data is to blame, whatever the status says. */
  private refused(group: SendGroup, batches: readonly Batch[], error: AttemptError, wasProbe: boolean): GroupOutcome {
    const verdict = this.holds.onRefusal(group.items, error, wasProbe);
    if (verdict.kind === "final") {
      this.services.metrics.permanent.add(1);
      return this.refusals.refused(group, batches, verdict.error);
    }
    const { delayMs } = verdict;
    const requestItems = recordsOf(group.items);
    const at = this.services.clock.now();
    return outcomeOfEach(group.items, (item) => {
      item.entry = withDelay(withFailure(item.entry, error, at, false, requestItems), delayMs);
      return { kind: "retry", delayMs };
    });
  }

  private onHoldEnd(key: string, wasReported: boolean): void {
    if (wasReported) this.ramp.start();
    this.services.onHoldEnd(key);
  }

  /** A breaker that an operator holds is not remembered: after a restart the config decides. */
  private rememberBreaker(to: BreakerState): void {
    const { memory } = this.services;
    const { since: openSince, forced } = this.breaker;
    if (to === "half_open") return;
    const isOpen = to === "open" && !forced;
    const error = this.recent.lastError?.error;
    const changes = isOpen
      ? { breaker: { openSince }, error }
      : { breaker: undefined, ...(to === "closed" && { successRate: undefined }) };
    memory.update({ ...changes, failures: 0 }, { isUrgent: true });
  }

  private onBreakerChange(to: BreakerState, from: BreakerState): void {
    const { metrics, logger, memory } = this.services;
    const { successRate } = memory.known;
    this.rememberBreaker(to);
    if (to === "open") metrics.opened.add(1);
    if (to === "closed") {
      metrics.closed.add(1);
      this.ramp.start(successRate);
    }
    const error = this.recent.lastError?.error;
    const why = to === "open" && error !== undefined ? { error: error.class, message: error.message } : {};
    const level = to === "open" ? "warn" : "info";
    logger[level]({ from, to, forced: this.breaker.forced, ...why }, `circuit breaker: ${to.replace("_", " ")}`);
  }
}

/** Readable entries are sent at once, without the unreadable ones, and keep their turn. */
function unreadableOutcome({ items, bisection }: SendGroup, causes: readonly unknown[]): GroupOutcome {
  const outcomes = causes.map((cause): EntryOutcome | undefined =>
    cause === undefined ? undefined : { kind: "unreadable", cause },
  );
  const readable = items.filter((_item, i) => causes[i] === undefined);
  for (const item of readable) item.hasRetryTurn = true;
  return { outcomes, regrouped: readable.length === 0 ? [] : [{ items: readable, bisection }] };
}

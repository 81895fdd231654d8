import type { Clock, Logger } from "#contract";
import type { Undelivered } from "#contract/errors";
import type { AttemptError } from "#contract/operations";
import type { CompleteSettings } from "#contract/schema";
import {
  type DeadLetterOutcome,
  deadLetter,
  type EntryOutcome,
  type GroupOutcome,
  outcomeOfEach,
} from "../entry/outcome.js";
import { breakerOpenError } from "../entry/queue-errors.js";
import type { QueueItem, SendGroup } from "../entry/queue-item.js";
import type { BreakerState, QueueMetrics } from "../entry/queue-metrics.js";
import type { QueueStore } from "../store/store.js";
import { BackendMemory } from "./backend-memory.js";
import type { Bisections } from "./bisect.js";
import { Breaker } from "./breaker.js";
import { FailurePolicy, isRefusedPermanently } from "./failure-policy.js";
import { Gate } from "./gate.js";
import { HealthChecks } from "./health-checks.js";
import { Holds } from "./holds.js";
import {
  type CallEnd,
  type GroupHold,
  type Hold,
  type Permit,
  POLICY,
  type SendPolicy,
  type Trouble,
} from "./policy.js";
import { Ramp } from "./ramp.js";
import { RecentCalls, Successes } from "./recent-calls.js";
import { RefusalPolicy } from "./refusal-policy.js";
import type { AttemptResult } from "./sender.js";

interface AttemptPolicyServices {
  readonly settings: CompleteSettings;
  readonly clock: Clock;
  readonly random: () => number;
  readonly logger: Logger;
  readonly metrics: QueueMetrics;
  readonly store: QueueStore;
  readonly trouble: Trouble;
  readonly bisections: Bisections;
  /** Whether the exporter has a health check, so that a probe needs no entry. */
  readonly canCheckHealth: boolean;
  /** Checks the exporter's health, if it can, and reports the result with `health.count`. */
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

type Ended<Kind extends AttemptResult["kind"]> = Extract<AttemptResult, { kind: Kind }>;

/**
 * The policies of the send path, as one chain. It answers three questions: may a call be made now (`acquire`), may these
 * entries be sent now (`isClear`; if not, `endOf` and `blocksGroup`), and what follows from the result of their call
 * (`decide`). It only returns decisions; other classes carry them out.
 *
 * While there is no `trouble`, it answers without asking any policy. The answers are the same as theirs would be.
 */
export class AttemptPolicy {
  readonly breaker: Breaker;
  readonly recent: RecentCalls;
  readonly holds: Holds;
  readonly health: HealthChecks;
  /** The entry of the last failed call. A probe prefers any other entry. */
  probeAvoids: QueueItem | undefined;
  private readonly services: AttemptPolicyServices;
  private readonly trouble: Trouble;
  private readonly chain: readonly SendPolicy[];
  private readonly successes: Successes;
  private readonly ramp: Ramp;
  private readonly memory: BackendMemory;
  private readonly gate: Gate;
  private readonly failures: FailurePolicy;
  private readonly refusals: RefusalPolicy;

  constructor(services: AttemptPolicyServices) {
    this.services = services;
    const { settings, clock, metrics, trouble, bisections } = services;
    this.trouble = trouble;
    const recent = new RecentCalls(clock);
    const successes = new Successes(clock);
    const shared = { ...services, recent, successes };
    const holds = new Holds({ ...shared, onHoldEnd: (key, wasReported) => this.onHoldEnd(key, wasReported) });
    const ramp = new Ramp(settings.replay.ramp, clock, successes, trouble);
    const breaker = new Breaker(settings.circuit_breaker, clock, (to, from) => this.onBreakerChange(to, from), trouble);
    const memory = new BackendMemory({ ...shared, breaker });
    const gate = new Gate(settings, clock, metrics, trouble);
    const failures = new FailurePolicy(shared);
    this.chain = [ramp, breaker, memory, holds, bisections, gate];
    this.recent = recent;
    this.successes = successes;
    this.holds = holds;
    this.ramp = ramp;
    this.breaker = breaker;
    this.memory = memory;
    this.gate = gate;
    this.failures = failures;
    this.refusals = new RefusalPolicy({ ...services, holds });
    this.health = new HealthChecks({ ...shared, breaker, failures });
  }

  /** To be called when the queue is about to be closed. */
  onClosing(): void {
    const { memory } = this;
    const { failures } = this.breaker;
    if (failures !== (memory.known.failures ?? 0)) memory.update({ failures });
    memory.flush();
  }

  /** To be called when the queue has been opened. Restores what an earlier run knew about the backend. */
  async onOpened(): Promise<void> {
    await this.memory.load();
    const { breaker, error, failingSince, failures = 0 } = this.memory.known;
    this.breaker.restore({ failures, openSince: breaker?.openSince });
    if (error !== undefined) this.recent.setLastError(error, breaker?.openSince ?? failingSince);
    // A breaker that is disabled now must not be found open by a later config.
    if (this.breaker.state === "closed") return breaker && this.memory.update({ breaker: undefined });
    const details = { since: new Date(this.breaker.since).toISOString(), error: error?.class, message: error?.message };
    this.services.logger.warn(details, "circuit breaker: still open after the restart; the backend is tried now");
  }

  /** Requests the right to make one call now. A permit must be ended with `decide`, `health.ended` or `giveBack`. */
  acquire(): Permit | Hold {
    if (this.trouble.bits === 0) return this.breaker.permit;
    for (const policy of this.chain) {
      const hold = policy.blocks?.();
      if (hold !== undefined) return hold;
    }
    return this.breaker.take();
  }

  /** The maximum number of entries per call. */
  get maxEntries(): number {
    return this.trouble.bits === 0 ? Number.POSITIVE_INFINITY : this.ramp.maxEntries;
  }

  /** Entries queued before this monotonic time have expired; undefined if entries never expire. */
  get oldestAllowed(): number | undefined {
    return (this.trouble.bits & POLICY.expiry) === 0 ? undefined : this.gate.oldestAllowed;
  }

  /** Whether the group may be sent now. If not, `endOf` and `blocksGroup` must be asked. */
  isClear({ items }: SendGroup): boolean {
    if (this.trouble.bits !== 0) return false;
    for (const { entry, deadLetterCause } of items) if (entry.calls > 0 || deadLetterCause !== undefined) return false;
    return true;
  }

  /** Returns the outcome of an entry that must not be sent at all; undefined for others. */
  endOf(item: QueueItem): DeadLetterOutcome | undefined {
    return this.gate.endOf(item);
  }

  /** Returns why these entries may not be sent now; undefined if they may. */
  blocksGroup(items: readonly QueueItem[]): GroupHold | undefined {
    for (const policy of this.chain) {
      const hold = policy.blocksGroup?.(items);
      if (hold !== undefined) return hold;
    }
    return undefined;
  }

  /** Returns a permit with which no call was made. */
  giveBack(permit: Permit): void {
    this.breaker.report(permit, "cancelled");
  }

  /** Whether a probe with this permit calls the exporter's health check instead of sending an entry. */
  isHealthCheck({ probe, epoch }: Permit): boolean {
    return probe && this.health.probesIn(epoch);
  }

  /** Whether a health check is needed, even if there is nothing to send. */
  get wantsHealthCheck(): boolean {
    return this.trouble.bits !== 0 && this.health.isWanted;
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
    if (this.trouble.bits !== 0) for (const policy of this.chain) policy.began?.(items);
  }

  /**
   * Decides what follows from the result of a call. Tells the policies of it and records the attempt on the entries.
   */
  decide(group: SendGroup, permit: Permit, result: AttemptResult): GroupOutcome {
    const { items, bisection } = group;
    if (bisection !== undefined) bisection.isBusy = false;
    if (result.kind === "delivered") return this.delivered(group, permit, result);
    if (result.kind === "failed") {
      const outcome = this.notTaken(group, permit, result);
      for (const item of items) item.lastTriedAt = this.services.clock.monotonic();
      return outcome;
    }
    this.tellEnd({ items, permit, result: "cancelled" });
    return this.notSent(group, result);
  }

  private tellEnd(end: CallEnd): void {
    for (const policy of this.chain) policy.ended?.(end);
  }

  private delivered(
    { items, bisection }: SendGroup,
    permit: Permit,
    { sent, partial }: Ended<"delivered">,
  ): GroupOutcome {
    // A ramp that begins here starts at the rate before this success.
    if (this.trouble.bits !== 0) this.tellEnd({ items, permit, result: "success" });
    this.recent.sent();
    this.successes.add(items.length);
    bisection?.taken(items.length);
    if (partial !== undefined) return this.refusals.partlyDelivered(items, sent, partial);
    return { outcomes: sent.map((batch) => ({ kind: "delivered", sent: batch })), regrouped: [] };
  }

  private notSent(group: SendGroup, result: Exclude<AttemptResult, Ended<"delivered" | "failed">>): GroupOutcome {
    switch (result.kind) {
      case "refused_before":
        this.services.metrics.permanent.add(1);
        return this.refusals.refused(group, result.batches, result.error, true);
      case "unfit":
        return this.refusals.unfit(group.items[0]!, result.batch, result.error);
      case "unreadable":
        return unreadableOutcome(group, result.causes);
      case "cancelled":
        return outcomeOfEach(group.items, () => result);
    }
  }

  private notTaken(group: SendGroup, permit: Permit, result: Ended<"failed">): GroupOutcome {
    const { batches, error, undelivered } = result;
    const { items } = group;
    if (undelivered !== undefined && !isRefusedPermanently(error, undelivered))
      return this.partlySent(group, permit, result, undelivered);
    if (error.kind === "permanent") {
      const wasProbe = this.holds.isProbe(items[0]!);
      this.recent.failed(error);
      this.tellEnd({ items, permit, result: "answered" });
      return this.refusals.answered(group, batches, error, wasProbe);
    }
    const judged = this.failures.blame(group, error);
    this.probeAvoids = items[0];
    this.tellEnd({ items, permit, result: "failure", error: judged.error });
    if (judged.poison === "unproven") this.services.requestHealthCheck();
    // Opening the breaker is logged elsewhere, so only failures with a closed breaker are logged here.
    return this.failures.failed(group, judged, this.breaker.state === "closed");
  }

  /**
   * One of several servers did not take its share. The breaker stands for all servers, so the call counts as a success
   * if any of them took data.
   */
  private partlySent(
    group: SendGroup,
    permit: Permit,
    { batches, error }: Ended<"failed">,
    { marks, isOutage }: Undelivered,
  ): GroupOutcome {
    const wasTaken = marks.includes(0);
    this.tellEnd({ items: group.items, permit, result: wasTaken ? "partial" : "answered" });
    const blamed = this.failures.blamePartly(group, isOutage ? { ...error, blame: "backend" } : error);
    if (wasTaken) group.bisection?.taken(1);
    return this.failures.partlySent(group, batches, blamed, { marks });
  }

  private onHoldEnd(key: string, wasReported: boolean): void {
    if (wasReported) this.ramp.start();
    this.services.onHoldEnd(key);
  }

  /** A breaker that an operator holds is not remembered: after a restart the config decides. */
  private rememberBreaker(to: BreakerState): void {
    const { memory } = this;
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
    const { metrics, logger } = this.services;
    const { successRate } = this.memory.known;
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

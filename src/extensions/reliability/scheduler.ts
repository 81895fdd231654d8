import {
  type AttemptError,
  type Batch,
  type Clock,
  type CompleteSettings,
  type Delivery,
  type Entry,
  type Exporter,
  type Logger,
  limitedLog,
  type PartialRejection,
  Refusal,
} from "../../plugin.js";
import { Alarm } from "./alarm.js";
import { withDelay, withFailure, withRefusal } from "./attempt-record.js";
import { type Backoff, createBackoff } from "./backoff.js";
import { canBisect, Families, halvesOf } from "./bisect.js";
import { Breaker, type BreakerState, type Permit } from "./breaker.js";
import { type Classify, createClassifier } from "./classify.js";
import type { DeadLetterWriter } from "./dead-letter-writer.js";
import { HEAD_LIMITS, Head, type HeadLimits } from "./head.js";
import type { Item, Verdict } from "./item.js";
import type { QueueMetrics } from "./metrics.js";
import { categoryOf, PoisonWatch } from "./poison.js";
import type { Prepare } from "./preparation.js";
import { Ramp } from "./ramp.js";
import { RecentCalls } from "./recent-calls.js";
import { RetryLimiter } from "./retry-limiter.js";
import { type QueueStore, type StoredEntry, StoreError } from "./store/store.js";
import { CallTimeout } from "./timeout.js";
import { EXPIRED, gaveUp, LIMITED, OPEN, partialSuccess } from "./verdicts.js";
import { Waiting } from "./waiting.js";

export interface SchedulerSettings {
  readonly id: string;
  readonly exporter: Exporter;
  readonly store: QueueStore;
  readonly settings: CompleteSettings;
  readonly clock: Clock;
  readonly random: () => number;
  readonly logger: Logger;
  readonly metrics: QueueMetrics;
  readonly deadLetters: DeadLetterWriter;
  /** What is done to replayed entries before every send. */
  readonly prepare: Prepare;
  /** Called whenever an entry has left the queue, and what is there in its place. */
  readonly onLeft: (entry: Entry, parts: readonly StoredEntry[]) => void;
  /** Called whenever entries were read from the store. */
  readonly onLoaded: () => void;
  readonly limits?: HeadLimits;
}

/** More than this many waiting retries, and no first attempts are begun: what waits is kept in memory. */
const MOST_WAITING = 10_000;
/** How long to wait before the store is asked again after it failed. */
const STORE_RETRY_MS = 5000;

/**
 * The queue at work: takes entries in order, sends a bounded number of them at a time and sees each to its end.
 *
 * Invariants:
 * - An entry leaves the queue only by being delivered, dead-lettered or replaced by its parts, and never is in two calls
 *   at once.
 * - What waits for a retry holds no place among the calls, so nothing behind it waits for it.
 * - Whatever happens here, the entry is in the store until its end is written there: breaking off loses nothing.
 */
export class Scheduler {
  readonly breaker: Breaker;
  readonly recent: RecentCalls;
  private readonly own: SchedulerSettings;
  private readonly head: Head;
  private readonly waiting = new Waiting();
  private readonly families = new Families();
  /** To be sent before all others; the last one first. */
  private readonly urgent: Item[] = [];
  private readonly backoff: Backoff;
  private readonly classify: Classify;
  private readonly limiter: RetryLimiter;
  private readonly poison: PoisonWatch;
  private readonly ramp: Ramp;
  private readonly calls: CallTimeout;
  private readonly alarm: Alarm;
  private readonly logStoreTrouble: (error: unknown) => void;
  private readonly logPartial: (partial: PartialRejection) => void;
  private active = 0;
  private isStarted = false;
  private isPaused = false;
  private isPumping = false;
  private isAborted = false;
  private onIdle: (() => void) | undefined;
  private onLoad: ((isGood: boolean) => void) | undefined;

  constructor(own: SchedulerSettings) {
    this.own = own;
    const { clock, logger, settings } = own;
    const retry = settings.retry_on_failure;
    this.breaker = new Breaker(settings.circuit_breaker, clock, (to, from) => this.breakerChanged(to, from));
    this.head = new Head(own.store, clock, own.limits ?? HEAD_LIMITS, (error) => this.loaded(error));
    this.backoff = createBackoff(retry, own.random);
    this.classify = createClassifier(retry);
    this.limiter = new RetryLimiter(retry.rate_limit, clock);
    this.poison = new PoisonWatch(clock);
    this.ramp = new Ramp(settings.replay.ramp, clock);
    this.calls = new CallTimeout(own.id, settings.timeout, clock);
    this.recent = new RecentCalls(clock);
    this.alarm = new Alarm(clock, () => this.pump());
    this.logStoreTrouble = limitedLog(clock, (error, suppressed) =>
      logger.error({ err: error, suppressed }, "the queue cannot be read; will try again"),
    );
    this.logPartial = limitedLog(clock, (partial, suppressed) =>
      logger.warn({ ...partial, suppressed }, "the other side rejected some records"),
    );
  }

  get inFlight(): number {
    return this.active;
  }

  /** Nothing is pending, as far as is known. */
  get isEmpty(): boolean {
    return this.head.isEmpty;
  }

  get paused(): boolean {
    return this.isPaused;
  }

  /** Begins to send what is in the store. */
  start(): void {
    this.isStarted = true;
    this.pump();
  }

  /** An entry has been put into the store. */
  add(stored: StoredEntry, batch: Batch, delivery: Delivery | undefined): void {
    if (this.breaker.state === "open") this.own.metrics.rejected.add(1);
    this.head.add(stored, batch, delivery);
    this.pump();
  }

  /** There are pending entries in the store that were not given to `add`. */
  wake(): void {
    this.head.lookAgain();
    this.pump();
  }

  pause(): void {
    this.isPaused = true;
  }

  resume(): void {
    this.isPaused = false;
    this.pump();
  }

  forceBreaker(state: "open" | "closed" | "auto"): void {
    this.breaker.force(state);
    this.pump();
  }

  /** Gives up the oldest entry that is not being sent, or reads more of them. False when there is none. */
  async dropOldest(verdict: Verdict): Promise<boolean> {
    const item = this.head.take() ?? this.waiting.take(Number.POSITIVE_INFINITY);
    if (item === undefined) return this.head.isBehind && (await this.nextLoad());
    this.active += 1;
    await this.giveUp(item, verdict);
    return true;
  }

  /** Begins nothing new; resolves when nothing is being sent. What waits for a retry stays in the store. */
  async drain(): Promise<void> {
    this.isStarted = false;
    this.alarm.cancel();
    if (this.active > 0 && !this.isAborted) {
      await new Promise<void>((resolve) => {
        this.onIdle = resolve;
      });
    }
    this.calls.stop();
    for (const delivery of this.head.releaseDeliveries()) delivery.accept();
  }

  /** Breaks off what is being sent; it stays in the store. */
  abort(): void {
    this.isStarted = false;
    this.isAborted = true;
    this.alarm.cancel();
    this.calls.abortAll(
      new Refusal("transient", `exporter ${this.own.id} was stopped`, { code: "SLUICE_SHUTTING_DOWN" }),
    );
    for (const delivery of this.head.releaseDeliveries()) delivery.accept();
    this.onIdle?.();
  }

  /** Begins as many calls as may be, and sets the alarm for the rest. */
  private pump(): void {
    if (this.isPumping || !this.isStarted) return;
    this.isPumping = true;
    while (this.isStarted && !this.isPaused && this.hasPlace()) {
      if (!this.hasWork() || !this.next()) break;
    }
    this.isPumping = false;
    const due = this.waiting.nextDue;
    const now = this.own.clock.monotonic();
    if (due !== undefined && due > now) this.alarm.within(due - now);
    if (!this.isPaused) this.head.refill();
  }

  private hasPlace(): boolean {
    return this.active < this.own.settings.sending_queue.num_consumers;
  }

  private hasWork(): boolean {
    if (this.mayCheckHealth()) return true;
    if (this.urgent.length > 0 || this.hasFresh()) return true;
    const due = this.waiting.nextDue;
    return due !== undefined && due <= this.own.clock.monotonic();
  }

  private hasFresh(): boolean {
    return this.head.size > 0 && this.waiting.size < MOST_WAITING;
  }

  /** Takes one entry a step further; false when none may be at the moment. */
  private next(): boolean {
    const wait = this.ramp.waitMs();
    if (wait > 0) {
      this.alarm.within(wait);
      return false;
    }
    const permit = this.breaker.acquire();
    if (permit === undefined) return this.meetOpenBreaker();
    if (permit.probe && this.own.exporter.check !== undefined) return this.checkHealth(permit);
    const item = this.pick(permit.probe);
    if (item !== undefined) this.begin(item, permit);
    else this.breaker.settle(permit, "cancelled");
    return item !== undefined;
  }

  /** An exporter that can be asked how it is, is asked in the background; no entry is needed for a probe. */
  private mayCheckHealth(): boolean {
    return this.own.exporter.check !== undefined && this.breaker.state !== "closed" && !this.breaker.forced;
  }

  private checkHealth(permit: Permit): boolean {
    this.active += 1;
    const finish = (isWell: boolean) => {
      this.own.metrics.checked(isWell);
      this.breaker.settle(permit, this.isAborted ? "cancelled" : isWell ? "success" : "failure");
      this.free();
    };
    this.calls.run(
      async (abort) => this.own.exporter.check?.(abort),
      () => finish(true),
      () => finish(false),
    );
    return true;
  }

  private meetOpenBreaker(): boolean {
    if (this.own.settings.circuit_breaker.on_open === "dead_letter" && this.breaker.state === "open") {
      const item = this.pick(false);
      if (item === undefined) return false;
      this.active += 1;
      this.own.metrics.rejected.add(1);
      const error = this.recent.lastError?.error ?? OPEN;
      void this.giveUp(item, { reason: "circuit_open", category: categoryOf(error), error });
      return true;
    }
    const { waitMs } = this.breaker;
    if (waitMs !== undefined) this.alarm.within(waitMs);
    return false;
  }

  /** The entry to send next. A probe prefers one that has not failed: a bad entry must not keep the breaker open. */
  private pick(probe: boolean): Item | undefined {
    if (probe) return this.pickFresh() ?? this.pickRetry();
    return this.pickRetry() ?? this.pickFresh();
  }

  private pickFresh(): Item | undefined {
    while (this.hasPlace()) {
      const item = this.urgent.pop() ?? (this.hasFresh() ? this.head.take() : undefined);
      if (item === undefined) return undefined;
      if (item.entry.parent !== undefined && !this.families.enter(item)) continue;
      if (this.maySend(item)) return item;
    }
    return undefined;
  }

  private pickRetry(): Item | undefined {
    while (this.hasPlace()) {
      const item = this.waiting.take(this.own.clock.monotonic());
      if (item === undefined || this.maySend(item)) return item;
    }
    return undefined;
  }

  /** False when the entry is dealt with otherwise: expired, or a retry over the rate limit. */
  private maySend(item: Item): boolean {
    const { clock, settings, metrics } = this.own;
    const { max_age } = settings.sending_queue;
    if (item.verdict !== undefined) this.giveUpInPassing(item, item.verdict);
    else if (max_age > 0 && clock.monotonic() - item.bornAt > max_age) {
      const error = item.entry.lastError ?? EXPIRED;
      this.giveUpInPassing(item, { reason: "expired", category: "expired", error });
    } else if (item.entry.calls === 0 || item.hasTurn) return true;
    else {
      const isInTime = this.takeTurn(item);
      (isInTime ? metrics.limiterAllowed : metrics.limiterLimited).add(1);
      return isInTime;
    }
    return false;
  }

  private takeTurn(item: Item): boolean {
    const { on_excess } = this.own.settings.retry_on_failure.rate_limit;
    if (on_excess === "delay") {
      const wait = this.limiter.reserve();
      item.hasTurn = true;
      if (wait === 0) return true;
      this.wait(item, wait);
    } else if (this.limiter.tryTake()) return true;
    else if (on_excess === "dead_letter") {
      const error = item.entry.lastError ?? LIMITED;
      this.giveUpInPassing(item, { reason: "rate_limited", category: categoryOf(error), error });
    } else this.drop(item);
    return false;
  }

  private drop(item: Item): void {
    const { id, items, signal, attempts } = item.entry;
    this.own.metrics.dropped.add(1);
    this.own.metrics.sendFailed[signal].add(items);
    this.own.logger.warn({ id, items, attempts }, "dropped: over the rate limit of retries (on_excess: drop)");
    this.active += 1;
    this.own.store.ack(item.ref);
    this.end(item);
  }

  private begin(item: Item, permit: Permit): void {
    this.active += 1;
    item.hasTurn = false;
    this.ramp.note();
    if (item.entry.calls > 0) this.own.metrics.retried(item.entry.calls);
    if (item.batch !== undefined) return this.send(item, item.batch, permit);
    this.own.store.payload(item.ref).then(
      (batch) => this.send(item, batch, permit),
      (error: unknown) => this.unreadable(item, permit, error),
    );
  }

  private send(item: Item, batch: Batch, permit: Permit): void {
    const prepared = item.entry.replays === 0 ? { batch } : this.own.prepare(item.entry, batch);
    if (prepared.batch === undefined) return this.unfit(item, batch, permit, prepared.error);
    const { batch: sent } = prepared;
    this.calls.run(
      (abort) => this.own.exporter.send(sent, abort, { idempotencyKey: item.entry.id }),
      (partial) => this.sent(item, sent, permit, partial),
      (error) => this.failed(item, batch, permit, error),
    );
  }

  /** A replayed entry that its pipeline's replay steps refuse; the backend has no part in it. */
  private unfit(item: Item, batch: Batch, permit: Permit, error: AttemptError): void {
    this.breaker.settle(permit, "cancelled");
    item.entry = withRefusal(item.entry, error, this.own.clock.now());
    this.giveUpOrTakeApart(item, batch, error);
  }

  private sent(item: Item, batch: Batch, permit: Permit, partial: PartialRejection | undefined): void {
    const { store, metrics } = this.own;
    this.breaker.settle(permit, "success");
    this.poison.succeeded();
    this.recent.sent();
    this.families.delivered(item);
    const rejected = Math.min(partial?.rejected ?? 0, batch.count);
    metrics.sent[batch.signal].add(batch.count - rejected);
    if (partial !== undefined) this.logPartial(partial);
    if (partial !== undefined && rejected > 0) return this.partlyTaken(item, partial, rejected);
    store.ack(item.ref);
    item.delivery?.accept();
    this.end(item);
  }

  /** Which records were rejected is not known, so the whole batch is kept, marked as one that was mostly taken. */
  private partlyTaken(item: Item, partial: PartialRejection, rejected: number): void {
    const { entry } = item;
    const error = partialSuccess(entry, partial, rejected);
    this.own.metrics.partialSuccess.add(1);
    item.entry = withFailure(entry, error, this.own.clock.now(), true);
    item.delivery?.accept({ rejected, message: partial.message });
    void this.giveUp(item, { reason: "partial_success", category: "schema", error }, rejected);
  }

  private failed(item: Item, batch: Batch, permit: Permit, cause: unknown): void {
    if (this.isAborted) {
      this.breaker.settle(permit, "cancelled");
      this.active -= 1;
      return;
    }
    const error = this.classify(cause);
    const at = this.own.clock.now();
    this.recent.failed(error);
    if (error.kind === "permanent") return this.refused(item, batch, permit, error);
    const counts = this.breaker.settle(permit, "failure");
    const isPoison = this.poison.failed(item, error) && counts;
    item.failingSince ??= this.own.clock.monotonic();
    item.entry = withFailure(item.entry, error, at, counts);
    if (counts && this.isExhausted(item)) {
      void this.giveUp(item, { reason: "retry_exhausted", category: categoryOf(error), error });
    } else if (isPoison) void this.giveUp(item, { reason: "poison", category: categoryOf(error), error });
    else this.retryLater(item, error);
  }

  private isExhausted({ entry, failingSince }: Item): boolean {
    const { enabled, max_retries, max_elapsed_time } = this.own.settings.retry_on_failure;
    if (!enabled || entry.attempts > max_retries) return true;
    return max_elapsed_time > 0 && this.own.clock.monotonic() - failingSince! >= max_elapsed_time;
  }

  private retryLater(item: Item, error: AttemptError): void {
    const delay = this.backoff(Math.max(1, item.entry.attempts), error.retryAfterMs);
    item.entry = withDelay(item.entry, delay);
    this.own.store.update(item.ref, item.entry);
    this.head.relax(item);
    this.wait(item, delay);
    this.leave(item);
  }

  private refused(item: Item, batch: Batch, permit: Permit, error: AttemptError): void {
    this.breaker.settle(permit, "answered");
    this.own.metrics.permanent.add(1);
    item.entry = withFailure(item.entry, error, this.own.clock.now(), true);
    this.giveUpOrTakeApart(item, batch, error);
  }

  /** Refused for good: only the bad records of it, if they can be found, and otherwise all of it. */
  private giveUpOrTakeApart(item: Item, batch: Batch, error: AttemptError): void {
    const verdict: Verdict = { reason: "permanent", category: categoryOf(error), error };
    if (item.entry.parent === undefined && !canBisect(item.entry, error)) return void this.giveUp(item, verdict);
    if (this.families.refused(item)) {
      for (const part of this.families.takeRest(item)) this.giveUpInPassing(part, verdict);
      void this.giveUp(item, verdict);
    } else if (canBisect(item.entry, error)) this.takeApart(item, batch, verdict);
    else void this.giveUp(item, verdict);
  }

  private takeApart(item: Item, batch: Batch, verdict: Verdict): void {
    const halves = halvesOf(item.entry, batch);
    if (halves.length < 2) return void this.giveUp(item, verdict);
    this.own.store.replace(item.ref, halves).then(
      (stored) => {
        this.own.metrics.bisections.add(1);
        const deliveries = item.delivery?.split(halves.map((half) => half.batch));
        const parts = stored.map((part, i) => this.head.adopt(part, halves[i]!.batch, deliveries?.[i]));
        this.families.add(item, parts);
        this.end(item, stored);
      },
      (error: unknown) => {
        this.logStoreTrouble(error);
        this.wait(item, STORE_RETRY_MS);
        this.leave(item);
      },
    );
  }

  private giveUpInPassing(item: Item, verdict: Verdict): void {
    this.active += 1;
    void this.giveUp(item, verdict);
  }

  /** Makes a dead letter of an entry that takes one of the places of calls. Never rejects. */
  private async giveUp(item: Item, verdict: Verdict, lost?: number): Promise<void> {
    const written = await this.own.deadLetters.give(item, verdict, lost);
    if (written === "unwritten") {
      item.verdict = verdict;
      this.wait(item, STORE_RETRY_MS);
      return this.leave(item);
    }
    item.delivery?.refuse(gaveUp(item, verdict));
    this.end(item);
  }

  private unreadable(item: Item, permit: Permit, error: unknown): void {
    this.breaker.settle(permit, "cancelled");
    if (error instanceof StoreError && (error.code === "corrupt" || error.code === "not_found")) {
      const { id, items } = item.entry;
      this.own.metrics.unreadable.add(1);
      this.own.logger.error({ id, items, err: error }, "an entry cannot be read; it has been set aside");
      item.delivery?.refuse(new Refusal("transient", "the queue lost it to damage"));
      return this.end(item);
    }
    if (!this.isAborted) this.logStoreTrouble(error);
    this.wait(item, STORE_RETRY_MS);
    this.leave(item);
  }

  private wait(item: Item, ms: number): void {
    item.dueAt = this.own.clock.monotonic() + ms;
    this.waiting.add(item);
  }

  /** The entry is pending no more. */
  private end(item: Item, parts: readonly StoredEntry[] = NO_PARTS): void {
    this.head.done(item);
    this.leave(item);
    this.own.onLeft(item.entry, parts);
  }

  /** An entry does not take a place any more; others may. */
  private leave(item: Item): void {
    const next = this.families.leave(item);
    if (next !== undefined) this.urgent.push(next);
    this.free();
  }

  private free(): void {
    this.active -= 1;
    if (this.active === 0) this.onIdle?.();
    this.pump();
  }

  /** False when the store could not be read. */
  private nextLoad(): Promise<boolean> {
    this.head.refill();
    return new Promise((resolve) => {
      this.onLoad = resolve;
    });
  }

  private loaded(error: unknown): void {
    this.onLoad?.(error === undefined);
    this.onLoad = undefined;
    if (error !== undefined) {
      if (!this.isStarted) return;
      this.logStoreTrouble(error);
      this.alarm.within(STORE_RETRY_MS);
    } else {
      this.own.onLoaded();
      this.pump();
    }
  }

  private breakerChanged(to: BreakerState, from: BreakerState): void {
    const { metrics, logger } = this.own;
    if (to === "open") metrics.opened.add(1);
    if (to === "closed") {
      metrics.closed.add(1);
      this.ramp.begin();
    }
    const error = this.recent.lastError?.error;
    const why = to === "open" && error !== undefined ? { error: error.class, message: error.message } : {};
    const level = to === "open" ? "warn" : "info";
    logger[level]({ from, to, forced: this.breaker.forced, ...why }, `circuit breaker: ${to.replace("_", " ")}`);
  }
}

const NO_PARTS: readonly StoredEntry[] = [];

import {
  type Batch,
  type Clock,
  type Delivery,
  type Exporter,
  type Logger,
  limitedLog,
  Refusal,
} from "../../../plugin.js";
import { type CompleteSettings, type Entry, ERROR_CODES } from "../../../runtime/kit.js";
import type { DeadLetterWriter } from "../dead-letters/dead-letter-writer.js";
import { BREAKER_OPEN } from "../entry/queue-errors.js";
import type { DeadLetterCause, QueueItem } from "../entry/queue-item.js";
import type { QueueMetrics } from "../operate/queue-metrics.js";
import { type AttemptOutcome, AttemptSender } from "../send/attempt-sender.js";
import type { Breaker, Permit } from "../send/breaker.js";
import { CallTimeout } from "../send/call-timeout.js";
import { createClassifier } from "../send/classify.js";
import { EntryCompletion, STORE_RETRY_MS } from "../send/entry-completion.js";
import { OutcomeHandler } from "../send/outcome-handler.js";
import { errorCategory } from "../send/poison-detector.js";
import { RecentCalls } from "../send/recent-calls.js";
import type { PrepareReplayed } from "../send/replay-preparation.js";
import { createWatchedBreaker } from "../send/watched-breaker.js";
import type { QueueStore, StoredEntry } from "../store/store.js";
import { Backlog } from "./backlog.js";
import { maxDelay } from "./backoff.js";
import { expiredCause, Gate, type GateDecision } from "./gate.js";
import { DEFAULT_HEAD_LIMITS, type HeadLimits, type QueueHead } from "./queue-head.js";
import { Ramp } from "./ramp.js";
import { WakeTimer } from "./wake-timer.js";

export interface SchedulerServices {
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
  readonly prepare: PrepareReplayed;
  /** Called whenever an entry has left the queue, and what is there in its place. */
  readonly onEntryEnded: (entry: Entry, parts: readonly StoredEntry[]) => void;
  /** Called whenever entries were read from the store. */
  readonly onLoaded: () => void;
  readonly limits?: HeadLimits;
}

/**
 * The queue at work: takes entries in their turn, sends a bounded number of them at a time and sees each to its end. Data
 * flows one way: backlog -> gate -> breaker -> sender -> outcome -> completion, and back into the backlog only to wait.
 *
 * Invariants:
 * - An entry leaves the queue only by being delivered, dead-lettered or replaced by its parts, and never is in two calls
 *   at once.
 * - What waits for a retry holds no slot, so nothing behind it waits for it.
 * - Whatever happens here, the entry is in the store until its end is written there: breaking off loses nothing.
 */
export class Scheduler {
  readonly breaker: Breaker;
  readonly recent: RecentCalls;
  private readonly services: SchedulerServices;
  private readonly head: QueueHead;
  private readonly backlog: Backlog;
  private readonly gate: Gate;
  private readonly sender: AttemptSender;
  private readonly completion: EntryCompletion;
  private readonly outcomeHandler: OutcomeHandler;
  private readonly ramp: Ramp;
  private readonly wakeTimer: WakeTimer;
  private readonly logStoreError: (error: unknown) => void;
  private usedSlots = 0;
  private isStarted = false;
  private isPaused = false;
  private isPumping = false;
  private isAborted = false;
  private onIdle: (() => void) | undefined;
  private onNextLoad: ((isGood: boolean) => void) | undefined;

  constructor(services: SchedulerServices) {
    this.services = services;
    const { clock, logger, settings, store, metrics, deadLetters } = services;
    this.recent = new RecentCalls(clock);
    this.ramp = new Ramp(settings.replay.ramp, clock);
    const { recent } = this;
    const onClosed = () => this.ramp.start();
    this.breaker = createWatchedBreaker(settings.circuit_breaker, { clock, logger, metrics, recent, onClosed });
    const limits = { maxWaitMs: maxDelay(settings.retry_on_failure), ...(services.limits ?? DEFAULT_HEAD_LIMITS) };
    this.backlog = new Backlog(store, clock, limits, (error) => this.onLoaded(error));
    this.head = this.backlog.head;
    this.gate = new Gate(settings, clock, metrics);
    const classify = createClassifier(settings.retry_on_failure);
    this.sender = new AttemptSender({
      ...services,
      classify,
      timeout: new CallTimeout(services.id, settings.timeout, clock),
    });
    this.wakeTimer = new WakeTimer(clock, () => this.pump());
    this.logStoreError = limitedLog(clock, (error, suppressed) => {
      if (!this.isAborted) logger.error({ err: error, suppressed }, "the queue cannot be read; will try again");
    });
    const { backlog, logStoreError } = this;
    this.completion = new EntryCompletion({
      ...{ store, backlog, deadLetters, clock, logger, metrics, logStoreError },
      acquireSlot: () => this.acquireSlot(),
      onWaiting: (item) => this.releaseItem(item),
      onEnded: (item, parts) => this.onEnded(item, parts),
    });
    const { breaker, completion } = this;
    const onWaiting = (item: QueueItem) => this.releaseItem(item);
    this.outcomeHandler = new OutcomeHandler({
      ...services,
      breaker,
      recent,
      backlog,
      completion,
      onWaiting: onWaiting,
    });
  }

  get inFlight(): number {
    return this.usedSlots;
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
    if (this.breaker.state === "open") this.services.metrics.rejected.add(1);
    this.head.add(stored, batch, delivery);
    this.pump();
  }

  /** There are pending entries in the store that were not given to `add`. */
  rescan(): void {
    this.head.rescan();
    this.pump();
  }

  pause(): void {
    this.isPaused = true;
  }

  resume(): void {
    this.isPaused = false;
    this.pump();
  }

  retryNow(): void {
    this.head.retryNow();
    this.pump();
  }

  forceBreaker(state: "open" | "closed" | "auto"): void {
    this.breaker.force(state);
    this.pump();
  }

  /** Gives up the oldest entry that is not being sent, or reads more of them. False when there is none. */
  async dropOldest(cause: DeadLetterCause): Promise<boolean> {
    const item = this.backlog.takeOldest();
    if (item === undefined) return this.head.hasUnloaded && (await this.loadMore());
    await this.completion.deadLetterWithoutSending(item, cause);
    return true;
  }

  /** Begins nothing new; resolves when nothing is being sent. What waits for a retry stays in the store. */
  async drain(): Promise<void> {
    this.isStarted = false;
    this.wakeTimer.cancel();
    if (this.usedSlots > 0 && !this.isAborted) {
      await new Promise<void>((resolve) => {
        this.onIdle = resolve;
      });
    }
    this.sender.stop();
    for (const delivery of this.head.takeDeliveries()) delivery.accept();
  }

  /** Breaks off what is being sent; it stays in the store. */
  abort(): void {
    this.isStarted = false;
    this.isAborted = true;
    this.wakeTimer.cancel();
    this.sender.abort(
      new Refusal("transient", `exporter ${this.services.id} was stopped`, { code: ERROR_CODES.SLUICE_SHUTTING_DOWN }),
    );
    for (const delivery of this.head.takeDeliveries()) delivery.accept();
    this.onIdle?.();
  }

  /** Begins as many calls as may be, and sets the wake timer for the rest. */
  private pump(): void {
    if (this.isPumping || !this.isStarted) return;
    this.isPumping = true;
    while (this.isStarted && this.hasFreeSlot()) {
      this.backlog.updateNow();
      if (this.deadLetterExpired()) continue;
      if (this.isPaused || !(this.shouldCheckHealth() || this.backlog.hasWork) || !this.startNext()) break;
    }
    this.isPumping = false;
    this.scheduleWake();
    this.head.refill();
  }

  private scheduleWake(): void {
    const { dueIn, oldestQueuedSince } = this.backlog;
    if (dueIn !== undefined && dueIn > 0) this.wakeTimer.wakeWithin(dueIn);
    const { oldestAllowed } = this.gate;
    if (oldestAllowed === undefined || oldestQueuedSince === undefined) return;
    // One that has become too old since this began to look goes next time.
    if (oldestQueuedSince >= oldestAllowed || this.hasFreeSlot())
      this.wakeTimer.wakeWithin(oldestQueuedSince - oldestAllowed + 1);
  }

  /** Dead-letters one entry that is too old, whether anything may be sent or not. False when there is none. */
  private deadLetterExpired(): boolean {
    const { oldestAllowed } = this.gate;
    const item = oldestAllowed === undefined ? undefined : this.backlog.takeQueuedBefore(oldestAllowed);
    if (item !== undefined) void this.completion.deadLetterWithoutSending(item, expiredCause(item));
    return item !== undefined;
  }

  private hasFreeSlot(): boolean {
    return this.usedSlots < this.services.settings.sending_queue.num_consumers;
  }

  /** Takes one entry a step further; false when none may be at the moment. */
  private startNext(): boolean {
    const wait = this.ramp.waitMs();
    if (wait > 0) {
      this.wakeTimer.wakeWithin(wait);
      return false;
    }
    const permit = this.breaker.acquire();
    if (permit === undefined) return this.onOpenBreaker();
    if (permit.probe && this.services.exporter.check !== undefined) return this.checkHealth(permit);
    const item = this.takeSendable(permit.probe);
    if (item !== undefined) this.startAttempt(item, permit);
    else this.breaker.report(permit, "cancelled");
    return item !== undefined;
  }

  /** An exporter that can be asked how it is, is asked in the background; no entry is needed for a probe. */
  private shouldCheckHealth(): boolean {
    return this.services.exporter.check !== undefined && this.breaker.state !== "closed" && !this.breaker.forced;
  }

  private checkHealth(permit: Permit): boolean {
    this.acquireSlot();
    this.sender.checkHealth((isHealthy) => {
      this.services.metrics.healthChecked(isHealthy);
      this.breaker.report(permit, this.isAborted ? "cancelled" : isHealthy ? "success" : "failure");
      this.releaseSlot();
    });
    return true;
  }

  private onOpenBreaker(): boolean {
    if (this.services.settings.circuit_breaker.on_open === "dead_letter" && this.breaker.state === "open") {
      const item = this.takeSendable(false);
      if (item === undefined) return false;
      this.services.metrics.rejected.add(1);
      const error = this.recent.lastError?.error ?? BREAKER_OPEN;
      void this.completion.deadLetterWithoutSending(item, {
        reason: "circuit_open",
        category: errorCategory(error),
        error,
      });
      return true;
    }
    const { waitMs } = this.breaker;
    if (waitMs !== undefined) this.wakeTimer.wakeWithin(waitMs);
    return false;
  }

  /** The entry to send next; those that must not be sent now are dealt with on the way. */
  private takeSendable(probe: boolean): QueueItem | undefined {
    while (this.hasFreeSlot()) {
      const item = this.backlog.next(probe);
      if (item === undefined) return undefined;
      const decision = this.gate.decide(item);
      if (decision.do === "send") return item;
      this.applyDecision(item, decision);
    }
    return undefined;
  }

  private applyDecision(item: QueueItem, decision: Exclude<GateDecision, { do: "send" }>): void {
    if (decision.do === "wait") this.backlog.delay(item, decision.ms);
    else if (decision.do === "give_up") void this.completion.deadLetterWithoutSending(item, decision.verdict);
    else {
      this.acquireSlot();
      this.completion.drop(item);
    }
  }

  private startAttempt(item: QueueItem, permit: Permit): void {
    this.acquireSlot();
    item.hasRetryTurn = false;
    this.ramp.countRequest();
    if (item.entry.calls > 0) this.services.metrics.retried(item.entry.calls);
    this.sender.attempt(item, (outcome) => this.onOutcome(item, permit, outcome));
  }

  private onOutcome(item: QueueItem, permit: Permit, outcome: AttemptOutcome): void {
    if (outcome.kind !== "failed" || !this.isAborted) return this.outcomeHandler.handle(item, permit, outcome);
    this.breaker.report(permit, "cancelled");
    this.usedSlots -= 1;
  }

  /** The entry is pending no more. */
  private onEnded(item: QueueItem, parts: readonly StoredEntry[]): void {
    this.head.remove(item);
    this.releaseItem(item);
    this.services.onEntryEnded(item.entry, parts);
  }

  /** An entry does not take a slot any more; others may. */
  private releaseItem(item: QueueItem): void {
    this.backlog.release(item);
    this.releaseSlot();
  }

  private acquireSlot(): void {
    this.usedSlots += 1;
  }

  private releaseSlot(): void {
    this.usedSlots -= 1;
    if (this.usedSlots === 0) this.onIdle?.();
    this.pump();
  }

  /** False when the store could not be read. */
  private loadMore(): Promise<boolean> {
    this.head.refill();
    return new Promise((resolve) => {
      this.onNextLoad = resolve;
    });
  }

  private onLoaded(error: unknown): void {
    this.onNextLoad?.(error === undefined);
    this.onNextLoad = undefined;
    if (error !== undefined) {
      if (!this.isStarted) return;
      this.logStoreError(error);
      this.wakeTimer.wakeWithin(STORE_RETRY_MS);
    } else {
      this.services.onLoaded();
      this.pump();
    }
  }
}

import {
  type Batch,
  type Clock,
  type CompleteSettings,
  type Delivery,
  type Entry,
  type Exporter,
  type Logger,
  limitedLog,
  Refusal,
} from "../../plugin.js";
import { Alarm } from "./alarm.js";
import { Backlog } from "./backlog.js";
import { longestWait } from "./backoff.js";
import type { Breaker, Permit } from "./breaker.js";
import { Caller, type CallOutcome } from "./caller.js";
import { createClassifier } from "./classify.js";
import type { DeadLetterWriter } from "./dead-letter-writer.js";
import { Endings, STORE_RETRY_MS } from "./endings.js";
import { type Admission, expired, Gate } from "./gate.js";
import { HEAD_LIMITS, type Head, type HeadLimits } from "./head.js";
import type { Item, Verdict } from "./item.js";
import type { QueueMetrics } from "./metrics.js";
import { categoryOf } from "./poison.js";
import type { Prepare } from "./preparation.js";
import { Ramp } from "./ramp.js";
import { RecentCalls } from "./recent-calls.js";
import { Results } from "./results.js";
import type { QueueStore, StoredEntry } from "./store/store.js";
import { CallTimeout } from "./timeout.js";
import { OPEN } from "./verdicts.js";
import { watchedBreaker } from "./watched-breaker.js";

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

/**
 * The queue at work: takes entries in their turn, sends a bounded number of them at a time and sees each to its end. Data
 * flows one way: backlog -> gate -> breaker -> caller -> results -> endings, and back into the backlog only to wait.
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
  private readonly backlog: Backlog;
  private readonly gate: Gate;
  private readonly caller: Caller;
  private readonly endings: Endings;
  private readonly results: Results;
  private readonly ramp: Ramp;
  private readonly alarm: Alarm;
  private readonly logStoreTrouble: (error: unknown) => void;
  private active = 0;
  private isStarted = false;
  private isPaused = false;
  private isPumping = false;
  private isAborted = false;
  private onIdle: (() => void) | undefined;
  private onLoad: ((isGood: boolean) => void) | undefined;

  constructor(own: SchedulerSettings) {
    this.own = own;
    const { clock, logger, settings, store, metrics, deadLetters } = own;
    this.recent = new RecentCalls(clock);
    this.ramp = new Ramp(settings.replay.ramp, clock);
    const { recent } = this;
    const onClosed = () => this.ramp.begin();
    this.breaker = watchedBreaker(settings.circuit_breaker, { clock, logger, metrics, recent, onClosed });
    const limits = { waitMs: longestWait(settings.retry_on_failure), ...(own.limits ?? HEAD_LIMITS) };
    this.backlog = new Backlog(store, clock, limits, (error) => this.loaded(error));
    this.head = this.backlog.head;
    this.gate = new Gate(settings, clock, metrics);
    const classify = createClassifier(settings.retry_on_failure);
    this.caller = new Caller({ ...own, classify, calls: new CallTimeout(own.id, settings.timeout, clock) });
    this.alarm = new Alarm(clock, () => this.pump());
    this.logStoreTrouble = limitedLog(clock, (error, suppressed) => {
      if (!this.isAborted) logger.error({ err: error, suppressed }, "the queue cannot be read; will try again");
    });
    const { backlog, logStoreTrouble } = this;
    this.endings = new Endings({
      ...{ store, backlog, deadLetters, clock, logger, metrics, logStoreTrouble },
      hold: () => this.hold(),
      onLeft: (item) => this.leave(item),
      onEnded: (item, parts) => this.end(item, parts),
    });
    const { breaker, endings } = this;
    const onLeft = (item: Item) => this.leave(item);
    this.results = new Results({ ...own, breaker, recent, backlog, endings, onLeft });
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

  retryNow(): void {
    this.head.hurry();
    this.pump();
  }

  forceBreaker(state: "open" | "closed" | "auto"): void {
    this.breaker.force(state);
    this.pump();
  }

  /** Gives up the oldest entry that is not being sent, or reads more of them. False when there is none. */
  async dropOldest(verdict: Verdict): Promise<boolean> {
    const item = this.backlog.oldest();
    if (item === undefined) return this.head.isBehind && (await this.nextLoad());
    await this.endings.giveUpInPassing(item, verdict);
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
    this.caller.stop();
    for (const delivery of this.head.releaseDeliveries()) delivery.accept();
  }

  /** Breaks off what is being sent; it stays in the store. */
  abort(): void {
    this.isStarted = false;
    this.isAborted = true;
    this.alarm.cancel();
    this.caller.abort(
      new Refusal("transient", `exporter ${this.own.id} was stopped`, { code: "SLUICE_SHUTTING_DOWN" }),
    );
    for (const delivery of this.head.releaseDeliveries()) delivery.accept();
    this.onIdle?.();
  }

  /** Begins as many calls as may be, and sets the alarm for the rest. */
  private pump(): void {
    if (this.isPumping || !this.isStarted) return;
    this.isPumping = true;
    while (this.isStarted && this.hasPlace()) {
      this.backlog.look();
      if (this.giveUpExpired()) continue;
      if (this.isPaused || !(this.mayCheckHealth() || this.backlog.hasWork) || !this.next()) break;
    }
    this.isPumping = false;
    this.setAlarm();
    this.head.refill();
  }

  private setAlarm(): void {
    const { dueIn, bornFirst } = this.backlog;
    if (dueIn !== undefined && dueIn > 0) this.alarm.within(dueIn);
    const { oldestAllowed } = this.gate;
    if (oldestAllowed === undefined || bornFirst === undefined) return;
    // One that has become too old since this began to look goes next time.
    if (bornFirst >= oldestAllowed || this.hasPlace()) this.alarm.within(bornFirst - oldestAllowed + 1);
  }

  /** Whether anything may be sent or not: what is too old goes. False when nothing is. */
  private giveUpExpired(): boolean {
    const { oldestAllowed } = this.gate;
    const item = oldestAllowed === undefined ? undefined : this.backlog.takeBornBefore(oldestAllowed);
    if (item !== undefined) void this.endings.giveUpInPassing(item, expired(item));
    return item !== undefined;
  }

  private hasPlace(): boolean {
    return this.active < this.own.settings.sending_queue.num_consumers;
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
    this.hold();
    this.caller.check((isWell) => {
      this.own.metrics.checked(isWell);
      this.breaker.settle(permit, this.isAborted ? "cancelled" : isWell ? "success" : "failure");
      this.free();
    });
    return true;
  }

  private meetOpenBreaker(): boolean {
    if (this.own.settings.circuit_breaker.on_open === "dead_letter" && this.breaker.state === "open") {
      const item = this.pick(false);
      if (item === undefined) return false;
      this.own.metrics.rejected.add(1);
      const error = this.recent.lastError?.error ?? OPEN;
      void this.endings.giveUpInPassing(item, { reason: "circuit_open", category: categoryOf(error), error });
      return true;
    }
    const { waitMs } = this.breaker;
    if (waitMs !== undefined) this.alarm.within(waitMs);
    return false;
  }

  /** The entry to send next; those that must not be sent now are dealt with on the way. */
  private pick(probe: boolean): Item | undefined {
    while (this.hasPlace()) {
      const item = this.backlog.next(probe);
      if (item === undefined) return undefined;
      const admission = this.gate.judge(item);
      if (admission.do === "send") return item;
      this.turnAway(item, admission);
    }
    return undefined;
  }

  private turnAway(item: Item, admission: Exclude<Admission, { do: "send" }>): void {
    if (admission.do === "wait") this.backlog.wait(item, admission.ms);
    else if (admission.do === "give_up") void this.endings.giveUpInPassing(item, admission.verdict);
    else {
      this.hold();
      this.endings.drop(item);
    }
  }

  private begin(item: Item, permit: Permit): void {
    this.hold();
    item.hasTurn = false;
    this.ramp.note();
    if (item.entry.calls > 0) this.own.metrics.retried(item.entry.calls);
    this.caller.call(item, (outcome) => this.called(item, permit, outcome));
  }

  private called(item: Item, permit: Permit, outcome: CallOutcome): void {
    if (outcome.kind !== "failed" || !this.isAborted) return this.results.called(item, permit, outcome);
    this.breaker.settle(permit, "cancelled");
    this.active -= 1;
  }

  /** The entry is pending no more. */
  private end(item: Item, parts: readonly StoredEntry[]): void {
    this.head.done(item);
    this.leave(item);
    this.own.onLeft(item.entry, parts);
  }

  /** An entry does not take a place any more; others may. */
  private leave(item: Item): void {
    this.backlog.left(item);
    this.free();
  }

  private hold(): void {
    this.active += 1;
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
}

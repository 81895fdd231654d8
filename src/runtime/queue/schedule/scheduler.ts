import process from "node:process";
import type { Clock } from "#contract";
import { abandonedOutcome, type EntryOutcome } from "../entry/outcome.js";
import type { DeadLetterCause, QueueItem, SendGroup } from "../entry/queue-item.js";
import type { AttemptPolicy } from "../send/attempt-policy.js";
import { expiredOutcome } from "../send/gate.js";
import type { Hold, Permit } from "../send/policy.js";
import { STORE_RETRY_MS } from "../store/store.js";
import type { Backlog } from "./backlog.js";

interface SchedulerServices {
  readonly clock: Clock;
  /** Maximum number of calls at a time. */
  readonly maxSlots: number;
  readonly backlog: Backlog;
  readonly policy: AttemptPolicy;
  readonly actions: SlotActions;
  readonly logStoreError: (error: unknown) => void;
  /** Whether entries are sent one by one. */
  readonly isAlone: () => boolean;
}

/** The actions for which the scheduler gives slots. */
export interface SlotActions {
  /** Must call `releaseSlot` at the end. The same holds for `checkHealth`. */
  attempt(group: SendGroup, permit: Permit): void;
  checkHealth(permit: Permit): void;
  /** Carries out an outcome that was decided without a call. */
  carryOut(item: QueueItem, outcome: EntryOutcome): Promise<void> | undefined;
}

/**
 * Gives entries their turns: whenever a slot is free and the policies allow it, the next group of the backlog gets the
 * slot. One timer wakes the scheduler for entries that have to wait. It does not know what happens in a turn.
 *
 * Invariants:
 * - Calls never use more slots than there are. An entry that waits for a retry holds no slot, so entries behind it do
 *   not wait.
 * - Expired entries end even if nothing may be sent.
 */
export class Scheduler {
  private readonly services: SchedulerServices;
  private readonly wakeTimer: WakeTimer;
  private usedSlots = 0;
  private isStarted = false;
  private isPaused = false;
  private isPumping = false;
  private isPumpDue = false;
  private isAborted = false;
  private onIdle: (() => void) | undefined;
  private onNextLoad: ((isGood: boolean) => void) | undefined;

  constructor(services: SchedulerServices) {
    this.services = services;
    this.wakeTimer = new WakeTimer(services.clock, () => this.pump());
  }

  get inFlight(): number {
    return this.usedSlots;
  }

  get paused(): boolean {
    return this.isPaused;
  }

  /** Starts giving turns. */
  start(): void {
    this.isStarted = true;
    this.pump();
  }

  pause(): void {
    this.isPaused = true;
  }

  resume(): void {
    this.isPaused = false;
    this.pump();
  }

  /** Starts nothing new. Resolves when all slots are free. Entries that wait for a retry stay in the store. */
  async drain(): Promise<void> {
    this.isStarted = false;
    this.wakeTimer.cancel();
    if (this.usedSlots === 0 || this.isAborted) return;
    await new Promise<void>((resolve) => {
      this.onIdle = resolve;
    });
  }

  /** Starts nothing new, and does not wait. */
  abort(): void {
    this.isStarted = false;
    this.isAborted = true;
    this.wakeTimer.cancel();
    this.onIdle?.();
  }

  /**
   * Gives as many turns as possible and sets the timer for the rest. To be called when a slot, the backlog, a policy or
   * the time has changed.
   */
  pump(): void {
    if (this.isPumping || !this.isStarted) return;
    const { backlog, policy } = this.services;
    this.isPumping = true;
    while (this.isStarted && this.hasFreeSlot()) {
      backlog.updateNow();
      if (this.endExpired()) continue;
      if (this.isPaused || !(policy.wantsHealthCheck || backlog.hasWork) || !this.startNext()) break;
    }
    this.isPumping = false;
    this.scheduleWake();
    backlog.head.refill();
  }

  /** Pumps when the callbacks that are due have run, such as those that answer the client of an entry just stored. */
  pumpAfterAnswers(): void {
    if (this.isPumpDue) return;
    this.isPumpDue = true;
    process.nextTick(() => {
      this.isPumpDue = false;
      this.pump();
    });
  }

  /** Frees a slot at the end of a turn. */
  releaseSlot(): void {
    this.usedSlots -= 1;
    if (this.usedSlots === 0) this.onIdle?.();
    this.pump();
  }

  /** Ends the item without sending it. It gets a slot even if none is free. */
  endWithoutSending(item: QueueItem, outcome: EntryOutcome): Promise<void> | undefined {
    this.usedSlots += 1;
    const carriedOut = this.services.actions.carryOut(item, outcome);
    if (carriedOut !== undefined) return carriedOut.then(() => this.releaseSlot());
    this.releaseSlot();
    return undefined;
  }

  /**
   * Dead-letters the oldest entry that is not being sent, or reads more entries. Returns false if there is none or it
   * must stay.
   */
  async dropOldest(cause: DeadLetterCause): Promise<boolean> {
    const { backlog } = this.services;
    const item = backlog.takeOldest();
    if (item === undefined) return backlog.head.hasUnloaded && (await this.loadMore());
    // If the entry was already to become a dead letter and could not be written, it keeps its first cause.
    await this.endWithoutSending(item, { kind: "dead_letter", cause: item.deadLetterCause ?? cause });
    return !backlog.head.has(item);
  }

  /** To be called after the store was read, with the error if that failed. */
  onLoaded(error: unknown): void {
    this.onNextLoad?.(error === undefined);
    this.onNextLoad = undefined;
    if (error === undefined) return this.pump();
    if (!this.isStarted) return;
    this.services.logStoreError(error);
    this.wakeTimer.wakeWithin(STORE_RETRY_MS);
  }

  private hasFreeSlot(): boolean {
    return this.usedSlots < this.services.maxSlots;
  }

  /** Ends one expired entry. Returns false if there is none. */
  private endExpired(): boolean {
    const { backlog, policy } = this.services;
    const { oldestAllowed } = policy;
    const item = oldestAllowed === undefined ? undefined : backlog.takeQueuedBefore(oldestAllowed);
    if (item !== undefined) void this.endWithoutSending(item, expiredOutcome(item));
    return item !== undefined;
  }

  /** Starts one turn. Returns false if no turn is possible at the moment. */
  private startNext(): boolean {
    const { policy, actions } = this.services;
    const permit = policy.acquire();
    if ("waitMs" in permit) return this.onHold(permit);
    if (policy.isHealthCheck(permit)) {
      this.usedSlots += 1;
      actions.checkHealth(permit);
      return true;
    }
    const group = this.takeSendable(permit.probe);
    if (group === undefined) policy.giveBack(permit);
    else {
      this.usedSlots += 1;
      actions.attempt(group, permit);
    }
    return group !== undefined;
  }

  private onHold({ waitMs, rejects }: Hold): boolean {
    if (waitMs !== undefined) this.wakeTimer.wakeWithin(waitMs);
    const group = rejects ? this.takeSendable(false) : undefined;
    for (const item of group?.items ?? []) void this.endWithoutSending(item, this.services.policy.rejection());
    return group !== undefined;
  }

  /** Takes out the group to send next. Entries that must not be sent now are ended or delayed on the way. */
  private takeSendable(probe: boolean): SendGroup | undefined {
    const { backlog, policy, isAlone } = this.services;
    while (this.hasFreeSlot()) {
      const next = backlog.next(probe, probe || isAlone() ? 1 : policy.maxEntries, policy.probeAvoids);
      if (next === undefined) return undefined;
      if (policy.isClear(next)) return next;
      const group = this.endUnsendable(next);
      if (group.items.length === 0) continue;
      const hold = policy.blocksGroup(group.items);
      if (hold === undefined) return group;
      for (const item of group.items) {
        if (hold.kind === "end") void this.endWithoutSending(item, hold.outcomeOf(item));
        else backlog[hold.kind](item, hold.ms);
      }
    }
    return undefined;
  }

  /** Ends the entries of a group that must not be sent at all. Returns the others. */
  private endUnsendable(group: SendGroup): SendGroup {
    const endCause = group.bisection?.endCause;
    const endOf = (item: QueueItem): EntryOutcome | undefined =>
      endCause === undefined ? this.services.policy.endOf(item) : abandonedOutcome(item, endCause);
    if (group.items.every((item) => endOf(item) === undefined)) return group;
    const items = group.items.filter((item) => {
      const outcome = endOf(item);
      if (outcome !== undefined) void this.endWithoutSending(item, outcome);
      return outcome === undefined;
    });
    return { ...group, items };
  }

  private scheduleWake(): void {
    const { dueIn, mergeDueIn } = this.services.backlog;
    if (dueIn !== undefined && dueIn > 0) this.wakeTimer.wakeWithin(dueIn);
    if (mergeDueIn !== undefined && mergeDueIn > 0) this.wakeTimer.wakeWithin(mergeDueIn);
    const { oldestAllowed } = this.services.policy;
    if (oldestAllowed === undefined) return;
    const { oldestQueuedSince } = this.services.backlog;
    if (oldestQueuedSince === undefined) return;
    // An entry that expired since the last check is ended at the next wake-up.
    if (oldestQueuedSince >= oldestAllowed || this.hasFreeSlot())
      this.wakeTimer.wakeWithin(oldestQueuedSince - oldestAllowed + 1);
  }

  /** Resolves to false if the store could not be read. */
  private loadMore(): Promise<boolean> {
    this.services.backlog.head.refill();
    return new Promise((resolve) => {
      this.onNextLoad = resolve;
    });
  }
}

/** The longest sleep without a check. Timers cannot wait longer than a few weeks. */
const MAX_DELAY_MS = 3_600_000;

/** One timer for everything that waits. It fires once, at the earliest time that was set. */
class WakeTimer {
  private readonly clock: Clock;
  private readonly onWake: () => void;
  private at = Number.POSITIVE_INFINITY;
  private cancelTimer = () => {};

  constructor(clock: Clock, onWake: () => void) {
    this.clock = clock;
    this.onWake = onWake;
  }

  /** Fires after `ms` at the latest. */
  wakeWithin(ms: number): void {
    const now = this.clock.monotonic();
    const at = now + Math.min(Math.max(0, ms), MAX_DELAY_MS);
    if (at >= this.at) return;
    this.cancelTimer();
    this.at = at;
    this.cancelTimer = this.clock.after(at - now, () => {
      this.at = Number.POSITIVE_INFINITY;
      this.onWake();
    });
  }

  cancel(): void {
    this.cancelTimer();
    this.at = Number.POSITIVE_INFINITY;
  }
}

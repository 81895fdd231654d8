import { type Clock, type Delivery, type Exporter, type Logger, limitedLog } from "#contract";
import { isKeyedEntryId } from "#contract/calls";
import { ERROR_CODES, Refusal } from "#contract/errors";
import type { ConfigNow } from "#contract/operators";
import type { CompleteSettings } from "#contract/schema";
import type { Batch } from "#otlp";
import { Admission, type AdmittedEntries } from "./admit/admission.js";
import { RecentIds } from "./admit/keyed-entries.js";
import type { DeadLetterFilter } from "./dead-letters/dead-letter-filter.js";
import type { DeadLetterWriter } from "./dead-letters/dead-letter-writer.js";
import type { PrepareReplayed } from "./dead-letters/exporter-control.js";
import type { ForwardMarks } from "./dead-letters/forward-marks.js";
import { abandonedOutcome, type EntryEnd, type EntryOutcome, type GroupOutcome } from "./entry/outcome.js";
import {
  type BatchingOf,
  createSendBatchingOf,
  type DeadLetterCause,
  type QueueItem,
  type SendGroup,
} from "./entry/queue-item.js";
import type { QueueMetrics } from "./entry/queue-metrics.js";
import { EntryCompletion } from "./entry-completion.js";
import type { DamageReporter } from "./operate/damage-reporter.js";
import type { ReplayTracker } from "./records/replay-tracker.js";
import { Backlog } from "./schedule/backlog.js";
import { MergeLimit } from "./schedule/merge-limit.js";
import { DEFAULT_HEAD_LIMITS, type HeadLimits } from "./schedule/queue-head.js";
import { Scheduler, type SlotActions } from "./schedule/scheduler.js";
import { AttemptPolicy } from "./send/attempt-policy.js";
import { maxDelay } from "./send/backoff.js";
import { Bisections } from "./send/bisect.js";
import { createClassifier } from "./send/classify.js";
import { type Permit, Trouble } from "./send/policy.js";
import { isSentAlone, sealEntries } from "./send/seal-entries.js";
import { AttemptSender, CallTimeout } from "./send/sender.js";
import type { Suspects } from "./send/suspects.js";
import type { EntryRef, QueueStore, StoredEntry } from "./store/store.js";

interface EntryLifecycleServices {
  readonly id: string;
  readonly exporter: Exporter;
  readonly settings: CompleteSettings;
  /** Returns how the config wants entries to be merged when they are sent. */
  readonly batchingOf: BatchingOf;
  /** Identifies the config that the agent runs with now; a reload changes it. */
  readonly running: ConfigNow;
  readonly clock: Clock;
  readonly random: () => number;
  readonly logger: Logger;
  readonly metrics: QueueMetrics;
  readonly store: QueueStore;
  readonly filter: DeadLetterFilter;
  readonly deadLetters: DeadLetterWriter;
  readonly damageReporter: DamageReporter;
  /** Prepares replayed entries before every send. */
  readonly prepare: PrepareReplayed;
  /** Notified of how replayed entries end. */
  readonly tracker?: ReplayTracker | undefined;
  /** Notified of how forwarded copies of other exporters' dead letters end. */
  readonly forwardMarks?: ForwardMarks | undefined;
  /** How much of the queue is kept in memory. */
  readonly limits?: HeadLimits;
  /** Finds the entry that kills the worker. */
  readonly suspects?: Suspects | undefined;
}

/**
 * The steps of an entry through the queue, in the order of the methods below:
 *
 * 1. admit: a delivery becomes an entry in the store, or is refused.
 * 2. schedule: the entry waits in the backlog until the scheduler gives it a slot.
 * 3. send: one attempt is made, for the entry and others merged with it into one request. The policies turn its result
 *    into an outcome for each entry.
 * 4. outcome: it is carried out, in the store and for the client that waits.
 * 5. end: the entry has left the queue, or waits for its next turn. When this is true of all entries that were sent
 *    together, their slot is free.
 *
 * Invariants:
 * - An entry leaves the queue only by being delivered, dead-lettered, dropped as the config says, or replaced by its
 *   parts. It is never in two calls at once.
 * - The entry stays in the store until its end is written there, so a crash or an abort loses nothing.
 */
export class EntryLifecycle implements AdmittedEntries, SlotActions {
  readonly admission: Admission;
  readonly scheduler: Scheduler;
  readonly policy: AttemptPolicy;
  private readonly services: EntryLifecycleServices;
  private readonly trouble = new Trouble();
  private readonly bisections = new Bisections(this.trouble);
  private readonly mergeLimit = new MergeLimit();
  /** Entries that are being sent, grouped by call. */
  private readonly sending = new Set<readonly QueueItem[]>();
  private onEmpty = () => {};
  /** Whether a health check is under way that a policy has requested. */
  private isCheckingHealth = false;
  private readonly delivered = new RecentIds();
  private readonly backlog: Backlog;
  private readonly sender: AttemptSender;
  private readonly completion: EntryCompletion;

  constructor(services: EntryLifecycleServices) {
    this.services = services;
    const { id, settings, clock, logger, exporter, store } = services;
    const { bisections, trouble } = this;
    const isSealing = exporter.sealsEntries === true;
    const logStoreError = limitedLog(clock, (error, suppressed) => {
      if (!this.sender.isAborted) logger.error({ err: error, suppressed }, "the queue cannot be read; will try again");
    });
    const limits: HeadLimits = {
      maxWaitMs: maxDelay(settings.retry_on_failure),
      maxRetries: settings.retry_on_failure.max_retries,
      batchingOf: createSendBatchingOf(settings, services.batchingOf, isSealing),
      mergeLimit: this.mergeLimit,
      isSealing,
      ...(services.limits ?? DEFAULT_HEAD_LIMITS),
    };
    const backlog = new Backlog(store, clock, limits, bisections, (error) => this.onLoaded(error));
    const policy = new AttemptPolicy({
      ...services,
      bisections,
      trouble,
      canCheckHealth: exporter.check !== undefined,
      requestHealthCheck: () => this.requestHealthCheck(),
      isEmpty: () => backlog.head.isEmpty,
      onHoldEnd: (key) => backlog.endHold(key),
      onBlamed: (items, error) => backlog.settleRefused(items, error),
      hasHeld: (key) => backlog.head.hasHeld(key),
    });
    const classify = createClassifier({
      ...settings.retry_on_failure,
      categories: settings.dead_letter.category_on,
      keepStack: settings.dead_letter.keep_stack,
    });
    const timeout = new CallTimeout(id, settings.timeout, clock);
    const maxSlots = settings.sending_queue.num_consumers;
    this.backlog = backlog;
    this.policy = policy;
    const { delivered } = this;
    this.admission = new Admission({ ...services, delivered, queue: this });
    const isAlone = () => services.suspects?.isWatching(id) === true;
    this.scheduler = new Scheduler({ clock, maxSlots, backlog, policy, isAlone, actions: this, logStoreError });
    this.sender = new AttemptSender({ ...services, classify, timeout });
    this.completion = new EntryCompletion({ ...services, delivered, backlog, logStoreError });
  }

  /** To be called when the store has been opened. Starts giving turns. */
  async start(): Promise<void> {
    await this.policy.onOpened();
    this.scheduler.start();
  }

  /** 1. Admit. The delivery is accepted when it is stored, or, with wait_for_result, when the entry ends. */
  admit(delivery: Delivery, pipeline: string): void {
    this.admission.accept(delivery, pipeline);
  }

  /** 2. Schedule. To be called when an entry has been stored. `delivery` is set if the client waits for the result. */
  add(stored: StoredEntry, batch: Batch, delivery: Delivery | undefined): void {
    this.policy.countArrival();
    this.backlog.head.add(stored, batch, delivery);
    // A lone client gets its answer before the send takes its time. Under load the slots are used at once.
    if (this.admission.isStoring) this.scheduler.pump();
    else this.scheduler.pumpAfterAnswers();
  }

  attach(ref: EntryRef, delivery: Delivery): boolean {
    return this.backlog.head.attach(ref, delivery);
  }

  /** 3. Send. Called by the scheduler when it is this group's turn. */
  attempt(group: SendGroup, permit: Permit): void {
    const isSealed = this.services.exporter.sealsEntries !== true || group.items.every(isSentAlone);
    if (isSealed || group.refusal !== undefined) this.send(group, permit);
    else void this.sealAndSend(group, permit);
  }

  /** Sends one entry in place of the group's entries. If it cannot be stored, nothing is sent. */
  private async sealAndSend(group: SendGroup, permit: Permit): Promise<void> {
    const { items } = group;
    this.sending.add(items);
    const sealed = await sealEntries(this.services, items);
    this.sending.delete(items);
    if (sealed.kind === "unreadable") return this.finish(items, this.policy.decide(group, permit, sealed));
    if (sealed.kind === "gone") return this.forget(items, permit);
    const { stored, batch } = sealed;
    const item = this.backlog.head.addPart(stored, batch, items.length === 1 ? items[0]!.delivery : undefined);
    for (const [i, replaced] of items.entries()) this.replaced(replaced, i === 0 ? [stored] : []);
    this.send({ ...group, items: [item] }, permit);
  }

  private replaced(item: QueueItem, by: readonly StoredEntry[]): void {
    // The sender of a message that came twice must not be told that it is new, as long as the agent can know.
    if (isKeyedEntryId(item.entry.id)) this.delivered.add(item.entry.id);
    this.backlog.head.remove(item);
    this.backlog.release(item);
    this.admission.entryRemoved(item.entry, by);
  }

  /** The store no longer has these entries. It may have one in their place that is not known in memory. */
  private forget(items: readonly QueueItem[], permit: Permit): void {
    for (const item of items) this.replaced(item, []);
    this.policy.giveBack(permit);
    this.scheduler.releaseSlot();
    this.rescan();
  }

  private send(group: SendGroup, permit: Permit): void {
    const { items } = group;
    if (group.refusal === undefined) this.policy.countAttempt(group);
    this.sending.add(items);
    const now = this.services.clock.now();
    for (const item of items) item.sentAt = now;
    const send = (onResult?: () => void) =>
      this.sender.attempt(group, (result) => {
        onResult?.();
        this.sending.delete(items);
        const isComplete = result.kind === "delivered" && result.partial === undefined;
        if (!isComplete || this.mergeLimit.isLearning) this.mergeLimit.onResult(group, result);
        this.finish(items, this.policy.decide(group, permit, result));
      });
    const { suspects, id } = this.services;
    if (suspects?.isWatching(id)) suspects.run(id, items[0]!.entry.id, send);
    else send();
  }

  /** Releases the slot when the outcome of every entry has been carried out. */
  private finish(items: readonly QueueItem[], { outcomes, regrouped }: GroupOutcome): void {
    let open = 1;
    const onCarriedOut = () => {
      open -= 1;
      if (open === 0) this.scheduler.releaseSlot();
    };
    for (const [i, outcome] of outcomes.entries()) {
      const carriedOut = outcome === undefined ? undefined : this.carryOut(items[i]!, outcome);
      if (carriedOut === undefined) continue;
      open += 1;
      void carriedOut.then(onCarriedOut);
    }
    this.backlog.addUrgent(regrouped);
    onCarriedOut();
  }

  /**
   * 4. Outcome. Carries out the outcome of an attempt, or one decided without an attempt. Returns a promise if the
   * store must be awaited.
   */
  carryOut(item: QueueItem, outcome: EntryOutcome): Promise<void> | undefined {
    if (outcome.kind === "end_bisection") this.endParts(item, outcome.cause);
    const end = this.completion.complete(item, outcome);
    if (!("isPending" in end)) return end.then((later) => this.end(item, later));
    this.end(item, end);
    return undefined;
  }

  /** 5. End. */
  private end(item: QueueItem, end: EntryEnd): void {
    if (!end.isPending) this.backlog.head.remove(item);
    this.backlog.release(item);
    if (!end.isPending) this.admission.entryRemoved(item.entry, end.parts);
    this.checkEmpty();
  }

  /** Ends the unsent parts of the item's bisection. */
  private endParts(item: QueueItem, cause: DeadLetterCause): void {
    for (const part of this.bisections.takeRemaining(item))
      void this.scheduler.endWithoutSending(part, abandonedOutcome(part, cause));
  }

  /** Called by the scheduler when a health check is due instead of a send. */
  checkHealth(permit: Permit): void {
    this.sender.checkHealth((error) => {
      this.policy.health.ended(permit, error, this.sender.isAborted);
      this.scheduler.releaseSlot();
    });
  }

  /** A policy must know whether the backend works. This takes no slot and changes nothing else. */
  private requestHealthCheck(): void {
    if (this.services.exporter.check === undefined || this.isCheckingHealth) return;
    this.isCheckingHealth = true;
    this.sender.checkHealth((error) => {
      this.isCheckingHealth = false;
      if (!this.sender.isAborted) this.policy.health.count(error === undefined);
    });
  }

  /** Whether the entry with this id is being sent. */
  isInFlight(id: string): boolean {
    for (const items of this.sending) if (items.some(({ entry }) => entry.id === id)) return true;
    return false;
  }

  /** Whether no entry is known to be pending. */
  get isEmpty(): boolean {
    return this.backlog.head.isEmpty;
  }

  get waitingRetries(): number {
    return this.backlog.waitingRetries;
  }

  /** Milliseconds until the next retry is due; undefined if no entry waits for a retry. */
  get nextRetryIn(): number | undefined {
    return this.backlog.nextRetryIn;
  }

  dropOldest(cause: DeadLetterCause): Promise<boolean> {
    return this.scheduler.dropOldest(cause);
  }

  /** To be called when the store has pending entries that did not come through `admit`. */
  rescan(): void {
    this.backlog.head.rescan();
    this.scheduler.pump();
  }

  /** Resolves when no entry is pending and none is being sent. */
  whenEmpty(): Promise<void> {
    return new Promise((resolve) => {
      this.onEmpty = resolve;
      this.checkEmpty();
    });
  }

  private checkEmpty(): void {
    if (this.sending.size === 0 && this.services.store.stats.pending.entries === 0) this.onEmpty();
  }

  /** Makes all waiting retries due now. */
  retryNow(): void {
    this.backlog.head.retryNow();
    this.policy.holds.retryNow();
    this.scheduler.pump();
  }

  forceBreaker(state: "open" | "closed" | "auto"): void {
    this.policy.breaker.force(state);
    this.scheduler.pump();
  }

  /**
   * Starts nothing new. Resolves when nothing is being stored or sent. Entries that wait for a retry stay in the store.
   */
  async drain(): Promise<void> {
    await this.admission.drain();
    this.backlog.flush();
    this.scheduler.pump();
    await this.scheduler.drain();
    // Only a health check can still be under way.
    this.abortCalls();
    this.acceptWaiting();
  }

  /** Aborts all calls. Their entries stay in the store. */
  abort(): void {
    this.admission.abort();
    this.scheduler.abort();
    this.abortCalls();
    this.acceptWaiting();
  }

  private abortCalls(): void {
    const message = `exporter ${this.services.id} was stopped`;
    this.sender.abort(new Refusal("transient", message, { code: ERROR_CODES.SLUICE_SHUTTING_DOWN }));
  }

  /**
   * Accepts deliveries that wait for a result which will not come any more. Their data is in the store. Watches of
   * messages learn nothing: the entries have not ended.
   */
  private acceptWaiting(): void {
    for (const delivery of this.backlog.head.takeDeliveries()) if (!delivery.origin.watch) delivery.accept();
  }

  private onLoaded(error: unknown): void {
    if (error === undefined && this.services.damageReporter.reportNewCorrupt()) this.admission.recount();
    this.scheduler.onLoaded(error);
  }
}

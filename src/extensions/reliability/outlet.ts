import {
  Batcher,
  type CompleteSettings,
  type Delivery,
  type Entry,
  type ExporterStatus,
  limitedLog,
  type Outlet,
  type OutletSettings,
  Refusal,
  type Setback,
  StartError,
} from "../../plugin.js";
import { Capacity, EMPTY, type Size } from "./capacity.js";
import type { ExporterControl } from "./control.js";
import { DeadLetterWriter } from "./dead-letter-writer.js";
import { createDeadLetterFilter, type DeadLetterFilter } from "./filter.js";
import type { HeadLimits } from "./head.js";
import type { Verdict } from "./item.js";
import { QueueMetrics } from "./metrics.js";
import { type Incoming, Overflow, QUEUE_FULL } from "./overflow.js";
import { createPreparation, type Prepare } from "./preparation.js";
import { Scheduler } from "./scheduler.js";
import { statusOf } from "./status.js";
import { type NewEntry, type OpenReport, type QueueStore, type StoredEntry, StoreError } from "./store/store.js";

export interface QueueOutletSettings extends Omit<OutletSettings, "settings" | "typeDefaults"> {
  readonly settings: CompleteSettings;
  /** Merge before the queue: sending_queue.batch is written somewhere. */
  readonly isBatching: boolean;
  /** `onDamage` is to be told when the store had to be opened again, or set an entry aside, while in use. */
  readonly createStore: (onDamage: (report: OpenReport) => void) => QueueStore;
  /** Names the config the agent runs with. */
  readonly generation: string;
  /** How much of the queue is kept in memory. */
  readonly limits?: HeadLimits;
  /** Looks after its dead letters; gives the function that stops it. */
  readonly startKeeper: (control: ExporterControl) => () => void;
}

const RETRY_AFTER_MS = 5000;

/**
 * An exporter's queue as the end of a pipeline: a delivery is accepted when the store has it. Everything after that is
 * the scheduler's.
 */
export class QueueOutlet implements Outlet, ExporterControl {
  readonly id: string;
  readonly settings: CompleteSettings;
  readonly store: QueueStore;
  readonly prepare: Prepare;
  replayRate: number;
  private readonly own: QueueOutletSettings;
  private readonly metrics: QueueMetrics;
  private readonly scheduler: Scheduler;
  private readonly deadLetters: DeadLetterWriter;
  private readonly capacity: Capacity;
  private readonly overflow: Overflow;
  private readonly filter: DeadLetterFilter;
  /** By pipeline. */
  private readonly batchers = new Map<string, Batcher>();
  private readonly logWriteFailure: (error: unknown) => void;
  /** Deliveries whose put is under way, and those of them that are put into the queue, not beside it as dead letters. */
  private readonly putting = new Set<Delivery>();
  private readonly queueing = new Set<Delivery>();
  private onNonePutting: (() => void) | undefined;
  private onPut: (() => void) | undefined;
  private isAborted = false;
  private stopKeeper = () => {};
  private knownCorrupt = 0;

  constructor(own: QueueOutletSettings) {
    this.own = own;
    const { id, settings, clock, logger } = own;
    const store = own.createStore((report) => this.damaged(report));
    this.id = id;
    this.settings = settings;
    this.store = store;
    this.prepare = createPreparation(own.prepareReplay);
    this.replayRate = settings.replay.rate;
    this.metrics = new QueueMetrics(id, own.metrics);
    this.filter = createDeadLetterFilter(settings.dead_letter.filter);
    const { filter, metrics } = this;
    this.deadLetters = new DeadLetterWriter({ store, filter, clock, logger, metrics });
    this.capacity = new Capacity(settings.sending_queue);
    this.scheduler = new Scheduler({
      ...own,
      store,
      metrics,
      deadLetters: this.deadLetters,
      prepare: this.prepare,
      onLeft: (entry, parts) => this.left(entry, parts),
      onLoaded: () => this.lookForDamage(),
    });
    this.overflow = new Overflow({
      queue: settings.sending_queue,
      fits: ({ delivery }) => this.capacity.fits(sizeOf(delivery)),
      put: (incoming) => this.put(incoming),
      refuse: (incoming, refusal) => this.refuse(incoming, refusal),
      deadLetter: (incoming) => this.keepOut(incoming),
      dropOldest: () => this.dropOldest(),
    });
    this.logWriteFailure = limitedLog(clock, (error, suppressed) =>
      logger.error({ err: error, suppressed }, "the queue cannot be written; refusing what comes"),
    );
  }

  async start(): Promise<void> {
    this.report(await this.open());
    this.capacity.reset(this.store.stats.pending);
    this.knownCorrupt = this.store.stats.corrupt;
    this.watch();
    this.stopKeeper = this.own.startKeeper(this);
    this.scheduler.start();
  }

  /** An exporter whose breaker is open is available again once nothing is left in its queue to try it with. */
  get isAvailable(): boolean {
    const { paused, breaker, isEmpty } = this.scheduler;
    return !paused && (breaker.state === "closed" || (!breaker.forced && isEmpty));
  }

  accept(delivery: Delivery, pipeline: string): void {
    if (delivery.setback !== undefined) this.setAside({ delivery, pipeline }, delivery.setback);
    else if (this.own.isBatching) this.batcherOf(pipeline).add(delivery);
    else this.enqueue(delivery, pipeline);
  }

  async drain(): Promise<void> {
    for (const batcher of this.batchers.values()) batcher.flush();
    this.overflow.stop(stopped(this.id));
    if (this.putting.size > 0 && !this.isAborted) {
      await new Promise<void>((resolve) => {
        this.onNonePutting = resolve;
      });
    }
    await this.scheduler.drain();
  }

  abort(): void {
    this.isAborted = true;
    const refusal = stopped(this.id);
    for (const batcher of this.batchers.values()) for (const delivery of batcher.discard()) delivery.refuse(refusal);
    this.overflow.stop(refusal);
    for (const delivery of this.putting) delivery.refuse(refusal);
    this.scheduler.abort();
    this.onNonePutting?.();
  }

  async stop(): Promise<void> {
    this.stopKeeper();
    this.deadLetters.stop();
    this.metrics.stop();
    await this.store.close();
  }

  pause(): void {
    this.scheduler.pause();
  }

  resume(): void {
    this.scheduler.resume();
  }

  forceBreaker(state: "open" | "closed" | "auto"): void {
    this.scheduler.forceBreaker(state);
  }

  wake(entries: readonly Entry[]): void {
    for (const entry of entries) this.capacity.add(entry);
    this.scheduler.wake();
  }

  status(): ExporterStatus {
    const { id, replayRate } = this;
    const { paused, inFlight, recent, breaker } = this.scheduler;
    const { state, forced, since } = breaker;
    const { stats } = this.store;
    return statusOf({ id, stats, paused, inFlight, recent, breaker: { state, forced, since }, replayRate });
  }

  private enqueue(delivery: Delivery, pipeline: string): void {
    const isFree = this.overflow.isEmpty && this.capacity.fits(sizeOf(delivery));
    if (isFree) this.put({ delivery, pipeline });
    else this.overflow.add({ delivery, pipeline });
  }

  private put({ delivery, pipeline }: Incoming, asDeadLetter?: Verdict): void {
    const { batch } = delivery;
    this.putting.add(delivery);
    if (asDeadLetter === undefined) {
      this.queueing.add(delivery);
      this.capacity.add(sizeOf(delivery));
    }
    this.store.put(this.newEntry(delivery, pipeline, asDeadLetter)).then(
      (stored) => {
        this.putDone(delivery);
        if (asDeadLetter !== undefined) return this.keptOut(delivery, stored.entry, asDeadLetter);
        const waits = this.settings.sending_queue.wait_for_result;
        if (!waits) delivery.accept();
        this.scheduler.add(stored, batch, waits ? delivery : undefined);
        this.onPut?.();
      },
      (error: unknown) => {
        this.putDone(delivery);
        if (asDeadLetter === undefined) this.capacity.remove(sizeOf(delivery));
        this.onPut?.();
        this.logWriteFailure(error);
        this.refuse({ delivery, pipeline }, unwritten(error));
      },
    );
  }

  /** What is on its way into the store cannot be given up yet: then it waits for that. */
  private async dropOldest(): Promise<boolean> {
    const wasPutting = this.putting.size > 0;
    if (await this.scheduler.dropOldest(QUEUE_FULL)) return true;
    if (this.putting.size > 0) {
      await new Promise<void>((resolve) => {
        this.onPut = resolve;
      });
    }
    return wasPutting;
  }

  private left(entry: Entry, parts: readonly StoredEntry[]): void {
    this.capacity.remove(entry);
    for (const part of parts) this.capacity.add(part.entry);
    // After damage it is only roughly known; with nothing left, it is known exactly.
    if (this.putting.size === 0 && this.scheduler.isEmpty) this.capacity.reset(EMPTY);
    this.overflow.onRoom();
  }

  private putDone(delivery: Delivery): void {
    this.putting.delete(delivery);
    this.queueing.delete(delivery);
    if (this.putting.size === 0) this.onNonePutting?.();
  }

  private newEntry({ batch, origin }: Delivery, pipeline: string, asDeadLetter: Verdict | undefined): NewEntry {
    const { clock, generation } = this.own;
    const source = { receiver: origin.receiver, transport: origin.transport };
    const fresh = { batch, pipeline, source, enqueuedAt: clock.now(), generation };
    if (asDeadLetter === undefined) return fresh;
    const { failure } = this.deadLetters.failureOf(this.id, batch, asDeadLetter);
    return { ...fresh, fields: { state: "failed", failure } };
  }

  /** There is no room and the newest has to go: to the dead letters, or nowhere if the filter says so. */
  private keepOut(incoming: Incoming): void {
    const { delivery } = incoming;
    this.metrics.enqueueFailed[delivery.batch.signal].add(delivery.batch.count);
    this.keepDead(incoming, QUEUE_FULL);
  }

  /** A processor took it out of its pipeline. */
  private setAside({ delivery, pipeline }: Incoming, setback: Setback): void {
    const verdict = verdictOf(setback);
    if (!setback.onlyIfAlwaysSaved) return this.keepDead({ delivery, pipeline }, verdict);
    const saved = this.filter.alwaysSaved(delivery.batch);
    if (saved === undefined) delivery.accept();
    else this.put({ delivery: delivery.with(saved), pipeline }, verdict);
  }

  private keepDead(incoming: Incoming, verdict: Verdict): void {
    const { delivery } = incoming;
    if (this.filter.judge(delivery.batch) === "save") return this.put(incoming, verdict);
    this.metrics.filteredOut.add(1);
    delivery.accept();
  }

  private keptOut(delivery: Delivery, entry: Entry, verdict: Verdict): void {
    this.deadLetters.tell(entry, verdict);
    delivery.accept();
  }

  private refuse({ delivery }: Incoming, refusal: Refusal): void {
    this.metrics.enqueueFailed[delivery.batch.signal].add(delivery.batch.count);
    delivery.refuse(refusal);
  }

  private batcherOf(pipeline: string): Batcher {
    let batcher = this.batchers.get(pipeline);
    if (batcher === undefined) {
      const {
        flush_timeout: timeoutMs,
        min_size: minSize,
        max_size: maxSize,
        sizer,
      } = this.settings.sending_queue.batch;
      const settings = { timeoutMs, minSize, maxSize, sizer };
      batcher = new Batcher(settings, this.own.clock, (merged) => this.enqueue(merged, pipeline));
      this.batchers.set(pipeline, batcher);
    }
    return batcher;
  }

  private async open(): Promise<OpenReport> {
    try {
      return await this.store.open();
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      throw new StartError(`the queue of exporter ${this.id} cannot be opened: ${message}`, [], { cause: error });
    }
  }

  /** What is known of the store may be wrong now. */
  private damaged(report: OpenReport): void {
    this.report(report);
    this.recount();
    this.scheduler.wake();
  }

  /** By what the store says, and what is on its way there; what it has still to forget is counted too. */
  private recount(): void {
    this.capacity.reset(this.store.stats.pending);
    for (const delivery of this.queueing) this.capacity.add(sizeOf(delivery));
  }

  private report({ lostEntries, corruptEntries, setAside }: OpenReport): void {
    const { logger, metrics } = this.own;
    const damaged = lostEntries + corruptEntries;
    if (damaged === 0 && setAside === undefined) return;
    this.metrics.unreadable.add(corruptEntries);
    const description = "Entries that were in the queue before the agent started and are gone.";
    metrics.counter("sluice_queue_lost_entries", { description }, { exporter: this.id }).add(lostEntries);
    logger.error({ lostEntries, corruptEntries, setAside }, "the queue was damaged; what can be read goes on");
  }

  /** Entries that the store could not read while it looked for the next ones: it has set them aside. */
  private lookForDamage(): void {
    const { corrupt } = this.store.stats;
    const entries = corrupt - this.knownCorrupt;
    this.knownCorrupt = corrupt;
    if (entries <= 0) return;
    this.recount();
    this.metrics.unreadable.add(entries);
    this.own.logger.error({ entries }, "entries of the queue were damaged and have been set aside; the others go on");
  }

  private watch(): void {
    const { store, scheduler, settings } = this;
    const { clock, signals = [] } = this.own;
    const { sizer, queue_size: capacity, max_bytes: byteCapacity } = settings.sending_queue;
    const unit = sizer === "requests" ? "entries" : sizer;
    const sinceOldest = (at: number | undefined) => (at === undefined ? 0 : Math.max(0, clock.now() - at) / 1000);
    this.metrics.watch({
      signals,
      size: () => store.stats.pending[unit],
      capacity,
      byteCapacity,
      bytes: () => store.stats.pending.bytes,
      inFlight: () => scheduler.inFlight,
      breaker: () => scheduler.breaker.state,
      deadLetters: () => store.stats.failed.entries,
      deadLetterBytes: () => store.stats.failed.bytes,
      corrupt: () => store.stats.corrupt,
      oldestDeadLetterSeconds: () => sinceOldest(store.stats.oldestFailedAt),
    });
  }
}

function verdictOf({ reason, category, code, message }: Setback): Verdict {
  return { reason, category, error: { kind: "permanent", class: code, code, message } };
}

function sizeOf({ batch }: Delivery): Size {
  return { items: batch.count, bytes: batch.byteLength };
}

function stopped(id: string): Refusal {
  return new Refusal("transient", `exporter ${id} is stopping`, { code: "SLUICE_SHUTTING_DOWN", retryAfterMs: 1000 });
}

function unwritten(error: unknown): Refusal {
  const isFull = error instanceof StoreError && error.code === "full";
  const message = `the queue cannot be written${isFull ? ": the disk is full" : ""}`;
  return new Refusal("transient", message, {
    code: "SLUICE_QUEUE_WRITE",
    retryAfterMs: RETRY_AFTER_MS,
    cause: error,
  });
}

import {
  type CompleteSettings,
  type Delivery,
  type Entry,
  type ExporterStatus,
  type Outlet,
  type OutletSettings,
  StartError,
} from "../../plugin.js";
import type { ExporterControl } from "./control.js";
import { Damage } from "./damage.js";
import { DeadLetterWriter } from "./dead-letter-writer.js";
import { Entrance } from "./entrance.js";
import { createDeadLetterFilter } from "./filter.js";
import type { HeadLimits } from "./head.js";
import { QueueMetrics } from "./metrics.js";
import { createPreparation, type Prepare } from "./preparation.js";
import { Scheduler } from "./scheduler.js";
import { statusOf } from "./status.js";
import type { OpenReport, QueueStore, StoreError } from "./store/store.js";

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

/**
 * An exporter's queue as the end of a pipeline: what comes goes through the entrance into the store, and the scheduler
 * sees it to its end. Put together here, opened, closed and shown to operators.
 */
export class QueueOutlet implements Outlet, ExporterControl {
  readonly id: string;
  readonly settings: CompleteSettings;
  readonly store: QueueStore;
  readonly prepare: Prepare;
  replayRate: number;
  private readonly own: QueueOutletSettings;
  private readonly metrics: QueueMetrics;
  private readonly entrance: Entrance;
  private readonly scheduler: Scheduler;
  private readonly deadLetters: DeadLetterWriter;
  private readonly damage: Damage;
  private stopKeeper = () => {};

  constructor(own: QueueOutletSettings) {
    this.own = own;
    const { id, settings, clock, logger } = own;
    const store = own.createStore((report) => this.damaged(report));
    this.id = id;
    this.settings = settings;
    this.store = store;
    this.prepare = createPreparation(own.prepareReplay);
    this.replayRate = settings.replay.rate;
    const metrics = new QueueMetrics(id, own.metrics);
    this.metrics = metrics;
    const filter = createDeadLetterFilter(settings.dead_letter.filter);
    const onUnreadable = (entry: Entry, cause: StoreError) => this.damage.found(entry, cause);
    const deadLetters = new DeadLetterWriter({ store, filter, clock, logger, metrics, onUnreadable });
    this.deadLetters = deadLetters;
    this.damage = new Damage({ id, store, logger, queueMetrics: metrics, metrics: own.metrics });
    this.scheduler = new Scheduler({
      ...own,
      ...{ store, metrics, deadLetters, prepare: this.prepare },
      onLeft: (entry, parts) => this.entrance.left(entry, parts),
      onLoaded: () => {
        if (this.damage.look()) this.entrance.recount();
      },
    });
    this.entrance = new Entrance({ ...own, metrics, store, filter, deadLetters, scheduler: this.scheduler });
  }

  async start(): Promise<void> {
    this.damage.report(await this.open());
    this.entrance.recount();
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
    this.entrance.accept(delivery, pipeline);
  }

  async drain(): Promise<void> {
    await this.entrance.drain();
    await this.scheduler.drain();
  }

  abort(): void {
    this.entrance.abort();
    this.scheduler.abort();
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

  retryNow(): void {
    this.scheduler.retryNow();
  }

  forceBreaker(state: "open" | "closed" | "auto"): void {
    this.scheduler.forceBreaker(state);
  }

  wake(entries: readonly Entry[]): void {
    this.entrance.joined(entries);
    this.scheduler.wake();
  }

  status(): ExporterStatus {
    const { id, replayRate } = this;
    const { paused, inFlight, recent, breaker } = this.scheduler;
    const { state, forced, since } = breaker;
    const { stats } = this.store;
    return statusOf({ id, stats, paused, inFlight, recent, breaker: { state, forced, since }, replayRate });
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
    this.damage.report(report);
    this.entrance.recount();
    this.scheduler.wake();
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

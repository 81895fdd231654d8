import type { Delivery, MessageWatch } from "#contract";
import { StartError } from "#contract/errors";
import type { DeadLetterLanguage, Entry, ExporterStatus } from "#contract/operations";
import type { Batching, ConfigNow, Outlet, OutletSettings } from "#contract/operators";
import type { CompleteSettings } from "#contract/schema";
import type { DeadLetterWriter } from "./dead-letters/dead-letter-writer.js";
import type { ExporterControl, PrepareReplayed } from "./dead-letters/exporter-control.js";
import type { ForwardMarks } from "./dead-letters/forward-marks.js";
import type { DeadLetterForwarder } from "./dead-letters/forwarder.js";
import { mayBeSecret } from "./entry/client-metadata.js";
import type { BatchingOf } from "./entry/queue-item.js";
import type { QueueMetrics } from "./entry/queue-metrics.js";
import { EntryLifecycle } from "./entry-lifecycle.js";
import type { DamageReporter } from "./operate/damage-reporter.js";
import { exporterStatus } from "./operate/exporter-status.js";
import { createQueueServices } from "./operate/queue-services.js";
import type { ReplayTracker } from "./records/replay-tracker.js";
import type { HeadLimits } from "./schedule/queue-head.js";
import { createReplayPreparation } from "./send/replay-preparation.js";
import { type Suspects, setAsideCrashLoop } from "./send/suspects.js";
import type { OpenReport, QueueStore, StoredEntry } from "./store/store.js";

export interface QueueOutletSettings extends Omit<OutletSettings, "settings" | "typeDefaults"> {
  readonly settings: CompleteSettings;
  readonly language: DeadLetterLanguage;
  /** Whether sending_queue.batch is configured anywhere. It applies to all pipelines then. */
  readonly isBatching: boolean;
  /** `onDamage` must be called when the store was reopened, or set an entry aside, while in use. */
  readonly createStore: (onDamage: (report: OpenReport) => void) => QueueStore;
  /** Identifies the config that the agent runs with now; a reload changes it. */
  readonly running: ConfigNow;
  /** How much of the queue is kept in memory. */
  readonly limits?: HeadLimits;
  readonly isEncrypted?: boolean;
  /** Notified of how replayed entries end. */
  readonly tracker?: ReplayTracker | undefined;
  /** Copies dead letters into the queue of another exporter. */
  readonly forwarder?: DeadLetterForwarder | undefined;
  /** Notified of how forwarded copies of other exporters' dead letters end. */
  readonly forwardMarks?: ForwardMarks | undefined;
  /** Finds the entry that kills the worker. */
  readonly suspects?: Suspects | undefined;
  /** Starts the maintenance of dead letters. Returns the function that stops it. */
  readonly startMaintenance: (control: ExporterControl) => () => void | Promise<void>;
}

/**
 * An exporter's queue, as the end of a pipeline and as operators see it. It opens and closes the store. The steps of an
 * entry from its delivery to its end are in entry-lifecycle.ts.
 */
export class QueueOutlet implements Outlet, ExporterControl {
  readonly id: string;
  readonly settings: CompleteSettings;
  readonly store: QueueStore;
  readonly prepare: PrepareReplayed;
  readonly hasPipeline: ExporterControl["hasPipeline"];
  readonly pipelines: ExporterControl["pipelines"];
  replayRate: number;
  private readonly outletSettings: QueueOutletSettings;
  private readonly metrics: QueueMetrics;
  private readonly lifecycle: EntryLifecycle;
  private readonly deadLetters: DeadLetterWriter;
  private readonly damageReporter: DamageReporter;
  private stopMaintenance: () => void | Promise<void> = () => {};
  private isRemoved = false;

  constructor(outletSettings: QueueOutletSettings) {
    this.outletSettings = outletSettings;
    const { id, settings } = outletSettings;
    const store = outletSettings.createStore((report) => this.onDamage(report));
    this.id = id;
    this.settings = settings;
    this.store = store;
    this.prepare = createReplayPreparation(outletSettings.prepareReplay, outletSettings.pipelines);
    this.hasPipeline = outletSettings.hasPipeline;
    this.pipelines = outletSettings.pipelines;
    this.replayRate = settings.replay.rate;
    const { metrics, damageReporter, filter, deadLetters } = createQueueServices(outletSettings, store);
    const { prepare } = this;
    this.metrics = metrics;
    this.damageReporter = damageReporter;
    this.deadLetters = deadLetters;
    this.lifecycle = new EntryLifecycle({
      ...outletSettings,
      store,
      metrics,
      filter,
      deadLetters,
      damageReporter,
      prepare,
      batchingOf: createBatchingOf(outletSettings),
    });
  }

  async start(): Promise<void> {
    this.warnOfCredentials();
    this.damageReporter.reportOpening(await this.openStore());
    await setAsideCrashLoop({ ...this.outletSettings, store: this.store, deadLetters: this.deadLetters });
    this.lifecycle.admission.recount();
    this.registerGauges();
    this.stopMaintenance = this.outletSettings.startMaintenance(this);
    this.outletSettings.forwarder?.start(this);
    await this.lifecycle.start();
  }

  /** To be called after the exporter has started, because only then is it known which headers it sends. */
  private warnOfCredentials(): void {
    const { exporter, isEncrypted, logger } = this.outletSettings;
    const headers = (exporter.metadataKeys ?? []).filter(mayBeSecret);
    if (headers.length === 0 || isEncrypted) return;
    const warning = "the queue stores credentials of clients until they are sent: configure reliability.encryption";
    logger.warn({ headers }, warning);
  }

  /**
   * An exporter whose breaker is open, or whose backend refuses everything, becomes available again when its queue is
   * empty, because then there is nothing else to probe it with.
   */
  get isAvailable(): boolean {
    const { scheduler, policy, isEmpty } = this.lifecycle;
    const { breaker, holds } = policy;
    const isWell = breaker.state === "closed" && !holds.isDown;
    return !scheduler.paused && (isWell || (!breaker.forced && isEmpty));
  }

  accept(delivery: Delivery, pipeline: string): void {
    this.lifecycle.admit(delivery, pipeline);
  }

  drain(): Promise<void> {
    return this.lifecycle.drain();
  }

  /** Sends everything that is stored, with all retries. Resolves when nothing is left. */
  empty(): Promise<void> {
    this.isRemoved = true;
    return this.lifecycle.whenEmpty();
  }

  abort(): void {
    this.lifecycle.abort();
  }

  async stop(): Promise<void> {
    await this.stopMaintenance();
    this.stopMaintenance = () => {};
    await this.outletSettings.forwarder?.stop();
    await this.deadLetters.stop();
    this.metrics.stop();
    this.lifecycle.policy.onClosing();
    await this.store.close();
  }

  pause(): void {
    this.lifecycle.scheduler.pause();
  }

  resume(): void {
    this.lifecycle.scheduler.resume();
  }

  retryNow(): void {
    this.lifecycle.retryNow();
  }

  forceBreaker(state: "open" | "closed" | "auto"): void {
    this.lifecycle.forceBreaker(state);
  }

  isInFlight(id: string): boolean {
    return this.lifecycle.isInFlight(id);
  }

  onReplayed(entries: readonly Entry[]): void {
    this.lifecycle.admission.entriesAdded(entries);
    this.lifecycle.rescan();
  }

  watch(stored: StoredEntry, watch: MessageWatch): void {
    this.lifecycle.admission.watch(stored, watch);
  }

  status(): ExporterStatus {
    const { id, replayRate } = this;
    const { scheduler, policy, waitingRetries, nextRetryIn } = this.lifecycle;
    const { paused, inFlight } = scheduler;
    const { recent, breaker, holds } = policy;
    const { state, forced, since, waitMs } = breaker;
    const now = this.outletSettings.clock.now();
    const { stats } = this.store;
    const { isDown, status: refused } = holds;
    const status = exporterStatus({
      id,
      stats,
      paused,
      inFlight,
      recent,
      isDown,
      refused,
      replayRate,
      breaker: { state, forced, since, ...(waitMs !== undefined && { probeAt: now + waitMs }) },
      ...(nextRetryIn !== undefined && { retries: { entries: waitingRetries, nextAt: now + nextRetryIn } }),
      health: this.settings.health,
      now,
    });
    return this.isRemoved ? { ...status, removed: true } : status;
  }

  private async openStore(): Promise<OpenReport> {
    try {
      return await this.store.open();
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      throw new StartError(`the queue of exporter ${this.id} cannot be opened: ${message}`, [], { cause: error });
    }
  }

  /** Recounts and rescans, because the counts and the entries in memory may be wrong after damage. */
  private onDamage(report: OpenReport): void {
    this.damageReporter.reportOpening(report);
    this.lifecycle.admission.recount();
    this.lifecycle.rescan();
  }

  private registerGauges(): void {
    const { store, settings } = this;
    const { scheduler, policy } = this.lifecycle;
    const { clock, signals = [] } = this.outletSettings;
    const { sizer, queue_size: capacity, max_bytes: byteCapacity } = settings.sending_queue;
    const unit = sizer === "requests" ? "entries" : sizer;
    this.metrics.registerGauges({
      stats: () => store.stats,
      now: () => clock.now(),
      signals,
      size: () => store.stats.pending[unit],
      capacity,
      byteCapacity,
      inFlight: () => scheduler.inFlight,
      waitingRetries: () => this.lifecycle.waitingRetries,
      breaker: () => policy.breaker.state,
      held: () => policy.holds.count,
      paused: () => scheduler.paused,
    });
  }
}

/**
 * sending_queue.batch takes precedence over the pipeline's batch processor. Only the processor's metadata_keys still
 * apply.
 */
function createBatchingOf({ settings, isBatching, batching }: QueueOutletSettings): BatchingOf {
  if (!isBatching) return (pipeline) => batching?.get(pipeline);
  const { flush_timeout: timeoutMs, min_size: minSize, max_size: maxSize, sizer } = settings.sending_queue.batch;
  const own: Batching = { timeoutMs, minSize, maxSize, sizer, metadataKeys: [] };
  const merged = new Map<Batching, Batching>();
  return (pipeline) => {
    const ofPipeline = batching?.get(pipeline);
    if (ofPipeline === undefined) return own;
    const known = merged.get(ofPipeline) ?? { ...own, metadataKeys: ofPipeline.metadataKeys };
    merged.set(ofPipeline, known);
    return known;
  };
}

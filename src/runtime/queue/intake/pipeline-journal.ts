import { type Delivery, limitedLog } from "#contract";
import { StartError } from "#contract/errors";
import type { DeadLetterLanguage, Entry, ExporterStatus } from "#contract/operations";
import type { ConfigNow, Journal, JournalNotes, JournalSettings } from "#contract/operators";
import { type CompleteSettings, completeSettings, type ExporterSettings } from "#contract/schema";
import { Admission } from "../admit/admission.js";
import { stoppingRefusal } from "../admit/refusals.js";
import type { DeadLetterWriter } from "../dead-letters/dead-letter-writer.js";
import type { ExporterControl, PrepareReplayed, RemainingOf } from "../dead-letters/exporter-control.js";
import { metadataOnDisk, type NeededMetadata } from "../entry/client-metadata.js";
import type { QueueMetrics } from "../entry/queue-metrics.js";
import type { DamageReporter } from "../operate/damage-reporter.js";
import { exporterStatus } from "../operate/exporter-status.js";
import type { PlacedStoreOptions } from "../operate/queue-place.js";
import { createQueueServices } from "../operate/queue-services.js";
import { createReplayPreparation } from "../send/replay-preparation.js";
import { type Suspects, setAsideCrashLoop } from "../send/suspects.js";
import type { OpenReport, QueueStore } from "../store/store.js";
import { EntryExchange } from "./entry-exchange.js";
import { JournalFeed } from "./journal-feed.js";
import { PipelineNotes } from "./pipeline-notes.js";

interface PipelineJournalSettings extends Omit<JournalSettings, "durable"> {
  /** The journal's name for operators. */
  readonly id: string;
  /** If false, the journal takes nothing new and only hands on the entries it has. */
  readonly acceptsNew: boolean;
  readonly settings: CompleteSettings;
  readonly language: DeadLetterLanguage;
  readonly createStore: (options: Pick<PlacedStoreOptions, "onDamage" | "onRoom">) => QueueStore;
  readonly running: ConfigNow;
  /** Finds the entry that kills the worker. */
  readonly suspects?: Suspects | undefined;
  /** Only called after the exporters have started. */
  readonly neededMetadata: () => NeededMetadata;
  readonly startMaintenance: (control: ExporterControl) => () => void | Promise<void>;
}

/** How often a journal that is being replaced looks whether everything is settled. */
const SETTLE_CHECK_MS = 10;

/**
 * The journal of a pipeline: the pipeline's beginning, and for operators a queue like an exporter's that sends to the
 * pipeline. It opens and closes the store. `Admission` takes deliveries in, and `JournalFeed` hands them on.
 */
export class PipelineJournal implements Journal, ExporterControl {
  readonly id: string;
  readonly settings: CompleteSettings;
  readonly store: QueueStore;
  readonly prepare: PrepareReplayed;
  readonly hasPipeline: ExporterControl["hasPipeline"];
  replayRate: number;
  private readonly journalSettings: PipelineJournalSettings;
  private readonly metrics: QueueMetrics;
  private readonly deadLetters: DeadLetterWriter;
  private readonly damageReporter: DamageReporter;
  readonly exchange: EntryExchange;
  private readonly admission: Admission;
  private readonly feed: JournalFeed;
  private readonly notes: PipelineNotes;
  private readonly since: number;
  private isOpen = true;
  private isStopped = false;
  private stopMaintenance: () => void | Promise<void> = () => {};

  constructor(journalSettings: PipelineJournalSettings) {
    this.journalSettings = journalSettings;
    const { id, settings, clock } = journalSettings;
    const store = journalSettings.createStore({
      onDamage: (report) => this.onDamage(report),
      // Deliveries that the next queue refused for lack of room are retried at once.
      onRoom: () => this.feed.retryNow(),
    });
    this.id = id;
    this.settings = settings;
    this.store = store;
    this.prepare = createReplayPreparation(journalSettings.prepareReplay);
    this.hasPipeline = journalSettings.hasPipeline;
    this.replayRate = settings.replay.rate;
    this.since = clock.now();
    const { metrics, damageReporter, filter, deadLetters } = createQueueServices(journalSettings, store);
    this.metrics = metrics;
    this.damageReporter = damageReporter;
    this.deadLetters = deadLetters;
    this.notes = new PipelineNotes(store, () => this.feed.lastRef);
    this.exchange = this.createExchange();
    this.feed = new JournalFeed({
      ...journalSettings,
      store,
      metrics,
      deadLetters,
      damageReporter,
      prepare: this.prepare,
      settlement: this.notes,
      onRemoved: (entry) => this.admission.entryRemoved(entry, []),
      onDamaged: () => this.admission.recount(),
    });
    this.admission = new Admission({
      ...journalSettings,
      store,
      metrics,
      filter,
      deadLetters,
      queue: this.feed,
      batchingOf: () => undefined,
      metadataOnDisk: (metadata) => metadataOnDisk(metadata, journalSettings.neededMetadata()),
    });
  }

  async start(): Promise<void> {
    this.damageReporter.reportOpening(await this.openStore());
    this.exchange.opened(await this.notes.load());
    await setAsideCrashLoop(
      { ...this.journalSettings, store: this.store, deadLetters: this.deadLetters },
      (ref, batch) => this.notes.remaining(ref, batch),
    );
    this.admission.recount();
    this.registerGauges();
    this.stopMaintenance = this.journalSettings.startMaintenance(this);
    if (this.isOpen) this.feed.start(); // a stop may have come while the store was read
  }

  /** Dead letters made by a processor of another pipeline bypass the journal and go to the exporters. */
  accept(delivery: Delivery): void {
    if (!this.isOpen) delivery.refuse(stoppingRefusal(this.id));
    else if (!this.journalSettings.acceptsNew || delivery.setback !== undefined)
      this.journalSettings.consumer(delivery);
    else this.admission.accept(delivery, this.journalSettings.pipeline);
  }

  /** Stores a delivery that the pipeline refused, even while stopping. The next run hands it on. */
  keep(delivery: Delivery): void {
    this.admission.accept(delivery, this.journalSettings.pipeline);
  }

  /** Hands on nothing more, but still stores deliveries. */
  stopFeeding(): void {
    this.feed.stop();
  }

  notesOf(processor: string): JournalNotes {
    return this.notes.notesOf(processor);
  }

  async drain(): Promise<void> {
    await this.admission.drain();
    this.isOpen = false;
    this.feed.stop();
  }

  abort(): void {
    this.isOpen = false;
    this.exchange.stop();
    this.admission.abort();
    this.feed.stop();
  }

  async whenSettled(): Promise<void> {
    const { clock } = this.journalSettings;
    while (!this.feed.isSettled && !this.isStopped)
      await new Promise<void>((resolve) => void clock.after(SETTLE_CHECK_MS, resolve));
  }

  async stop(): Promise<void> {
    this.isStopped = true;
    await this.stopMaintenance();
    this.exchange.stop();
    await this.deadLetters.stop();
    this.metrics.stop();
    await this.store.close();
  }

  pause(): void {
    this.feed.pause();
  }

  resume(): void {
    this.feed.resume();
  }

  retryNow(): void {
    this.feed.retryNow();
  }

  /** Does nothing: a journal has no breaker, because its pipeline is in the same process. */
  forceBreaker(): void {}

  onReplayed(entries: readonly Entry[]): void {
    this.admission.entriesAdded(entries);
    this.feed.rescan();
  }

  async adoptNotes(from: QueueStore): Promise<RemainingOf> {
    const notes = (await from.notes?.load()) ?? [];
    const [first] = await from.pending(undefined, 1);
    return this.notes.takeOver(notes, first?.ref ?? 0);
  }

  status(): ExporterStatus {
    const { id, replayRate, feed, since } = this;
    const { paused, inFlight, recent, isStuck } = feed;
    const breaker = { state: "closed", forced: false, since } as const;
    return exporterStatus({
      id,
      stats: this.store.stats,
      paused,
      inFlight,
      recent,
      breaker,
      replayRate,
      isStuck,
      health: this.settings.health,
      now: this.journalSettings.clock.now(),
    });
  }

  private createExchange(): EntryExchange {
    const { pipeline, running, clock, logger } = this.journalSettings;
    return new EntryExchange({
      store: this.store,
      clock,
      newEntry: (batch) => ({
        batch,
        pipeline,
        generation: running.config.generation,
        enqueuedAt: clock.now(),
        source: { receiver: pipeline, transport: "internal" },
      }),
      onMade: (made) => {
        this.admission.entriesAdded(made.map(({ stored }) => stored.entry));
        return this.feed.addMade(made);
      },
      onUnknown: () => this.feed.rescan(),
      logStoreError: limitedLog(clock, (error, suppressed) =>
        logger.error({ err: error, suppressed }, "the journal cannot be written; will try again"),
      ),
    });
  }

  private async openStore(): Promise<OpenReport> {
    try {
      return await this.store.open();
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      const { pipeline } = this.journalSettings;
      throw new StartError(`the journal of pipeline ${pipeline} cannot be opened: ${message}`, [], { cause: error });
    }
  }

  /** Recounts and rescans, because the counts and the entries in memory may be wrong after damage. */
  private onDamage(report: OpenReport): void {
    this.damageReporter.reportOpening(report);
    this.admission.recount();
    this.feed.rescan();
  }

  private registerGauges(): void {
    const { store, settings, feed } = this;
    const { clock, signal } = this.journalSettings;
    this.metrics.registerGauges({
      stats: () => store.stats,
      now: () => clock.now(),
      signals: [signal],
      size: () => store.stats.pending.entries,
      capacity: 0,
      byteCapacity: settings.sending_queue.max_bytes,
      inFlight: () => feed.inFlight,
      breaker: () => "closed",
      held: () => 0,
      paused: () => false,
    });
  }
}

/**
 * Returns the settings of a pipeline's journal. The defaults of all exporters apply to its location, durability, size
 * and dead letters. The rest is fixed: a full journal refuses clients, its entries never expire, and refused deliveries
 * are retried without limit.
 */
export function journalSettings(defaults: ExporterSettings): CompleteSettings {
  const { sending_queue, ...others } = defaults;
  const max_bytes = sending_queue?.max_bytes;
  const queue = { ...OWN.sending_queue, ...(max_bytes === undefined ? {} : { max_bytes }) };
  return completeSettings({ ...OWN, sending_queue: queue }, others);
}

const OWN: ExporterSettings = {
  sending_queue: { enabled: true, queue_size: 0, max_age: 0, on_full: "refuse", block_on_overflow: false },
  retry_on_failure: {
    backoff: "exponential",
    initial_interval: 500,
    multiplier: 2,
    max_interval: 30_000,
    max_retry_after: 60_000,
    jitter: "proportional",
    randomization_factor: 0.5,
  },
};

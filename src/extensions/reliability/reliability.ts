import { type ArchiveSource, folderSource, s3Source } from "#archive";
import type { BuiltInExtension, BuiltInExtensionContext } from "#contract/built-in";
import type { Admin, DeadLetterLanguage } from "#contract/operations";
import {
  type ConfigNow,
  type Journal,
  type JournalFactory,
  type JournalSettings,
  type Outlet,
  type OutletFactory,
  type OutletSettings,
  type SharingWorker,
  shareOfLimit,
} from "#contract/operators";
import { type CompleteSettings, completeSettings, type ExporterSettings } from "#contract/schema";
import { createDeadLetterLanguage } from "#ottl";
import {
  type ArchivePlace,
  createAdmin,
  createOperatorRecords,
  DeadLetterForwarder,
  DiskPlace,
  directPath,
  type ExporterControl,
  ForwardMarks,
  ForwardsToFirst,
  givenStores,
  journalId,
  journalSettings,
  MessageIndexes,
  type NeededMetadata,
  type OperatorRecords,
  Orphans,
  PipelineJournal,
  PostgresPlace,
  QueueOutlet,
  type QueuePlace,
  RefusedJournal,
  RehydrationJobs,
  Suspects,
  startDeadLetterMaintenance,
  WorkerQueues,
} from "#queue";
import { Keyring, loadKeyring, type QueueStore } from "#queue/store";
import type { Batch } from "../../plugin.js";
import { exporterDefaults, keepsJournals, type ReliabilityConfig } from "./config.js";

/** Stands between pipelines and exporters: accepted data is kept until it is delivered or a person gives it up. */
export class Reliability implements BuiltInExtension {
  readonly admin: Admin;
  private config: ReliabilityConfig;
  private defaults: ExporterSettings;
  private readonly context: BuiltInExtensionContext;
  private readonly language: DeadLetterLanguage;
  private readonly controls = new Map<string, ExporterControl>();
  private readonly messageIndexes = new MessageIndexes(this.controls);
  private readonly messageSources = {
    find: (receiver: string) => this.context.host.receiver?.(receiver)?.messages,
    deadLetters: (receiver: string, message: string) => this.messageIndexes.find(receiver, message),
  };
  private readonly forwardMarks: ForwardMarks;
  private readonly forwardsToFirst: ForwardsToFirst | undefined;
  private readonly records: OperatorRecords;
  private readonly running: ConfigNow;
  private readonly place: QueuePlace;
  private readonly orphans: Orphans;
  private readonly workerQueues: WorkerQueues;
  private readonly rehydrations: RehydrationJobs;
  private readonly refusedJournals = new Map<string, RefusedJournal>();
  private orphanCheck: Promise<void> | undefined;
  private isOrphanCheckDue = true;
  /** Undefined if the agent is one process, or its queues are not on disk. */
  private suspects: Suspects | undefined;
  private keyring = new Keyring();
  /** The running exporters. */
  private readonly outletSettings = new Map<string, OutletSettings>();

  /** `createStore` makes stores that are not on disk; then there is no directory. */
  constructor(
    config: ReliabilityConfig,
    context: BuiltInExtensionContext,
    createStore?: (exporter: string) => QueueStore,
  ) {
    this.config = config;
    const { audit, history } = config;
    this.defaults = exporterDefaults(config);
    this.context = context;
    this.language = createDeadLetterLanguage(context.maxRecordSize);
    this.place = createStore === undefined ? createPlace(config, context) : givenStores(createStore);
    const startedAt = new Date(context.clock.now()).toISOString();
    this.running = context.host.current ?? { config: { generation: startedAt } };
    this.forwardMarks = new ForwardMarks(this.controls, context.logger);
    const { host, toFirstWorker } = context;
    this.forwardsToFirst = toFirstWorker && new ForwardsToFirst(toFirstWorker, this.controls, this.running);
    const mask = host.mask && ((batch: Batch) => host.mask!(batch));
    this.records = createOperatorRecords({
      ...this.services,
      createStore: (id) => this.place.createRecordStore(id),
      exists: (id) => this.place.exists(id),
      auditRetentionMs: audit.retention,
      historyRetentionMs: history.retention,
    });
    const { controls, records } = this;
    this.orphans = new Orphans({
      ...this.services,
      place: this.place,
      controls,
      moves: records.moves,
      onRemoved: () => void this.workerQueues.look(),
    });
    this.workerQueues = new WorkerQueues({
      ...this.services,
      place: this.place,
      controls,
      records,
      moves: records.moves,
      orphans: this.orphans,
      openJournal: async (id) => this.refusedJournals.get(id)?.openForEntries(),
    });
    this.rehydrations = new RehydrationJobs({
      ...this.services,
      random: context.random,
      controls,
      log: records.rehydrations,
      openArchive: (place) => openArchive(place, context),
      isReady: () => host.state === "ready",
    });
    const { orphans, rehydrations } = this;
    this.admin = createAdmin(controls, { ...this.services, records, orphans, rehydrations, mask });
  }

  readonly outlets: OutletFactory = (outletSettings) => this.createOutlet(outletSettings);

  readonly journals: JournalFactory = (journal) => this.createJournal(journal);

  /** Outlets and journals that are created from now on have the new defaults. */
  reconfigure(config: ReliabilityConfig): void {
    this.config = config;
    this.defaults = exporterDefaults(config);
    this.isOrphanCheckDue = true;
  }

  adoptWorkersAbove(count: number): Promise<void> {
    return this.workerQueues.adoptAbove(count);
  }

  async start(): Promise<void> {
    this.keyring = await loadKeyring(this.config.encryption, this.context.logger);
    await this.place.start(this.keyring);
    const { logger, worker } = this.context;
    const { suspectPath: path } = this.place;
    if (worker && path) this.suspects = new Suspects({ path, isCareful: worker.careful === true, logger });
  }

  async stop(): Promise<void> {
    await this.rehydrations.stop();
    await this.orphanCheck;
    await this.workerQueues.stop();
    await this.orphans.stop();
    await this.records.close();
    this.keyring = new Keyring();
  }

  private get services() {
    const { clock, logger, metrics } = this.context;
    const { running, messageSources, language } = this;
    return { clock, logger, metrics, language, running, messageSources };
  }

  /**
   * Client metadata that may be secret and is needed behind journals, by any exporter, because connectors may lead to
   * all of them.
   */
  private neededMetadata(): NeededMetadata {
    const all = [...this.outletSettings.values()];
    const sent = all.flatMap(({ exporter }) => exporter.metadataKeys ?? []);
    const apart = all.flatMap(({ batching }) =>
      [...(batching?.values() ?? [])].flatMap(({ metadataKeys }) => metadataKeys),
    );
    return { sent: new Set(sent), apart: new Set(apart) };
  }

  private createOutlet(outletSettings: OutletSettings): Outlet {
    this.outletSettings.set(outletSettings.id, outletSettings);
    this.checkOrphans();
    const layers = [outletSettings.settings, this.defaults, outletSettings.typeDefaults];
    const sharing = outletSettings.isInOneWorker === true ? undefined : this.context.worker;
    const settings = shareOfQueue(completeSettings(...layers), sharing);
    if (!settings.sending_queue.enabled) {
      const { outlet, control } = directPath(outletSettings, settings);
      return this.register(outletSettings, outlet, control);
    }
    const outlet = new QueueOutlet({
      ...outletSettings,
      settings,
      language: this.language,
      forwarder: this.createForwarder(outletSettings, settings),
      forwardMarks: this.forwardMarks,
      tracker: this.records.tracker,
      suspects: this.suspects,
      isEncrypted: this.keyring.active !== undefined,
      isBatching: layers.some((layer) => layer.sending_queue?.batch !== undefined),
      running: this.running,
      createStore: (onDamage) => this.place.createStore(outletSettings, settings, { onDamage, mayOpenLater: true }),
      startMaintenance: (control) => this.startMaintenance(control),
    });
    return this.register(outletSettings, outlet, outlet);
  }

  /** Runs after all outlets and journals of a config have been made, which happens synchronously. */
  private checkOrphans(): void {
    if (!this.isOrphanCheckDue) return;
    this.isOrphanCheckDue = false;
    this.orphanCheck = Promise.resolve().then(() => this.place.warnOfOrphans());
  }

  /**
   * Operators see an outlet as soon as it is made. If it replaces another one, they see that one until the new one has
   * started. An outlet that was removed while the agent runs is not shown any more. The outlet itself gets what else
   * happens at its start and stop: with an object around it, each delivery would pass through one more.
   */
  private register(outletSettings: OutletSettings, outlet: Outlet, control: ExporterControl): Outlet {
    const { id } = control;
    if (!this.controls.has(id)) this.controls.set(id, control);
    const { start, stop, empty } = outlet;
    outlet.start = async () => {
      await this.orphans.release(id);
      await start?.call(outlet);
      this.controls.set(id, control);
    };
    outlet.stop = async () => {
      await stop?.call(outlet);
      if (this.context.host.state !== "ready" || this.controls.get(id) !== control) return;
      this.controls.delete(id);
      if (this.outletSettings.get(id) !== outletSettings) return; // its successor has been made already
      this.outletSettings.delete(id);
      this.place.release(id);
      await this.place.warnOfOrphans();
    };
    outlet.empty = () => (this.config.drain_removed ? empty?.call(outlet) : undefined);
    return outlet;
  }

  /** A default for all exporters does not apply to the exporter that it names. */
  private createForwarder(
    { id, otherIds = [] }: OutletSettings,
    { dead_letter: { forward_to: to } }: CompleteSettings,
  ): DeadLetterForwarder | undefined {
    if (to === "" || to === id || otherIds.includes(to)) return undefined;
    return new DeadLetterForwarder(id, to, {
      ...this.services,
      controls: this.controls,
      toFirst: this.forwardsToFirst,
    });
  }

  private createJournal({ durable, keepsRefused = false, ...journal }: JournalSettings): Journal | undefined {
    const id = journalId(journal.pipeline);
    const isLeft = this.place.hasOldJournal(id);
    const acceptsNew = durable === "on" || (durable === "auto" && keepsJournals(this.defaults));
    const create = () => this.createPipelineJournal(journal, acceptsNew);
    const onOpened = (created: PipelineJournal) => void this.controls.set(created.id, created);
    const mayKeepRefused = keepsRefused && keepsJournals(this.defaults);
    if (!acceptsNew && mayKeepRefused) {
      this.place.reserve(id);
      const refused = new RefusedJournal({ ...journal, isLeft, create, onOpened });
      this.refusedJournals.set(id, refused);
      return refused;
    }
    if (!acceptsNew && !isLeft) return undefined;
    const created = create();
    onOpened(created);
    return created;
  }

  private createPipelineJournal(journal: Omit<JournalSettings, "durable">, acceptsNew: boolean): PipelineJournal {
    const id = journalId(journal.pipeline);
    const settings = journalSettings(this.defaults);
    return new PipelineJournal({
      ...journal,
      id,
      acceptsNew,
      settings,
      language: this.language,
      running: this.running,
      suspects: this.suspects,
      createStore: (options) =>
        this.place.createStore({ id }, settings, {
          ...options,
          mayOpenLater: !acceptsNew && this.config.store !== undefined,
        }),
      neededMetadata: once(() => this.neededMetadata()),
      startMaintenance: (control) => this.startMaintenance(control),
    });
  }

  /** The result resolves when the store is not used for it any more. */
  private startMaintenance(control: ExporterControl): () => Promise<void> {
    const { moves } = this.records;
    moves.start();
    const stopMaintenance = startDeadLetterMaintenance(control, { ...this.services, moves });
    const stopAdoption = this.workerQueues.onStarted(control);
    return () => {
      stopMaintenance();
      return stopAdoption();
    };
  }
}

function createPlace(config: ReliabilityConfig, { clock, logger, worker }: BuiltInExtensionContext): QueuePlace {
  const services = { clock, logger, worker };
  if (config.store !== undefined) return new PostgresPlace(config.store.postgres, services);
  return new DiskPlace(config.directory, keepsJournals(config), services);
}

function openArchive(place: ArchivePlace, context: BuiltInExtensionContext): ArchiveSource {
  if (place.kind === "folder") return folderSource(place.path);
  const { bucket, region, endpoint, isPathStyle } = place;
  return s3Source({ bucket, region, isPathStyle, ...(endpoint && { endpoint: new URL(endpoint) }) }, context);
}

function once<T>(make: () => T): () => T {
  let made: T | undefined;
  return () => (made ??= make());
}

/** The queues of these workers together are as large as one may be. */
function shareOfQueue(settings: CompleteSettings, worker: SharingWorker | undefined): CompleteSettings {
  if (worker === undefined) return settings;
  const { sending_queue: queue } = settings;
  const share = (limit: number) => (limit === 0 ? 0 : shareOfLimit(limit, worker));
  const sizes = { queue_size: share(queue.queue_size), max_bytes: share(queue.max_bytes) };
  return { ...settings, sending_queue: { ...queue, ...sizes } };
}

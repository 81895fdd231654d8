import { constants } from "node:fs";
import { access, readdir } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";
import { z } from "zod";
import {
  type Batch,
  defineExtension,
  duration,
  type Extension,
  type ExtensionContext,
  type ExtensionFactory,
  StartError,
  section,
} from "../../plugin.js";
import {
  type Admin,
  type CompleteSettings,
  completeSettings,
  type ExporterSettings,
  exporterSettingsSchema,
  hasClient,
  type Journal,
  type JournalFactory,
  type JournalSettings,
  makePrivateDirectory,
  missingClient,
  type Outlet,
  type OutletFactory,
  type OutletSettings,
  POSTGRES_CLIENT,
} from "../../runtime/kit.js";
import { startDeadLetterMaintenance } from "./dead-letters/dead-letter-maintenance.js";
import { ForwardMarks } from "./dead-letters/forward-marks.js";
import { DeadLetterForwarder } from "./dead-letters/forwarder.js";
import { directPath } from "./direct-path.js";
import type { NeededMetadata } from "./entry/client-metadata.js";
import { journalSettings } from "./intake/journal-settings.js";
import { JOURNAL_PREFIX, journalId, PipelineJournal } from "./intake/pipeline-journal.js";
import { RefusedJournal } from "./intake/refused-journal.js";
import { createAdmin } from "./operate/admin.js";
import { directoryNameOf } from "./operate/directory-name.js";
import type { ExporterControl } from "./operate/exporter-control.js";
import { warnOfOrphanedQueues } from "./operate/orphaned-queues.js";
import { tightenPermissions } from "./operate/tighten-permissions.js";
import { QueueOutlet } from "./queue-outlet.js";
import {
  createOperatorRecords,
  DEFAULT_AUDIT_RETENTION_MS,
  DEFAULT_HISTORY_RETENTION_MS,
  type OperatorRecords,
} from "./records/operator-records.js";
import { encryptionSchema } from "./store/encryption/config.js";
import { Keyring } from "./store/encryption/keyring.js";
import { loadKeyring } from "./store/encryption/load-keyring.js";
import { isStoreThere, storesUnder } from "./store/level/open/summary-file.js";
import { LevelStore, type LevelStoreOptions } from "./store/level-store.js";
import { MemoryStore } from "./store/memory-store.js";
import { type PostgresStoreConfig, PostgresTable, postgresStoreKeys } from "./store/remote/postgres-table.js";
import { RemoteStore } from "./store/remote/remote-store.js";
import type { QueueStore } from "./store/store.js";

const directorySchema = z
  .string()
  .min(1, "expected a directory such as ./data/queue")
  .default("./data/queue")
  .meta({ description: "Where the sending queues are kept, one directory for each exporter." });

/** Makes the directory if need be; throws a `StartError` that names the key when it cannot be used. */
async function prepareDirectory(path: string): Promise<void> {
  try {
    await makePrivateDirectory(path);
    await access(path, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const hint = "choose another with extensions: reliability: directory:, or turn queues off with sending_queue";
    throw new StartError(`the directory ${path} cannot be used (${code ?? message}); ${hint}`, ["directory"], {
      cause: error,
    });
  }
}

/** Whether pipelines that hold deliveries have a journal without asking for it: not where queues are turned off. */
function keepsJournals({ sending_queue }: ExporterSettings): boolean {
  return sending_queue?.enabled !== false;
}

const auditSchema = z.strictObject({
  retention: duration()
    .default(DEFAULT_AUDIT_RETENTION_MS)
    .meta({ description: "How long it is kept who replayed, deleted, revealed and changed what; 0: for ever." }),
});

const historySchema = z.strictObject({
  retention: duration()
    .default(DEFAULT_HISTORY_RETENTION_MS)
    .meta({ description: "How long replays, and the histories of what they delivered, are kept; 0: for ever." }),
});

const storeSchema = z.strictObject({
  postgres: section(postgresStoreKeys).meta({ description: "How the PostgreSQL is reached." }),
});

/** The keys every exporter has, as the defaults of all exporters, where the queues are kept, and what is kept beside them. */
const reliabilityConfig = exporterSettingsSchema.extend({
  directory: directorySchema,
  audit: section(auditSchema)
    .prefault({})
    .meta({ description: "What operators did, by command line, API or console." }),
  history: section(historySchema).prefault({}).meta({ description: "What became of what was replayed." }),
  encryption: encryptionSchema.optional().meta({ description: "Encrypts the queues, with keys of your own." }),
  store: section(storeSchema)
    .optional()
    .meta({ description: "Keeps queues and dead letters on a server instead, for agents without a disk." }),
});

const checkedConfig = reliabilityConfig.superRefine(({ store, encryption }, context) => {
  const problem = (path: string[], message: string) => context.addIssue({ code: "custom", path, message });
  if (store?.postgres && !hasClient(POSTGRES_CLIENT)) problem(["store", "postgres"], missingClient(POSTGRES_CLIENT));
  if (store && encryption)
    problem(["encryption"], "queues on a server are not encrypted by Sluice; remove it, or store");
});

type ReliabilityConfig = z.infer<typeof reliabilityConfig>;

/** Stands between pipelines and exporters: what was accepted is kept until it is delivered or given up by a person. */
export const reliability = defineExtension<ReliabilityConfig>({
  type: "reliability",
  onByDefault: true,
  summary: "Wraps every exporter: a durable queue, retries, circuit breaker, dead letters and replay.",
  schema: checkedConfig,
  keepsJournals,
  create: (config, context) => new Reliability(config, context),
});

/** The same extension, with other stores than those on disk: it makes no directory. */
export function reliabilityWithStores(createStore: (exporter: string) => QueueStore): ExtensionFactory {
  return {
    ...reliability,
    create: (config, context) => new Reliability(config as ReliabilityConfig, context, createStore),
  };
}

class Reliability implements Extension {
  readonly admin: Admin;
  private readonly config: ReliabilityConfig;
  private readonly defaults: ExporterSettings;
  private readonly context: ExtensionContext;
  private readonly controls = new Map<string, ExporterControl>();
  private readonly forwardMarks: ForwardMarks;
  private readonly records: OperatorRecords;
  private readonly generation: string;
  private readonly createStore: ((exporter: string) => QueueStore) | undefined;
  private orphanCheck: Promise<void> | undefined;
  private keyring = new Keyring();
  /** Where the queues and journals of this config are. */
  private readonly usedDirectories = new Set<string>();
  private readonly outletSettings: OutletSettings[] = [];
  /** Ids of the journals that are on disk. */
  private leftJournals: ReadonlySet<string> = new Set();
  /** Names of the directories that earlier runs have left. */
  private leftNames: ReadonlySet<string> = new Set();

  constructor(config: ReliabilityConfig, context: ExtensionContext, createStore?: (exporter: string) => QueueStore) {
    this.config = config;
    this.createStore = createStore;
    const { directory: _, encryption: __, store: ___, audit, history, ...defaults } = config;
    this.defaults = defaults;
    this.context = context;
    this.generation = context.host.generation ?? new Date(context.clock.now()).toISOString();
    this.forwardMarks = new ForwardMarks(this.controls, context.logger);
    const { host } = context;
    const mask = host.mask && ((batch: Batch) => host.mask!(batch));
    this.records = createOperatorRecords({
      ...this.services,
      createStore: (id) => this.createRecordStore(id),
      exists: (id) => isStoreThere(this.directoryOf(id)),
      auditRetentionMs: audit.retention,
      historyRetentionMs: history.retention,
    });
    this.admin = createAdmin(this.controls, { ...this.services, records: this.records, mask });
  }

  readonly outlets: OutletFactory = (outletSettings) => this.createOutlet(outletSettings);

  readonly journals: JournalFactory = (journal) => this.createJournal(journal);

  async start(): Promise<void> {
    if (!this.isOnDisk) return;
    this.keyring = await loadKeyring(this.config.encryption, this.context.logger);
    if (keepsJournals(this.defaults)) await prepareDirectory(this.config.directory);
    await tightenPermissions(this.config.directory, this.context.logger);
    this.leftJournals = await journalsUnder(this.config.directory);
    this.leftNames = await queueNamesUnder(this.config.directory);
  }

  async stop(): Promise<void> {
    await this.orphanCheck;
    await this.records.close();
    this.keyring = new Keyring();
  }

  private get services() {
    const { clock, logger, metrics } = this.context;
    return { clock, logger, metrics, generation: this.generation };
  }

  /** What may be secret of clients' headers and is needed behind journals: by any exporter, as connectors lead anywhere. */
  private neededMetadata(): NeededMetadata {
    const sent = this.outletSettings.flatMap(({ exporter }) => exporter.metadataKeys ?? []);
    const apart = this.outletSettings.flatMap(({ batching }) =>
      [...(batching?.values() ?? [])].flatMap(({ metadataKeys }) => metadataKeys),
    );
    return { sent: new Set(sent), apart: new Set(apart) };
  }

  private createOutlet(outletSettings: OutletSettings): Outlet {
    this.outletSettings.push(outletSettings);
    this.orphanCheck ??= Promise.resolve().then(() => this.checkForOrphanedQueues());
    const layers = [outletSettings.settings, this.defaults, outletSettings.typeDefaults];
    const settings = completeSettings(...layers);
    if (!settings.sending_queue.enabled) {
      const { outlet, control } = directPath(outletSettings, settings);
      this.controls.set(outletSettings.id, control);
      return outlet;
    }
    const outlet = new QueueOutlet({
      ...outletSettings,
      settings,
      forwarder: this.createForwarder(outletSettings, settings),
      forwardMarks: this.forwardMarks,
      tracker: this.records.tracker,
      isEncrypted: this.keyring.active !== undefined,
      isBatching: layers.some((layer) => layer.sending_queue?.batch !== undefined),
      generation: this.generation,
      createStore: (onDamage) => this.createQueueStore(outletSettings, settings, { onDamage, mayOpenLater: true }),
      startMaintenance: (control) => this.startMaintenance(control),
    });
    this.controls.set(outletSettings.id, outlet);
    return outlet;
  }

  /** What is the default of all exporters does not hold for the one it names. */
  private createForwarder(
    { id, otherIds = [] }: OutletSettings,
    { dead_letter: { forward_to: to } }: CompleteSettings,
  ): DeadLetterForwarder | undefined {
    if (to === "" || to === id || otherIds.includes(to)) return undefined;
    return new DeadLetterForwarder(id, to, { ...this.services, controls: this.controls });
  }

  private createJournal({ durable, keepsRefused = false, ...journal }: JournalSettings): Journal | undefined {
    const id = journalId(journal.pipeline);
    const isLeft = this.leftJournals.has(id);
    const isTaking = durable === "on" || (durable === "auto" && keepsJournals(this.defaults));
    const create = () => this.createPipelineJournal(journal, isTaking);
    const onOpened = (created: PipelineJournal) => void this.controls.set(created.id, created);
    const mayKeepRefused = keepsRefused && keepsJournals(this.defaults);
    if (!isTaking && mayKeepRefused) {
      this.usedDirectories.add(join(this.config.directory, directoryNameOf(id)));
      return new RefusedJournal({ ...journal, isLeft, create, onOpened });
    }
    if (!isTaking && !isLeft) return undefined;
    const created = create();
    onOpened(created);
    return created;
  }

  private createPipelineJournal(journal: Omit<JournalSettings, "durable">, isTaking: boolean): PipelineJournal {
    const id = journalId(journal.pipeline);
    const settings = journalSettings(this.defaults);
    return new PipelineJournal({
      ...{ ...journal, id, isTaking, settings, generation: this.generation },
      createStore: (onDamage) => this.createQueueStore({ id }, settings, { onDamage }),
      neededMetadata: once(() => this.neededMetadata()),
      startMaintenance: (control) => this.startMaintenance(control),
    });
  }

  private startMaintenance(control: ExporterControl): () => void {
    const { moves } = this.records;
    moves.start();
    return startDeadLetterMaintenance(control, { ...this.services, moves });
  }

  /** Runs when all outlets and journals have been made: they are in one go. */
  private checkForOrphanedQueues(): Promise<void> {
    if (!this.isOnDisk) return Promise.resolve();
    return warnOfOrphanedQueues(this.config.directory, this.usedDirectories, this.context.logger);
  }

  private createQueueStore(
    { id, otherIds = [] }: Pick<OutletSettings, "id" | "otherIds">,
    settings: CompleteSettings,
    options: LevelStoreOptions,
  ): QueueStore {
    if (this.createStore !== undefined) return this.createStore(id);
    if (this.config.store !== undefined) return this.createRemoteStore(id, this.config.store.postgres, options);
    const { durability, durability_interval: intervalMs } = settings;
    const directory = join(this.config.directory, this.directoryName(id, otherIds));
    this.usedDirectories.add(directory);
    const now = () => this.context.clock.now();
    const { keyring } = this;
    return new LevelStore({ exporter: id, directory, durability, intervalMs }, { now, keyring, ...options });
  }

  private createRemoteStore(id: string, config: PostgresStoreConfig, options: LevelStoreOptions): QueueStore {
    const { logger } = this.context;
    const queue = `${config.agent ?? hostname()}/${id}`;
    const facts = { queue, endpoint: config.endpoint };
    return new RemoteStore({ exporter: id }, new PostgresTable(config, queue), {
      ...options,
      onLost: (error) =>
        logger.error(
          { ...facts, reason: String((error as Error).message ?? error) },
          "the server of the queue is away; refusing what comes",
        ),
      onFound: () => logger.info(facts, "the server of the queue is there again"),
    });
  }

  private get isOnDisk(): boolean {
    return this.createStore === undefined && this.config.store === undefined;
  }

  /** What operators did is kept beside the queues; without any on disk it lasts as long as the agent. */
  private createRecordStore(id: string): QueueStore {
    if (!this.isOnDisk || this.usedDirectories.size === 0) return new MemoryStore({ exporter: id });
    return this.createQueueStore({ id }, completeSettings({ durability: "fsync" }), {});
  }

  private directoryOf(id: string): string {
    return join(this.config.directory, directoryNameOf(id));
  }

  /** That of another spelling of its id, when only that is there: the exporter was renamed from an alias of its type. */
  private directoryName(id: string, otherIds: readonly string[]): string {
    const names = [id, ...otherIds].map(directoryNameOf);
    return names.find((name) => this.leftNames.has(name)) ?? directoryNameOf(id);
  }
}

function once<T>(make: () => T): () => T {
  let made: T | undefined;
  return () => (made ??= make());
}

/** The journals below the directory. Whether one is empty is known when it is open: its summary may be a little older. */
async function journalsUnder(root: string): Promise<ReadonlySet<string>> {
  const stores = await storesUnder(root).catch(() => []);
  return new Set(stores.map(({ summary }) => summary.exporter).filter((id) => id.startsWith(JOURNAL_PREFIX)));
}

/** The directories that queues were left in, by name; of one that is gone, its summary file tells that it was there. */
async function queueNamesUnder(root: string): Promise<ReadonlySet<string>> {
  const entries = await readdir(root, { withFileTypes: true }).catch(() => []);
  return new Set(entries.map((entry) => (entry.isDirectory() ? entry.name : entry.name.replace(/\.witness$/, ""))));
}

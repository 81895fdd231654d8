import { z } from "zod";
import { POSTGRES_CLIENT } from "#brokers/postgres";
import type { Admin } from "#contract/operations";
import type {
  Journal,
  JournalFactory,
  JournalSettings,
  Outlet,
  OutletFactory,
  OutletSettings,
} from "#contract/operators";
import { type CompleteSettings, completeSettings, type ExporterSettings } from "#contract/schema";
import { exporterSettingsSchema } from "#ottl";
import { hasClient, missingClient } from "#system";
import {
  type Batch,
  defineExtension,
  duration,
  type Extension,
  type ExtensionContext,
  type ExtensionFactory,
  section,
} from "../../plugin.js";
import { startDeadLetterMaintenance } from "./dead-letters/dead-letter-maintenance.js";
import { ForwardMarks } from "./dead-letters/forward-marks.js";
import { DeadLetterForwarder } from "./dead-letters/forwarder.js";
import { directPath } from "./direct-path.js";
import type { NeededMetadata } from "./entry/client-metadata.js";
import { journalSettings } from "./intake/journal-settings.js";
import { journalId, PipelineJournal } from "./intake/pipeline-journal.js";
import { RefusedJournal } from "./intake/refused-journal.js";
import { createAdmin } from "./operate/admin.js";
import { DiskPlace } from "./operate/disk-place.js";
import type { ExporterControl } from "./operate/exporter-control.js";
import { PostgresPlace } from "./operate/postgres-place.js";
import { givenStores, type QueuePlace } from "./operate/queue-place.js";
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
import { postgresStoreKeys } from "./store/remote/postgres-config.js";
import type { QueueStore } from "./store/store.js";

const directorySchema = z
  .string()
  .min(1, "expected a directory such as ./data/queue")
  .default("./data/queue")
  .meta({ description: "Where the sending queues are kept, one directory for each exporter." });

/** Whether pipelines that hold deliveries have a journal without asking for it: not where queues are turned off. */
function keepsJournals({ sending_queue }: ExporterSettings): boolean {
  return sending_queue?.enabled !== false;
}

const DURABILITY_KEYS = ["durability", "durability_interval"] as const;

/** On a server there is no directory, and no choice of when something is on its disk. */
function ignoredKeys({ store }: ReliabilityConfig) {
  if (store === undefined) return undefined;
  const reason =
    "with store.postgres the queues are on the server, whose own settings decide when something is on its disk";
  return { own: ["directory", ...DURABILITY_KEYS], ofExporters: DURABILITY_KEYS, reason };
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

const checkedConfig = reliabilityConfig.superRefine(({ store }, context) => {
  if (store?.postgres && !hasClient(POSTGRES_CLIENT))
    context.addIssue({ code: "custom", path: ["store", "postgres"], message: missingClient(POSTGRES_CLIENT) });
});

type ReliabilityConfig = z.infer<typeof reliabilityConfig>;

/** Stands between pipelines and exporters: what was accepted is kept until it is delivered or given up by a person. */
export const reliability = defineExtension<ReliabilityConfig>({
  type: "reliability",
  onByDefault: true,
  summary: "Wraps every exporter: a durable queue, retries, circuit breaker, dead letters and replay.",
  schema: checkedConfig,
  keepsJournals,
  ignoredKeys,
  create: (config, context) => new Reliability(config, context),
});

/** The same extension, with other stores than those on disk: it makes no directory. */
export function reliabilityWithStores(createStore: (exporter: string) => QueueStore): ExtensionFactory {
  return {
    ...reliability,
    create: (config, context) => new Reliability(config as ReliabilityConfig, context, givenStores(createStore)),
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
  private readonly place: QueuePlace;
  private orphanCheck: Promise<void> | undefined;
  private keyring = new Keyring();
  private readonly outletSettings: OutletSettings[] = [];

  constructor(config: ReliabilityConfig, context: ExtensionContext, place?: QueuePlace) {
    this.config = config;
    const { directory: _, encryption: __, store: ___, audit, history, ...defaults } = config;
    this.defaults = defaults;
    this.context = context;
    this.place = place ?? createPlace(config, context);
    this.generation = context.host.generation ?? new Date(context.clock.now()).toISOString();
    this.forwardMarks = new ForwardMarks(this.controls, context.logger);
    const { host } = context;
    const mask = host.mask && ((batch: Batch) => host.mask!(batch));
    this.records = createOperatorRecords({
      ...this.services,
      createStore: (id) => this.place.createRecordStore(id),
      exists: (id) => this.place.exists(id),
      auditRetentionMs: audit.retention,
      historyRetentionMs: history.retention,
    });
    this.admin = createAdmin(this.controls, { ...this.services, records: this.records, mask });
  }

  readonly outlets: OutletFactory = (outletSettings) => this.createOutlet(outletSettings);

  readonly journals: JournalFactory = (journal) => this.createJournal(journal);

  async start(): Promise<void> {
    this.keyring = await loadKeyring(this.config.encryption, this.context.logger);
    await this.place.start(this.keyring);
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
    // Runs when all outlets and journals have been made: they are in one go.
    this.orphanCheck ??= Promise.resolve().then(() => this.place.warnOfOrphans());
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
      createStore: (onDamage) => this.place.createStore(outletSettings, settings, { onDamage, mayOpenLater: true }),
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
    const isLeft = this.place.isJournalLeft(id);
    const isTaking = durable === "on" || (durable === "auto" && keepsJournals(this.defaults));
    const create = () => this.createPipelineJournal(journal, isTaking);
    const onOpened = (created: PipelineJournal) => void this.controls.set(created.id, created);
    const mayKeepRefused = keepsRefused && keepsJournals(this.defaults);
    if (!isTaking && mayKeepRefused) {
      this.place.reserve(id);
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
      createStore: (options) =>
        this.place.createStore({ id }, settings, {
          ...options,
          mayOpenLater: !isTaking && this.config.store !== undefined,
        }),
      neededMetadata: once(() => this.neededMetadata()),
      startMaintenance: (control) => this.startMaintenance(control),
    });
  }

  private startMaintenance(control: ExporterControl): () => void {
    const { moves } = this.records;
    moves.start();
    return startDeadLetterMaintenance(control, { ...this.services, moves });
  }
}

function createPlace(config: ReliabilityConfig, { clock, logger }: ExtensionContext): QueuePlace {
  const services = { clock, logger };
  if (config.store !== undefined) return new PostgresPlace(config.store.postgres, services);
  return new DiskPlace(config.directory, keepsJournals(config), services);
}

function once<T>(make: () => T): () => T {
  let made: T | undefined;
  return () => (made ??= make());
}

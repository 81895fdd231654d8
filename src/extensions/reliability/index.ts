import { join } from "node:path";
import {
  type Admin,
  type CompleteSettings,
  completeSettings,
  defineExtension,
  type ExporterSettings,
  type Extension,
  type ExtensionContext,
  type ExtensionFactory,
  type Outlet,
  type OutletFactory,
  type OutletSettings,
} from "../../plugin.js";
import { createAdmin } from "./admin.js";
import { type ReliabilityConfig, reliabilityConfig } from "./config.js";
import type { ExporterControl } from "./control.js";
import { directPath } from "./direct.js";
import { prepareDirectory } from "./directory.js";
import { directoryNameOf } from "./directory-name.js";
import { warnOfOrphanedQueues } from "./forgotten.js";
import { startDeadLetterMaintenance } from "./keeper.js";
import { QueueOutlet } from "./outlet.js";
import { LevelStore } from "./store/level-store.js";
import type { OpenReport, QueueStore } from "./store/store.js";

/** Stands between pipelines and exporters: what was accepted is kept until it is delivered or given up by a person. */
export const reliability = defineExtension<ReliabilityConfig>({
  type: "reliability",
  onByDefault: true,
  summary: "Wraps every exporter: a durable queue, retries, circuit breaker, dead letters and replay.",
  schema: reliabilityConfig,
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
  private readonly generation: string;
  private readonly createStore: ((exporter: string) => QueueStore) | undefined;
  private orphanCheck: Promise<void> | undefined;

  constructor(config: ReliabilityConfig, context: ExtensionContext, createStore?: (exporter: string) => QueueStore) {
    this.config = config;
    this.createStore = createStore;
    const { directory: _, ...defaults } = config;
    this.defaults = defaults;
    this.context = context;
    this.generation = context.host.generation ?? new Date(context.clock.now()).toISOString();
    this.admin = createAdmin(this.controls, this.services);
  }

  readonly outlets: OutletFactory = (outletSettings) => this.createOutlet(outletSettings);

  async start(): Promise<void> {
    if (this.createStore !== undefined) return;
    if (this.defaults.sending_queue?.enabled !== false) await prepareDirectory(this.config.directory);
  }

  async stop(): Promise<void> {
    await this.orphanCheck;
  }

  private get services() {
    const { clock, logger, metrics } = this.context;
    return { clock, logger, metrics, generation: this.generation };
  }

  private createOutlet(outletSettings: OutletSettings): Outlet {
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
      isBatching: layers.some((layer) => layer.sending_queue?.batch !== undefined),
      generation: this.generation,
      createStore: (onDamage) => this.createQueueStore(outletSettings.id, settings, onDamage),
      startMaintenance: (control) => startDeadLetterMaintenance(control, this.services),
    });
    this.controls.set(outletSettings.id, outlet);
    return outlet;
  }

  /** Runs when all outlets have been made: they are in one go. */
  private checkForOrphanedQueues(): Promise<void> {
    if (this.createStore !== undefined) return Promise.resolve();
    const used = [...this.controls.values()].filter(({ store }) => store !== undefined).map(({ id }) => id);
    return warnOfOrphanedQueues(this.config.directory, new Set(used), this.context.logger);
  }

  private createQueueStore(id: string, settings: CompleteSettings, onDamage: (report: OpenReport) => void): QueueStore {
    if (this.createStore !== undefined) return this.createStore(id);
    const { durability, durability_interval: intervalMs } = settings;
    const directory = join(this.config.directory, directoryNameOf(id));
    const now = () => this.context.clock.now();
    return new LevelStore({ exporter: id, directory, durability, intervalMs }, { now, onDamage });
  }
}

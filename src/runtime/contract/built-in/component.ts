/**
 * The runtime and the components of this package share these types beyond `component.ts`, which is all that plugins see.
 * Every member that is added here is optional, so whatever a plugin exports is of these types too.
 */
import type { ZodType } from "zod";
import type { Batch } from "#otlp";
import type { Signal } from "#otlp/signals";
import type { Authenticators, AuthSide, ClientAuthenticator, ServerAuthenticator } from "../auth.js";
import type {
  ComponentContext,
  ConnectorContext,
  ConnectorFactory,
  ExporterFactory,
  Extension,
  ExtensionContext,
  ExtensionFactory,
  Host,
  Processor,
  ProcessorContext,
  ProcessorFactory,
  Receiver,
  ReceiverContext,
  ReceiverFactory,
} from "../component.js";
import type { Delivery } from "../delivery.js";
import type { Exporter } from "../exporter.js";
import type { InsightBy, InsightReading, InsightSource } from "../insight/insight-snapshot.js";
import type { AgentInspection } from "../inspect/inspection.js";
import type { ListenSockets } from "../listen-sockets.js";
import type { MessageSource } from "../message-source.js";
import type { ConfigControl, RemoteConfigControl, RemoteConfigFile } from "../operations/config-control.js";
import type { ReceiverHealth } from "../operations/receiver-health.js";
import type { ReceiverStatus } from "../operations/receiver-status.js";
import type { SharingWorker, WorkerPart, WorkerStatus } from "../operations/workers.js";
import type { ConfigNow, JournalExchange, JournalFactory, JournalNotes } from "../operators/outlet.js";
import type { RehearsalControl } from "../rehearsal/rehearsal-control.js";
import type { ExporterSettings } from "../schema/exporter-settings.js";
import type {
  EndpointObserver,
  ExtensionRole,
  ExtensionServices,
  LeaderElection,
  ReceiverTypes,
} from "../services/extension-services.js";

/** The context that every built-in component gets. */
export interface BuiltInContext extends ComponentContext {
  /** The extensions that `auth` may name. An extension finds those that were started before it. */
  readonly authenticators?: Authenticators;
  /** The extensions that other keys than `auth` may name. */
  readonly extensions?: ExtensionServices;
  /** How large a processor may make a record, in bytes. */
  readonly maxRecordSize?: number | undefined;
  /** The listening servers of the agent. */
  readonly sockets?: ListenSockets | undefined;
}

export interface BuiltInReceiverContext extends BuiltInContext, ReceiverContext {
  /** Where the receiver reports whether it can read its sources. */
  readonly health?: ReceiverHealth;
  /** The types of receivers that this agent has, for a receiver that starts others. */
  readonly receiverTypes?: ReceiverTypes<BuiltInReceiverFactory> | undefined;
}

export interface BuiltInReceiver extends Receiver {
  /** Set if the source shows the state of each message. */
  readonly messages?: MessageSource;
}

export interface BuiltInProcessorContext extends BuiltInContext, ProcessorContext {
  /** Set if the pipeline's intake is durable. Then clients have their answers before the processor gets a delivery. */
  readonly journal?: JournalNotes;
}

export interface BuiltInConnectorContext extends BuiltInContext, ConnectorContext {
  /** Set for a connector with a journal of its own; see `wantsJournal`. */
  readonly journal?: JournalExchange | undefined;
}

/** The agent, as its built-in extensions see it. */
export interface BuiltInHost extends Host {
  /** The config that runs now. */
  readonly current?: ConfigNow;
  /** Masks a batch for people: values that the detectors of `pii` find are masked. Rejects if that is impossible. */
  mask?(batch: Batch): Promise<Batch>;
  /** Loads a function that masks synchronously, and throws if it cannot. */
  loadMask?(): Promise<(batch: Batch) => Batch>;
  /** A view of the agent's components; undefined until they are created. */
  readonly inspection?: AgentInspection | undefined;
  /** Returns a receiver; undefined if there is none with this id, or none is created yet. */
  receiver?(id: string): BuiltInReceiver | undefined;
  /** The agent's config, if it can be reloaded. */
  readonly configControl?: ConfigControl | undefined;
  /** Rehearses the config from its files; undefined if this agent was not started from files. */
  readonly rehearsals?: RehearsalControl | undefined;
  /** How all receivers are; none until they are created. */
  receivers?(): readonly ReceiverStatus[];
  /**
   * Present if the agent has several workers. Resolves when the exporters, the receivers and the numbers of records are
   * those of now; without it they are what the workers told last.
   */
  readonly refresh?: (() => Promise<void>) | undefined;
  /** Reads what the traffic consists of; undefined if no extension knows. */
  readonly insight?: ((by: InsightBy) => Promise<InsightReading>) | undefined;
  /** The workers, if the agent has several. */
  readonly workers?: (() => readonly WorkerStatus[]) | undefined;
  /** Takes configs of a management server; undefined if this agent cannot reload its config. */
  readonly remoteConfig?: RemoteConfigControl | undefined;
}

export interface BuiltInExtensionContext extends BuiltInContext, ExtensionContext {
  readonly host: BuiltInHost;
  /** Set if the agent has several workers, or had: this process is one of them. */
  readonly worker?: WorkerPart | undefined;
  /**
   * Present if the agent has several workers: opens a way by which all of them hand deliveries to worker 1, where
   * `onArrival` gets them. The result takes a delivery, which is settled as worker 1 settles it.
   */
  readonly toFirstWorker?:
    | ((place: string, onArrival: (delivery: Delivery) => void) => (delivery: Delivery) => void)
    | undefined;
}

export interface BuiltInExtension extends Extension {
  /**
   * An extension with this member creates the journals of pipelines with a durable intake. Only the first one is used.
   */
  readonly journals?: JournalFactory;
  /** Called with the new config of an extension with `restartKeys`, before components are created with it. */
  reconfigure?(config: unknown): void;
  /** See `Agent.adoptWorkersAbove`. */
  adoptWorkersAbove?(count: number): Promise<void>;
  /** Called with the components when they are created, and again after every reload. */
  inspect?(inspection: AgentInspection): void;
  /** Set if it knows what the traffic consists of. Only the first one is asked. */
  readonly insight?: InsightSource;
  /** Authenticates requests to receivers and servers that name this extension under `auth`. */
  readonly serverAuthenticator?: ServerAuthenticator;
  /** Authenticates requests of exporters that name this extension under `auth`. */
  readonly clientAuthenticator?: ClientAuthenticator;
  /** Finds endpoints for receivers that name this extension. */
  readonly endpointObserver?: EndpointObserver;
  /** Elects a leader for receivers that name this extension. */
  readonly leaderElection?: LeaderElection;
}

/** Members that any built-in type of component may have. */
interface BuiltInFactory<Config> {
  /** The config of one of several workers, which gets its share of the limits. */
  shareOf?(config: Config, worker: SharingWorker): Config;
  /** The addresses that it listens at with this config. Two components at one address are a config error. */
  listensAt?(config: Config): readonly Listener[];
}

/** An address that a component listens at: a host (all if undefined) and a port, or a Unix socket. */
export interface Listener {
  readonly address: { readonly host: string | undefined; readonly port: number } | { readonly path: string };
  /** TCP if left out. */
  readonly transport?: "udp";
  /** The path of the key in the component's config that sets it. */
  readonly key: readonly (string | number)[];
  /** How it is protected, if it accepts or shows telemetry. Without protection, a public address causes a warning. */
  readonly protection?: { readonly tls: boolean; readonly auth: boolean };
}

export interface BuiltInReceiverFactory<Config = unknown> extends ReceiverFactory<Config>, BuiltInFactory<Config> {
  /**
   * Whether a receiver with this config can start while the one that it replaces still runs: it takes over its sockets.
   * All others are started when the former one has stopped.
   */
  handsOver?(config: Config): boolean;
  create(config: Config, context: BuiltInReceiverContext): BuiltInReceiver;
}

export interface BuiltInProcessorFactory<Config = unknown> extends ProcessorFactory<Config>, BuiltInFactory<Config> {
  /**
   * Whether the processor computes over all metrics of a batch. Only very large batches are then cut into slices before
   * they reach it.
   */
  needsWholeBatches?(config: Config): boolean;
  /**
   * Whether the processor looks at one data point at a time. Otherwise the points of a metric reach it together, unless
   * they are very many.
   */
  readonly takesSinglePoints?: boolean;
  /** Returns why, with this config, the processor cannot work on one of its signals; undefined if it can. */
  refusesSignal?(config: Config, signal: Signal): string | undefined;
  /**
   * For processors from before connectors existed, which pass everything on and also create another signal from it. They
   * run as this connector, with the same config, and the exporter with that id gets what the connector makes.
   */
  asConnector?(config: Config): { readonly connector: BuiltInConnectorFactory; readonly exporter: NamedExporter };
  create(config: Config, context: BuiltInProcessorContext): Processor;
}

/** An exporter that a processor's config names, and the path of the name in that config. */
interface NamedExporter {
  readonly id: string;
  readonly path: readonly string[];
}

export interface BuiltInExporterFactory<Config = unknown> extends ExporterFactory<Config>, BuiltInFactory<Config> {
  /** Returns why, with this config, the exporter cannot take one of its signals; undefined if it can. */
  refusesSignal?(config: Config, signal: Signal): string | undefined;
  create(config: Config, context: BuiltInContext): Exporter;
}

export interface BuiltInConnectorFactory<Config = unknown> extends ConnectorFactory<Config>, BuiltInFactory<Config> {
  /**
   * For a connector that keeps data in another form, such as counts, until it hands that on. Meanwhile its input is
   * kept in a journal of its own, and its deliveries have an `origin.position`. Such a connector has one route.
   */
  wantsJournal?(config: Config): boolean;
  create(config: Config, context: BuiltInConnectorContext): Processor;
}

/** Config keys without effect, of the extension itself and of every exporter, and the reason. */
export interface IgnoredKeys {
  readonly own: readonly string[];
  readonly ofExporters: readonly string[];
  readonly reason: string;
}

export interface BuiltInExtensionFactory<Config = unknown> extends ExtensionFactory<Config>, BuiltInFactory<Config> {
  /** The type of an extension that does not run by default beside this one. */
  readonly replaces?: string;
  /** Whether, with this config, it creates journals for pipelines that do not ask for one explicitly. */
  keepsJournals?(config: Config): boolean;
  /** Config keys that have no effect with this config, for a warning. */
  ignoredKeys?(config: Config): IgnoredKeys | undefined;
  /** The sides of a connection that it authenticates with this config. */
  authenticates?(config: Config): readonly AuthSide[];
  /** The role for which receivers may name it. */
  readonly serves?: ExtensionRole;
  /** The defaults that it sets for the keys that every exporter has. It is told new ones by `reconfigure`. */
  exporterDefaults?(config: Config): ExporterSettings;
  /** For an extension that is never replaced while the agent runs: the config keys that only a new start can change. */
  readonly restartKeys?: readonly string[];
  /** Files that it has kept from a management server, to be merged after the config that it is part of. */
  remoteConfig?(config: Config, id: string): Promise<readonly RemoteConfigFile[]>;
  /** The schema of the keys that every exporter has, with checks that only the extension reading them can make. */
  readonly exporterSettings?: ZodType<ExporterSettings>;
  /**
   * Loads what its schemas need for a config. Called before the config is checked. `hasKey` tells whether a key is
   * anywhere in the config.
   */
  prepareConfig?(hasKey: (key: string) => boolean): Promise<void>;
  /** Loads what `create` needs. Called before it, so commands that only read the config do without. */
  prepareCreate?(): Promise<void>;
  create(config: Config, context: BuiltInExtensionContext): BuiltInExtension;
}

/** Any type of component that the runtime knows, built in or of a plugin. */
export type BuiltInComponentFactory =
  | BuiltInReceiverFactory
  | BuiltInProcessorFactory
  | BuiltInExporterFactory
  | BuiltInConnectorFactory
  | BuiltInExtensionFactory;

import type { OperatorFunction } from "rxjs";
import type { ZodType } from "zod";
import type { Batch } from "#otlp";
import type { Signal } from "#otlp/signals";
import type { AnyRecordView, DataPointView, LogRecordView, SpanView } from "#otlp/views";
import type { Authenticators, AuthSide, ClientAuthenticator, ServerAuthenticator } from "./auth.js";
import type { Clock } from "./clock.js";
import type { Setback } from "./dead-letter.js";
import type { Outcome } from "./debt.js";
import type { Delivery, Origin } from "./delivery.js";
import type { Exporter } from "./exporter.js";
import type { InsightBy, InsightReading, InsightSource } from "./insight/insight-snapshot.js";
import type { AgentInspection } from "./inspect/inspection.js";
import type { ListenSockets } from "./listen-sockets.js";
import type { MessageSource } from "./message-source.js";
import type { Logger, Metrics } from "./observability.js";
import type { Admin } from "./operations/admin.js";
import type { ConfigControl } from "./operations/config-control.js";
import type { ReceiverHealth } from "./operations/receiver-health.js";
import type { ReceiverStatus } from "./operations/receiver-status.js";
import type { RemoteConfigControl, RemoteConfigFile } from "./operations/remote-config.js";
import type { SharingWorker, WorkerPart } from "./operations/worker-part.js";
import type { WorkerStatus } from "./operations/worker-status.js";
import type { BatcherSettings } from "./operators/batcher.js";
import type { JournalExchange, JournalFactory, JournalNotes, OutletFactory } from "./operators/outlet.js";
import type { RehearsalControl } from "./rehearsal/rehearsal-control.js";
import type { ExporterSettings } from "./schema/exporter-settings.js";
import type {
  EndpointObserver,
  ExtensionRole,
  ExtensionServices,
  LeaderElection,
  ReceiverTypes,
} from "./services/extension-services.js";

/**
 * The version of the contract that a component is built for. It is incremented when the interfaces of components
 * change. A plugin built for another version is refused before anything starts, with a message that names it.
 */
export const CONTRACT_VERSION = 1;

/** The kinds of components, one for each section of a config. */
export type ComponentKind = "receiver" | "processor" | "exporter" | "connector" | "extension";

/** The context that every component gets. `id` is the `type[/name]` of the config. */
export interface ComponentContext {
  readonly id: string;
  readonly kind: ComponentKind;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly clock: Clock;
  /** Returns a number in [0, 1). Passed in so that tests can control it. */
  readonly random: () => number;
  /** @internal The extensions that `auth` may name. An extension finds those that were started before it. */
  readonly authenticators?: Authenticators;
  /** @internal The extensions that other keys than `auth` may name. */
  readonly extensions?: ExtensionServices;
  /** @internal How large a processor may make a record, in bytes. */
  readonly maxRecordSize?: number | undefined;
  /** @internal The listening servers of the agent. */
  readonly sockets?: ListenSockets | undefined;
}

/** Takes the batches that a receiver got. There is one for each signal that a pipeline takes from the receiver. */
export interface Intake {
  /**
   * Resolves when the batch's debt is settled: accepted by every exporter of every pipeline, or refused. Never rejects.
   * Above the limit of unsettled bytes it refuses at once with a retryable error and `retryAfterMs`. With a `setback`
   * the batch skips the processors, and every exporter keeps it as a dead letter. This is for messages that cannot be
   * parsed and must not be lost.
   */
  accept(batch: Batch, origin?: Partial<Origin>, setback?: Setback): Promise<Outcome>;
  /**
   * Reserves bytes of a request that is still being read. Returns false above the limit: stop reading and refuse;
   * nothing was reserved. Reserved bytes must be released once, before `accept` takes over or when the request ends.
   */
  reserve(bytes: number): boolean;
  release(bytes: number): void;
}

/** The context of a receiver: its intakes in addition to the common context. */
export interface ReceiverContext extends ComponentContext {
  /** A signal without an intake is read by no pipeline. */
  readonly intakes: Readonly<Partial<Record<Signal, Intake>>>;
  /** @internal Where the receiver reports whether it can read its sources. */
  readonly health?: ReceiverHealth;
  /** @internal The types of receivers that this agent has, for a receiver that starts others. */
  readonly receiverTypes?: ReceiverTypes<ReceiverFactory> | undefined;
}

/** Takes data from outside and hands it to its intakes. Stopped before the components that it feeds. */
export interface Receiver {
  /** Resolves when the receiver can receive data. Throws a `StartError` if that is impossible. */
  start(): Promise<void>;
  /**
   * Accepts nothing new, and resolves when everything already handed to the intake has been answered. Partly read
   * requests are refused with a retryable error. Never waits for a client that does not read or write.
   */
  stop(): Promise<void>;
  /** @internal Set if the source shows the state of each message. */
  readonly messages?: MessageSource;
}

/** The context of a processor: the pipeline it is created for. Each pipeline creates its own processor. */
export interface ProcessorContext extends ComponentContext {
  readonly signal: Signal;
  readonly pipeline: string;
  /**
   * @internal Set if the pipeline's intake is durable. Then clients have their answers before the processor gets a
   * delivery.
   */
  readonly journal?: JournalNotes;
}

/**
 * Where in a pipeline a processor belongs. A config that puts a later zone before an earlier one causes a warning. A
 * processor that may be anywhere has no zone. One that dead-letters records should have one, because dead letters made
 * before `pii` are stored unmasked.
 */
export type Zone = "validate" | "pii" | "rate_limit" | "sampling" | "versioning" | "routing";

/** All zones in their recommended order. */
export const ZONES: readonly Zone[] = ["validate", "pii", "rate_limit", "sampling", "versioning", "routing"];

/** Prepares a batch that is replayed. Throws a `Refusal` if the batch must not be sent. */
export type ReplayStep = (batch: Batch) => Batch;

/** How many bytes of requests a processor may hold back, and the path of the config key that sets this limit. */
export interface HeldBytesLimit {
  readonly bytes: number;
  readonly path: readonly (string | number)[];
  /**
   * How long it may hold them, in milliseconds, if that is known. Clients wait this long if the pipeline's intake is
   * not durable.
   */
  readonly waitMs?: number;
}

/**
 * An operator on deliveries. It must settle, hand on, split or merge every delivery that it gets; a lost delivery is
 * never answered. `complete` means drain: the processor flushes what it holds. Unsubscribing means abort: the processor
 * drops what it holds, and the runtime refuses it.
 *
 * @example
 * const processor: Processor = map((delivery) => delivery.with(editRecords(delivery.batch, () => "keep")));
 */
export type Processor<View extends AnyRecordView = AnyRecordView> = OperatorFunction<Delivery, Delivery> & {
  readonly [VIEW]?: ViewBrand<View>;
};

/** Only for the type checker, which uses it to infer the record type of `eachRecord` from the processor's signals. */
declare const VIEW: unique symbol;

interface ViewBrand<View> {
  /** A method, so that a processor for any record is assignable to one for log records and vice versa. */
  see(record: View): void;
}

interface ViewsBySignal {
  readonly logs: LogRecordView;
  readonly traces: SpanView;
  readonly metrics: DataPointView;
}

/**
 * The kind of record in batches of a signal. A conditional type, so that TypeScript defers it while S is not inferred.
 */
export type RecordViewOf<S extends Signal> = S extends Signal ? ViewsBySignal[S] : never;

/** The context of a connector: the pipelines on both sides. */
export interface ConnectorContext extends ComponentContext {
  /** Signal of the pipeline that ends in this connector. */
  readonly from: Signal;
  /** Signal of the pipelines that begin with it. */
  readonly to: Signal;
  /** The ids of the pipelines that begin with it; `delivery.to([...])` chooses among them. */
  readonly targets: readonly string[];
  /** False if data for this target would have to wait. One of its exporters is paused, or its breaker is open. */
  readonly isAvailable: (target: string) => boolean;
  /** @internal Set for a connector with a journal of its own; see `wantsJournal`. */
  readonly journal?: JournalExchange | undefined;
}

/** The context of an exporter. */
export type ExporterContext = ComponentContext;

/**
 * Name of the header or gRPC metadata in which Sluice's own exporters send `SendOptions.idempotencyKey`, and in which
 * its receivers expect it.
 */
export const IDEMPOTENCY_HEADER = "sluice-idempotency-key";

/** The agent, as its extensions see it. */
export interface Host {
  readonly state: "starting" | "ready" | "draining" | "stopped";
  /**
   * The operators' interface of the extension that wraps exporters. Undefined before it has started, or without such an
   * extension.
   */
  readonly admin?: Admin | undefined;
  /** Identifies the config that the agent runs with. It is the same for the same config, whenever it was started. */
  readonly generation?: string;
  /**
   * @internal Masks a batch for people: values that the detectors of `pii` find are masked. Rejects if that is
   * impossible.
   */
  mask?(batch: Batch): Promise<Batch>;
  /** @internal Loads a function that masks synchronously, and throws if it cannot. */
  loadMask?(): Promise<(batch: Batch) => Batch>;
  /** @internal A view of the agent's components; undefined until they are created. */
  readonly inspection?: AgentInspection | undefined;
  /** @internal Returns a receiver; undefined if there is none with this id, or none is created yet. */
  receiver?(id: string): Receiver | undefined;
  /** @internal The agent's config, if it can be reloaded. */
  readonly configControl?: ConfigControl | undefined;
  /** @internal Rehearses the config from its files; undefined if this agent was not started from files. */
  readonly rehearsals?: RehearsalControl | undefined;
  /** @internal How all receivers are; none until they are created. */
  receivers?(): readonly ReceiverStatus[];
  /**
   * @internal Present if the agent has several workers. Resolves when the exporters, the receivers and the numbers of
   * records are those of now; without it they are what the workers told last.
   */
  readonly refresh?: (() => Promise<void>) | undefined;
  /** @internal Reads what the traffic consists of; undefined if no extension knows. */
  readonly insight?: ((by: InsightBy) => Promise<InsightReading>) | undefined;
  /** @internal The workers, if the agent has several. */
  readonly workers?: (() => readonly WorkerStatus[]) | undefined;
  /** @internal Takes configs of a management server; undefined if this agent cannot reload its config. */
  readonly remoteConfig?: RemoteConfigControl | undefined;
}

/** The context of an extension: the agent that runs it. */
export interface ExtensionContext extends ComponentContext {
  readonly host: Host;
  /** @internal Set if the agent has several workers, or had: this process is one of them. */
  readonly worker?: WorkerPart | undefined;
  /**
   * @internal Present if the agent has several workers: opens a way by which all of them hand deliveries to worker 1,
   * where `onArrival` gets them. The result takes a delivery, which is settled as worker 1 settles it.
   */
  readonly toFirstWorker?:
    | ((place: string, onArrival: (delivery: Delivery) => void) => (delivery: Delivery) => void)
    | undefined;
}

/** Runs next to the pipelines. Started before all other components and stopped after them. */
export interface Extension {
  start(): Promise<void>;
  /** Called when everything that was started after it has stopped. */
  stop(): Promise<void>;
  /** An extension with this member wraps every exporter in every pipeline. Only the first such extension is used. */
  readonly outlets?: OutletFactory;
  /**
   * @internal An extension with this member creates the journals of pipelines with a durable intake. Only the first one
   * is used.
   */
  readonly journals?: JournalFactory;
  readonly admin?: Admin;
  /** @internal Called with the new config of an extension with `restartKeys`, before components are created with it. */
  reconfigure?(config: unknown): void;
  /** @internal See `Agent.adoptWorkersAbove`. */
  adoptWorkersAbove?(count: number): Promise<void>;
  /** @internal Called with the components when they are created, and again after every reload. */
  inspect?(inspection: AgentInspection): void;
  /** @internal Set if it knows what the traffic consists of. Only the first one is asked. */
  readonly insight?: InsightSource;
  /** @internal Authenticates requests to receivers and servers that name this extension under `auth`. */
  readonly serverAuthenticator?: ServerAuthenticator;
  /** @internal Authenticates requests of exporters that name this extension under `auth`. */
  readonly clientAuthenticator?: ClientAuthenticator;
  /** @internal Finds endpoints for receivers that name this extension. */
  readonly endpointObserver?: EndpointObserver;
  /** @internal Elects a leader for receivers that name this extension. */
  readonly leaderElection?: LeaderElection;
}

/**
 * How a component runs in an agent with several workers (`service.workers`).
 *
 * - `each`: every worker runs its own, which gets what arrives at that worker. For components that keep nothing between
 *   batches, or whose state may differ between workers.
 * - `trace`: every worker runs its own, and all records of a trace come to the same one.
 * - `series`: every worker runs its own, and all records of a resource come to the same one, and so does every series.
 * - `one`: only one worker runs it. All data for it is moved to that worker.
 */
export type WorkerMode = "each" | "trace" | "series" | "one";

/** Chooses the mode by the config. Declared through a method, so that a factory of any config is a factory. */
type ChooseWorkerMode<Config> = { choose(config: Config): WorkerMode }["choose"];

/** Members common to all types of components that are part of pipelines. */
interface PipelineFactory<Kind extends ComponentKind, Config> extends FactoryBase<Kind, Config> {
  /** How it runs in an agent with several workers. Default: `each`. A receiver is either in each worker or in one. */
  readonly workers?: WorkerMode | ChooseWorkerMode<Config>;
}

/** Members common to all types of components. */
interface FactoryBase<Kind extends ComponentKind, Config> {
  readonly kind: Kind;
  /** The name in the config. */
  readonly type: string;
  /** Other names of the same component, accepted silently. */
  readonly aliases?: readonly string[];
  /** One sentence for `sluice components` and the reference. */
  readonly summary: string;
  /** Parses what users write into what `create` gets. An absent or null config is parsed as `{}`. */
  readonly schema: ZodType<Config>;
  /** The `CONTRACT_VERSION` it was built for. */
  readonly contract: number;
  /** @internal The config of one of several workers, which gets its share of the limits. */
  shareOf?(config: Config, worker: SharingWorker): Config;
  /** @internal The addresses that it listens at with this config. Two components at one address are a config error. */
  listensAt?(config: Config): readonly Listener[];
}

/** @internal An address that a component listens at: a host (all if undefined) and a port, or a Unix socket. */
export interface Listener {
  readonly address: { readonly host: string | undefined; readonly port: number } | { readonly path: string };
  /** TCP if left out. */
  readonly transport?: "udp";
  /** The path of the key in the component's config that sets it. */
  readonly key: readonly (string | number)[];
  /** How it is protected, if it accepts or shows telemetry. Without protection, a public address causes a warning. */
  readonly protection?: { readonly tls: boolean; readonly auth: boolean };
}

/** A type of receiver, as `defineReceiver` creates it and a plugin exports it. */
export interface ReceiverFactory<Config = unknown> extends PipelineFactory<"receiver", Config> {
  readonly signals: readonly Signal[];
  /**
   * @internal Whether a receiver with this config can start while the one that it replaces still runs: it takes over
   * its sockets. All others are started when the former one has stopped.
   */
  handsOver?(config: Config): boolean;
  create(config: Config, context: ReceiverContext): Receiver;
}

/** A type of processor, as `defineProcessor` creates it and a plugin exports it. */
export interface ProcessorFactory<Config = unknown> extends PipelineFactory<"processor", Config> {
  readonly signals: readonly Signal[];
  readonly zone?: Zone;
  /** For processors that only want larger requests. The runtime merges batches when sending, behind the queue. */
  batching?(config: Config): BatcherSettings & { readonly metadataKeys?: readonly string[] };
  /**
   * For processors that hold deliveries back. Data for their pipeline is stored on disk first, so clients do not wait.
   * A limit that is not below the limit of the whole agent causes a warning.
   */
  maxHeldBytes?(config: Config): HeldBytesLimit;
  /**
   * @internal Whether the processor computes over all metrics of a batch. Only very large batches are then cut into
   * slices before they reach it.
   */
  needsWholeBatches?(config: Config): boolean;
  /**
   * @internal Whether the processor looks at one data point at a time. Otherwise the points of a metric reach it
   * together, unless they are very many.
   */
  readonly takesSinglePoints?: boolean;
  /** @internal Returns why, with this config, the processor cannot work on one of its signals; undefined if it can. */
  refusesSignal?(config: Config, signal: Signal): string | undefined;
  create(config: Config, context: ProcessorContext): Processor;
  /**
   * @internal For processors that pass everything on and also create another signal from it. A connector with the same
   * config gets a copy of every delivery, and the exporter with that id gets the connector's output.
   */
  copyTo?(config: Config): { readonly connector: ConnectorFactory; readonly exporter: NamedExporter };
  /**
   * Prepares dead letters of this pipeline for a replay. They do not pass the processor again. For processors that
   * bring old data up to date.
   */
  replay?(config: Config, context: ProcessorContext): ReplayStep;
}

/** A type of exporter, as `defineExporter` creates it and a plugin exports it. */
export interface ExporterFactory<Config = unknown> extends PipelineFactory<"exporter", Config> {
  readonly signals: readonly Signal[];
  /** How it runs in an agent with several workers, whatever its config. Default: `each`. */
  readonly workers?: WorkerMode;
  /** Its own defaults of the common exporter keys, as in YAML: `{ timeout: "30s" }`. */
  readonly defaults?: Readonly<Record<string, unknown>>;
  /** @internal Returns why, with this config, the exporter cannot take one of its signals; undefined if it can. */
  refusesSignal?(config: Config, signal: Signal): string | undefined;
  create(config: Config, context: ExporterContext): Exporter;
}

/** An exporter that a processor's config names, and the path of the name in that config. */
interface NamedExporter {
  readonly id: string;
  readonly path: readonly string[];
}

/** A pipeline that a connector's config names, and the path of the name in that config. */
export interface NamedPipeline {
  readonly pipeline: string;
  readonly path: readonly (string | number)[];
}

/** A type of connector, as `defineConnector` creates it and a plugin exports it. */
export interface ConnectorFactory<Config = unknown> extends PipelineFactory<"connector", Config> {
  /** The signals that it converts. */
  readonly routes: readonly { readonly from: Signal; readonly to: Signal }[];
  readonly zone?: Zone;
  /**
   * @internal For a connector that keeps data in another form, such as counts, until it hands that on. Meanwhile its
   * input is kept in a journal of its own, and its deliveries have an `origin.position`. Such a connector has one
   * route.
   */
  wantsJournal?(config: Config): boolean;
  /** The pipelines that its config names. Naming one that this connector does not feed is a config error. */
  namedPipelines?(config: Config): readonly NamedPipeline[];
  create(config: Config, context: ConnectorContext): Processor;
}

/** @internal Config keys without effect, of the extension itself and of every exporter, and the reason. */
export interface IgnoredKeys {
  readonly own: readonly string[];
  readonly ofExporters: readonly string[];
  readonly reason: string;
}

/** A type of extension, as `defineExtension` creates it and a plugin exports it. */
export interface ExtensionFactory<Config = unknown> extends FactoryBase<"extension", Config> {
  /** Whether it runs with its defaults even if service.extensions does not name it. */
  readonly onByDefault?: boolean;
  /** @internal The type of an extension that does not run by default beside this one. */
  readonly replaces?: string;
  /**
   * Where it runs if the agent has several workers (`service.workers`): in each of them (the default), only in their
   * parent, where operators look at the agent as a whole, or in both, such as authenticators.
   */
  readonly runsIn?: "workers" | "parent" | "both";
  /** @internal Whether, with this config, it creates journals for pipelines that do not ask for one explicitly. */
  keepsJournals?(config: Config): boolean;
  /** @internal Config keys that have no effect with this config, for a warning. */
  ignoredKeys?(config: Config): IgnoredKeys | undefined;
  /** @internal The sides of a connection that it authenticates with this config. */
  authenticates?(config: Config): readonly AuthSide[];
  /** @internal What receivers may name it for. */
  readonly serves?: ExtensionRole;
  /** @internal The defaults that it sets for the keys that every exporter has. It is told new ones by `reconfigure`. */
  exporterDefaults?(config: Config): ExporterSettings;
  /**
   * @internal For an extension that is never replaced while the agent runs: the keys of its config that only a new start
   * can change.
   */
  readonly restartKeys?: readonly string[];
  /** @internal Files that it has kept from a management server, to be merged after the config that it is part of. */
  remoteConfig?(config: Config, id: string): Promise<readonly RemoteConfigFile[]>;
  /** @internal The schema of the keys that every exporter has, with checks that only the extension reading them can make. */
  readonly exporterSettings?: ZodType<ExporterSettings>;
  /**
   * @internal Loads what its schemas need for a config. Called before the config is checked. `hasKey` tells whether a key
   * is anywhere in the config.
   */
  prepareConfig?(hasKey: (key: string) => boolean): Promise<void>;
  /** @internal Loads what `create` needs. Called before it, so commands that only read the config do without. */
  prepareCreate?(): Promise<void>;
  create(config: Config, context: ExtensionContext): Extension;
}

/** @internal How a component of this type and config runs in an agent with several workers. */
export function workerMode<Config>(
  { workers = "each" }: Pick<PipelineFactory<ComponentKind, Config>, "workers">,
  config: Config,
): WorkerMode {
  return typeof workers === "function" ? workers(config) : workers;
}

/** Any type of component that a plugin may export. */
export type ComponentFactory =
  | ReceiverFactory
  | ProcessorFactory
  | ExporterFactory
  | ConnectorFactory
  | ExtensionFactory;

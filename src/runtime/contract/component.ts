import type { OperatorFunction } from "rxjs";
import type { ZodType } from "zod";
import type { Batch } from "#otlp";
import type { Signal } from "#otlp/signals";
import type { AnyRecordView, DataPointView, LogRecordView, SpanView } from "#otlp/views";
import type { Clock } from "./clock.js";
import type { Setback } from "./dead-letter.js";
import type { Outcome } from "./debt.js";
import type { Delivery, Origin } from "./delivery.js";
import type { Exporter } from "./exporter.js";
import type { Logger, Metrics } from "./observability.js";
import type { Admin } from "./operations/admin.js";
import type { BatcherSettings } from "./operators/batcher.js";
import type { OutletFactory } from "./operators/outlet.js";

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
}

/** The context of a processor: the pipeline it is created for. Each pipeline creates its own processor. */
export interface ProcessorContext extends ComponentContext {
  readonly signal: Signal;
  readonly pipeline: string;
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
}

/** The context of an extension: the agent that runs it. */
export interface ExtensionContext extends ComponentContext {
  readonly host: Host;
}

/** Runs next to the pipelines. Started before all other components and stopped after them. */
export interface Extension {
  start(): Promise<void>;
  /** Called when everything that was started after it has stopped. */
  stop(): Promise<void>;
  /** An extension with this member wraps every exporter in every pipeline. Only the first such extension is used. */
  readonly outlets?: OutletFactory;
  readonly admin?: Admin;
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
export type ChooseWorkerMode<Config> = { choose(config: Config): WorkerMode }["choose"];

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
}

/** A type of receiver, as `defineReceiver` creates it and a plugin exports it. */
export interface ReceiverFactory<Config = unknown> extends PipelineFactory<"receiver", Config> {
  readonly signals: readonly Signal[];
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
  create(config: Config, context: ProcessorContext): Processor;
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
  create(config: Config, context: ExporterContext): Exporter;
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
  /** The pipelines that its config names. Naming one that this connector does not feed is a config error. */
  namedPipelines?(config: Config): readonly NamedPipeline[];
  create(config: Config, context: ConnectorContext): Processor;
}

/** A type of extension, as `defineExtension` creates it and a plugin exports it. */
export interface ExtensionFactory<Config = unknown> extends FactoryBase<"extension", Config> {
  /** Whether it runs with its defaults even if service.extensions does not name it. */
  readonly onByDefault?: boolean;
  /**
   * Where it runs if the agent has several workers (`service.workers`): in each of them (the default), only in their
   * parent, where operators look at the agent as a whole, or in both, such as authenticators.
   */
  readonly runsIn?: "workers" | "parent" | "both";
  create(config: Config, context: ExtensionContext): Extension;
}

/** Any type of component that a plugin may export. */
export type ComponentFactory =
  | ReceiverFactory
  | ProcessorFactory
  | ExporterFactory
  | ConnectorFactory
  | ExtensionFactory;

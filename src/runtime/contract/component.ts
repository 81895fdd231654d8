import type { OperatorFunction } from "rxjs";
import type { ZodType } from "zod";
import type { Batch } from "#otlp";
import type { Signal } from "#otlp/signals";
import type { AnyRecordView, DataPointView, LogRecordView, SpanView } from "#otlp/views";
import type { Authenticators, AuthSide, ClientAuthenticator, ServerAuthenticator } from "./auth.js";
import type { Clock } from "./clock.js";
import type { Setback } from "./dead-letter.js";
import type { Outcome } from "./debt.js";
import type { Delivery, Origin, PartialRejection } from "./delivery.js";
import type { AgentInspection } from "./inspect/inspection.js";
import type { Logger, Metrics } from "./observability.js";
import type { Admin } from "./operations/admin.js";
import type { BatcherSettings } from "./operators/batcher.js";
import type { JournalExchange, JournalFactory, JournalNotes, OutletFactory } from "./operators/outlet.js";

/**
 * The number of the contract that a component is built for. It is raised when the interfaces of components change; a
 * plugin built for another number is refused by name, before anything starts.
 */
export const CONTRACT_VERSION = 1;

/** The five sections of a config that components are in. */
export type ComponentKind = "receiver" | "processor" | "exporter" | "connector" | "extension";

/** What every component is given. `id` is the `type[/name]` of the config. */
export interface ComponentContext {
  readonly id: string;
  readonly kind: ComponentKind;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly clock: Clock;
  /** A number in [0, 1). Passed in so that tests can fix it. */
  readonly random: () => number;
  /** @internal The extensions that `auth` may name; an extension finds those that are started before it. */
  readonly authenticators?: Authenticators;
}

/** Where a receiver hands in what it got. One for each signal that a pipeline takes from the receiver. */
export interface Intake {
  /**
   * Resolves when the batch's debt is settled: accepted by every exporter of every pipeline, or refused. Never rejects.
   * Over the limit of unsettled bytes it refuses at once, retryably, with `retryAfterMs`. With a `setback` it passes the
   * processors, and every exporter keeps it as a dead letter: for messages that cannot be read and must not be lost.
   */
  accept(batch: Batch, origin?: Partial<Origin>, setback?: Setback): Promise<Outcome>;
  /**
   * Bytes of a request that is still being read count too. False: over the limit, stop reading and refuse; nothing
   * was reserved. What was reserved must be released once, before `accept` takes over or when the request ends.
   */
  reserve(bytes: number): boolean;
  release(bytes: number): void;
}

/** What a receiver is given: its intakes beside what every component gets. */
export interface ReceiverContext extends ComponentContext {
  /** Signals without an entry have no pipeline that reads them from this receiver. */
  readonly intakes: Readonly<Partial<Record<Signal, Intake>>>;
}

/** Takes data from outside and hands it to its intakes. Stopped before anything it feeds. */
export interface Receiver {
  /** Resolves when the receiver is ready to be sent to. Throws a `StartError` when it cannot be. */
  start(): Promise<void>;
  /**
   * Takes nothing new from the moment it is called, and resolves when everything already handed to the intake has been
   * answered. What is only half read is refused, retryably. Never waits for a client that does not read or write.
   */
  stop(): Promise<void>;
}

/** What a processor is given: the pipeline it is made for. Each pipeline makes its own. */
export interface ProcessorContext extends ComponentContext {
  readonly signal: Signal;
  readonly pipeline: string;
  /** @internal Set when the pipeline's intake is durable: clients have their answers before a delivery comes. */
  readonly journal?: JournalNotes;
}

/**
 * Where in a pipeline a processor belongs; a config that puts a later zone before an earlier one gets a warning. A
 * processor that is at home anywhere has none. One that dead-letters records should have one: in front of `pii` they
 * are kept as they came.
 */
export type Zone = "validate" | "pii" | "rate_limit" | "sampling" | "versioning" | "routing";

/** All zones, in the order in which they belong. */
export const ZONES: readonly Zone[] = ["validate", "pii", "rate_limit", "sampling", "versioning", "routing"];

/** What a processor does to a batch that is sent again by hand. Throws a `Refusal` when it is not fit to be sent. */
export type ReplayStep = (batch: Batch) => Batch;

/** How many bytes of requests a processor may hold back, and the path of the key in its config that says so. */
export interface HeldBytesLimit {
  readonly bytes: number;
  readonly path: readonly (string | number)[];
  /** For how many milliseconds, if that is known: so long clients wait whose pipeline's intake is not durable. */
  readonly waitMs?: number;
}

/**
 * An operator on deliveries. It must settle, hand on, split or merge every delivery it is given: what it loses is never
 * answered. `complete` means drain: it flushes what it holds. Unsubscribing means abort: it lets go, and the runtime
 * refuses what it held.
 *
 * @example
 * const processor: Processor = map((delivery) => delivery.with(editRecords(delivery.batch, () => "keep")));
 */
export type Processor<View extends AnyRecordView = AnyRecordView> = OperatorFunction<Delivery, Delivery> & {
  readonly [VIEW]?: ViewBrand<View>;
};

/** Exists for the type checker alone: by it `eachRecord` knows the signals of the processor it is in. */
declare const VIEW: unique symbol;

interface ViewBrand<View> {
  /** A method, so that a processor for any record is one for log records, and the other way round. */
  see(record: View): void;
}

interface ViewsBySignal {
  readonly logs: LogRecordView;
  readonly traces: SpanView;
  readonly metrics: DataPointView;
}

/** The kind of record that batches of a signal have. A conditional type keeps what is not inferred yet apart. */
export type RecordViewOf<S extends Signal> = S extends Signal ? ViewsBySignal[S] : never;

/** What a connector is given: the pipelines on both of its sides. */
export interface ConnectorContext extends ComponentContext {
  /** Signal of the pipeline that ends in this connector. */
  readonly from: Signal;
  /** Signal of the pipelines that begin with it. */
  readonly to: Signal;
  /** Those pipelines' ids; `delivery.to([...])` chooses among them. */
  readonly targets: readonly string[];
  /** False while data for this target would only wait: an exporter of it is paused, or its breaker is open. */
  readonly isAvailable: (target: string) => boolean;
  /** @internal Set for one with a journal of its own: see `wantsJournal`. */
  readonly journal?: JournalExchange | undefined;
}

/** What an exporter is given: what every component is. */
export type ExporterContext = ComponentContext;

/** What an exporter may pass on with a batch. */
export interface SendOptions {
  /**
   * The same for every attempt to send the same batch, also after restarts and replays. A batch that was merged from several
   * entries of the queue has a key that names them all, and they may be merged differently the next time.
   */
  readonly idempotencyKey?: string;
  /** Of what was a dead letter: its id, and how often it was replayed. */
  readonly replayed?: { readonly id: string; readonly attempt: number };
  /** @internal What was kept of the client's metadata: what the exporter's `metadataKeys` name of it. */
  readonly metadata?: NonNullable<Origin["metadata"]>;
}

/**
 * Name of the header, or gRPC metadata, in which Sluice's own exporters send `SendOptions.idempotencyKey`, and its
 * receivers look for it.
 */
export const IDEMPOTENCY_HEADER = "sluice-idempotency-key";

/** Sends batches somewhere. Queue, retries, breaker and time limit are not its business: they are around it. */
export interface Exporter {
  start?(): Promise<void>;
  /**
   * @internal Client metadata that it wants in `SendOptions`, by lower-case name, known once it has started. What differs in it is
   * not sent together.
   */
  readonly metadataKeys?: readonly string[];
  /**
   * Sends one batch, and resolves when the other side has it. Throws a `Refusal` that says whether a retry makes sense;
   * anything else thrown counts as transient. Gives up when `abort` fires, which is for this send alone and means nothing
   * once it has ended. May be called many times at once.
   */
  send(batch: Batch, abort: AbortSignal, options?: SendOptions): Promise<PartialRejection | undefined>;
  /**
   * Finds out whether the other side is up, without sending anything, and throws if it is not. An exporter that has
   * this is asked in the background while its circuit breaker is open, before any data is sent; one that has not is probed
   * with data alone.
   */
  check?(abort: AbortSignal): Promise<void>;
  /** Called once, when nothing is being sent any more. */
  stop?(): Promise<void>;
}

/** What an extension may ask of the agent that runs it. */
export interface Host {
  readonly state: "starting" | "ready" | "draining" | "stopped";
  /** What the extension that wraps exporters offers; undefined before it has started, or without one. */
  readonly admin?: Admin | undefined;
  /** Names the config it runs with: the same for the same config, whenever it was started. */
  readonly generation?: string;
  /** @internal A batch as people may see it: what the detectors of `pii` find is masked. Rejects when it cannot be. */
  mask?(batch: Batch): Promise<Batch>;
  /** @internal What does that at once, and throws when it cannot. */
  loadMask?(): Promise<(batch: Batch) => Batch>;
  /** @internal What can be seen of its components; undefined until they are made. */
  readonly inspection?: AgentInspection | undefined;
}

/** What an extension is given: the agent that it is part of. */
export interface ExtensionContext extends ComponentContext {
  readonly host: Host;
}

/** Runs beside the pipelines. Started before all other components and stopped after them. */
export interface Extension {
  start(): Promise<void>;
  /** Called when everything that was started after it has stopped. */
  stop(): Promise<void>;
  /** An extension that has this stands between every pipeline and every exporter. The first such one counts. */
  readonly outlets?: OutletFactory;
  /** @internal An extension that has this makes the journals of pipelines whose intake is durable. The first one counts. */
  readonly journals?: JournalFactory;
  readonly admin?: Admin;
  /** @internal What receivers and servers that name this extension under `auth` ask. */
  readonly serverAuthenticator?: ServerAuthenticator;
  /** @internal What exporters that name this extension under `auth` ask. */
  readonly clientAuthenticator?: ClientAuthenticator;
}

/** What every type of component has. */
interface FactoryBase<Kind extends ComponentKind, Config> {
  readonly kind: Kind;
  /** The name in the config. */
  readonly type: string;
  /** Other spellings of the same component, accepted silently. */
  readonly aliases?: readonly string[];
  /** One sentence for `sluice components` and the reference. */
  readonly summary: string;
  /** Parses what users write into what `create` gets. An absent or null component is parsed as `{}`. */
  readonly schema: ZodType<Config>;
  /** The `CONTRACT_VERSION` it was built for. */
  readonly contract: number;
  /** @internal Where it listens with this config: two components at one address are a problem of the config. */
  listensAt?(config: Config): readonly Listener[];
}

/** @internal An address that a component listens at: a host (every one if undefined) and a port, or a Unix socket. */
export interface Listener {
  readonly address: { readonly host: string | undefined; readonly port: number } | { readonly path: string };
  /** The path of the key that says so in the component's config. */
  readonly key: readonly (string | number)[];
  /** What it is kept by, where it takes or shows telemetry: without, on a public address, it gets a warning. */
  readonly protection?: { readonly tls: boolean; readonly auth: boolean };
}

/** A type of receiver, as `defineReceiver` makes it and a plugin exports it. */
export interface ReceiverFactory<Config = unknown> extends FactoryBase<"receiver", Config> {
  readonly signals: readonly Signal[];
  create(config: Config, context: ReceiverContext): Receiver;
}

/** A type of processor, as `defineProcessor` makes it and a plugin exports it. */
export interface ProcessorFactory<Config = unknown> extends FactoryBase<"processor", Config> {
  readonly signals: readonly Signal[];
  readonly zone?: Zone;
  /** For processors that only ask for larger requests: what the runtime merges when it sends, behind the queue. */
  batching?(config: Config): BatcherSettings & { readonly metadataKeys?: readonly string[] };
  /**
   * For processors that hold deliveries back: what comes to their pipeline is kept on disk first, and clients do not wait. A
   * limit that is not below that of the whole agent gets a warning.
   */
  maxHeldBytes?(config: Config): HeldBytesLimit;
  create(config: Config, context: ProcessorContext): Processor;
  /**
   * @internal For processors that pass everything on and also make another signal of it: a connector with the same config gets a
   * copy of every delivery, and the exporter of that id gets what the connector makes.
   */
  copyTo?(config: Config): { readonly connector: ConnectorFactory; readonly exporter: NamedExporter };
  /**
   * What is done to batches of this pipeline that were dead letters and are sent again; they do not pass it again.
   * For processors that bring old data up to date.
   */
  replay?(config: Config, context: ProcessorContext): ReplayStep;
}

/** A type of exporter, as `defineExporter` makes it and a plugin exports it. */
export interface ExporterFactory<Config = unknown> extends FactoryBase<"exporter", Config> {
  readonly signals: readonly Signal[];
  /** Defaults of the common exporter keys that differ from everyone's, as written in YAML: `{ timeout: "30s" }`. */
  readonly defaults?: Readonly<Record<string, unknown>>;
  /** @internal Why, with this config, it cannot take a signal that it takes with others; undefined when it can. */
  refusesSignal?(config: Config, signal: Signal): string | undefined;
  create(config: Config, context: ExporterContext): Exporter;
}

/** An exporter that a processor's config names, and the path of the name in that config. */
export interface NamedExporter {
  readonly id: string;
  readonly path: readonly string[];
}

/** A pipeline that a connector's config names, and the path of the name in that config. */
export interface NamedPipeline {
  readonly pipeline: string;
  readonly path: readonly (string | number)[];
}

/** A type of connector, as `defineConnector` makes it and a plugin exports it. */
export interface ConnectorFactory<Config = unknown> extends FactoryBase<"connector", Config> {
  /** Which signals it turns into which. */
  readonly routes: readonly { readonly from: Signal; readonly to: Signal }[];
  readonly zone?: Zone;
  /**
   * @internal For a connector that keeps what it is given in another form, such as counts, until it hands that on: what comes
   * is kept in a journal of its own meanwhile, and its deliveries have an `origin.position`. It has one route.
   */
  wantsJournal?(config: Config): boolean;
  /** The pipelines its config names: one that this connector does not feed is a problem of the config. */
  namedPipelines?(config: Config): readonly NamedPipeline[];
  create(config: Config, context: ConnectorContext): Processor;
}

/** @internal Keys without an effect: of an extension itself, and of every exporter; and why they have none. */
export interface IgnoredKeys {
  readonly own: readonly string[];
  readonly ofExporters: readonly string[];
  readonly reason: string;
}

/** A type of extension, as `defineExtension` makes it and a plugin exports it. */
export interface ExtensionFactory<Config = unknown> extends FactoryBase<"extension", Config> {
  /** Runs in the agent with its defaults also when service.extensions does not name it. */
  readonly onByDefault?: boolean;
  /** @internal Whether, with this config, it makes journals for pipelines that do not ask for one by name. */
  keepsJournals?(config: Config): boolean;
  /** @internal Keys that nobody reads with this config, for a warning. */
  ignoredKeys?(config: Config): IgnoredKeys | undefined;
  /** @internal The sides of a connection that it authenticates with this config. */
  authenticates?(config: Config): readonly AuthSide[];
  create(config: Config, context: ExtensionContext): Extension;
}

/** Any type of component: what a plugin may export. */
export type ComponentFactory =
  | ReceiverFactory
  | ProcessorFactory
  | ExporterFactory
  | ConnectorFactory
  | ExtensionFactory;

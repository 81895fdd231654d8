import type { Batch } from "#otlp";
import type { Signal } from "#otlp/signals";
import type { Clock } from "../clock.js";
import type { Exporter } from "../component.js";
import type { Delivery } from "../delivery.js";
import type { Logger, Metrics } from "../observability.js";
import type { DurableIntake } from "../plan.js";
import type { ExporterSettings } from "../schema/exporter-settings.js";
import type { BatcherSettings } from "./batcher.js";

/** The end of a pipeline: takes responsibility for what it is given, or refuses it. */
export interface Outlet {
  /** Opens what it keeps data in. Called once, when its exporter has started, before the first `accept`. */
  start?(): Promise<void>;
  /**
   * Settles the delivery, now or later. `pipeline` is the one it comes from. One with a setback is kept as a dead
   * letter, or refused when there is nowhere to keep it.
   */
  accept(delivery: Delivery, pipeline: string): void;
  /** False while what it is given would only wait. */
  readonly isAvailable?: boolean;
  /** Called when nothing more comes. Resolves when nothing is being sent any more; what is kept durably may stay. */
  drain(): Promise<void>;
  /** Breaks off whatever is being sent; deliveries that nobody has answered for are refused. */
  abort(): void;
  /** Closes what it keeps data in. Called once, after drain or abort, before its exporter stops. */
  stop?(): Promise<void>;
}

/** How the records of a pipeline are merged when they are sent. */
export interface Batching extends BatcherSettings {
  /** Client metadata that keeps records apart, by lower-case name. */
  readonly metadataKeys: readonly string[];
}

/** What an outlet is made from: its exporter, the settings and the services of the agent. */
export interface OutletSettings {
  readonly id: string;
  /** Ids that would mean the same: those with other names of its type. None of them is another exporter's. */
  readonly otherIds?: readonly string[];
  readonly exporter: Exporter;
  /** What the exporter's config says of the keys every exporter has; what it does not say is undefined. */
  readonly settings: ExporterSettings;
  /** The defaults that the exporter's type has for them. */
  readonly typeDefaults: ExporterSettings;
  /** The signals of the pipelines that end in this exporter. */
  readonly signals?: readonly Signal[];
  /** @internal The pipelines that end in this exporter. */
  readonly pipelines?: readonly EndingPipeline[];
  /** What the pipelines that end in this exporter want merged, by pipeline; those that want nothing merged have none. */
  readonly batching?: ReadonlyMap<string, Batching>;
  readonly clock: Clock;
  readonly random: () => number;
  readonly logger: Logger;
  readonly metrics: Metrics;
  /**
   * To be done to a batch from this pipeline before it is sent again; throws a `Refusal` when it is not fit to be, or there
   * is no such pipeline. With `onlyCheck` it is not sent, and counted nowhere.
   */
  readonly prepareReplay?: (batch: Batch, pipeline: string, onlyCheck?: boolean) => Batch;
  /** Whether there is a pipeline of this name. */
  readonly hasPipeline?: (pipeline: string) => boolean;
}

/** A pipeline that ends in an exporter. */
export interface EndingPipeline {
  readonly id: string;
  readonly signal: Signal;
}

/** Makes the outlet of an exporter. */
export type OutletFactory = (settings: OutletSettings) => Outlet;

/**
 * Stands before the first processor of a pipeline that holds deliveries: what comes is put into a store, and accepted when
 * it is safe there. From then on it is owed to the journal, which hands it to that processor, again and again if need be, until it is accepted.
 * What is refused for good becomes a dead letter of the journal.
 */
export interface Journal {
  /** Opens the store, then begins to hand on what it has. The pipeline behind it takes deliveries by then. */
  start(): Promise<void>;
  /** Settles the delivery when it is in the store, or refuses it. */
  accept(delivery: Delivery): void;
  /** Called when nothing more comes. Resolves when all that came is in the store; hands nothing more on. */
  drain(): Promise<void>;
  /** The same, without waiting. */
  abort(): void;
  /** Closes the store. Called once, when all that was handed on is settled, or will not be. */
  stop(): Promise<void>;
  notesOf(processor: string): JournalNotes;
  /** For the connector behind it; left out by a journal that cannot exchange. */
  exchange?: JournalExchange;
}

/**
 * Lets a connector put what it made of deliveries in their place, in one step: after a crash either the deliveries come
 * again, or what was made of them does, and never both.
 */
export interface JournalExchange {
  /** `restore` is given the state of the last exchange when the journal has been opened, before the first delivery. */
  onOpened(restore: (state: Uint8Array | undefined) => void): void;
  /**
   * Puts what was made in the place of the entries at these positions, and keeps the state. Gives a delivery for each batch that was made, to
   * be handed on and settled; after a crash they come as deliveries of the other signal. The deliveries at these positions are to be accepted then.
   * Waits while the store cannot be written; rejects when the journal is stopped.
   */
  exchange(exchange: {
    readonly positions: readonly number[];
    readonly made: readonly Batch[];
    readonly state?: Uint8Array | undefined;
  }): Promise<readonly Delivery[]>;
}

/**
 * What a processor keeps in the journal of its pipeline, to go on after a crash where it was: small, and in order with the
 * outcomes of deliveries. A note that was written before a delivery was accepted is there when that delivery does not come
 * again.
 */
export interface JournalNotes {
  /** Its notes so far, oldest first, also those of earlier runs. They are there before the first delivery comes. */
  read(): readonly JournalNote[];
  write(note: Uint8Array): void;
  /** No delivery that comes again has a lower `origin.position`. */
  readonly firstPosition: number;
  /** Names who knows what of an entry that is given up is still owed. */
  answerFor(settlement: EntrySettlement): void;
  /** So many of its bytes are enough once no entry needs them. A processor that does not say it has as many as the journal keeps. */
  keepAtMost(bytes: number): void;
}

export interface JournalNote {
  readonly bytes: Uint8Array;
  /** The last position that had been handed on when it was written. */
  readonly after: number;
}

/** What a processor knows of entries of a journal of which it has settled a part. */
export interface EntrySettlement {
  /** Of this entry's batch what nobody has taken: that becomes the dead letter. All of it when nothing is known. */
  remaining(position: number, batch: Batch): Batch;
  /** The entry has left the journal. */
  ended(position: number): void;
}

/** What a journal is made from. */
export interface JournalSettings {
  /** The pipeline, or what stands for one: see `connectorJournalName`. */
  readonly pipeline: string;
  readonly signal: Signal;
  /**
   * `auto`: the pipeline holds deliveries, and wants a journal if there is a place for one; `off`: only what an earlier
   * config has left in it is handed on.
   */
  readonly durable: DurableIntake;
  /** What the pipeline refuses and nobody hears of (`origin.isUnattended`) is to be kept, if there is a place for it. */
  readonly keepsRefused?: boolean;
  /** Bytes that may be inside the pipeline; the rest waits in the store. */
  readonly windowBytes: number;
  /** The pipeline lets go of the bytes at once, and settles later: they need not stay in memory. */
  readonly letsGoOfPayloads?: boolean;
  /** To be done to what was put into it under another config: the processors before it may be others now. */
  readonly prepareReplay?: OutletSettings["prepareReplay"];
  readonly hasPipeline?: OutletSettings["hasPipeline"];
  /** The processors behind it. */
  readonly consumer: (delivery: Delivery) => void;
  readonly clock: Clock;
  readonly random: () => number;
  readonly logger: Logger;
  readonly metrics: Metrics;
}

/** Makes the journal of a pipeline; undefined when there is none, and nothing is left in one. */
export type JournalFactory = (settings: JournalSettings) => Journal | undefined;

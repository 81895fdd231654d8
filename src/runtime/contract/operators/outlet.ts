import type { Batch } from "#otlp";
import type { Signal } from "#otlp/signals";
import type { Clock } from "../clock.js";
import type { Delivery } from "../delivery.js";
import type { Exporter } from "../exporter.js";
import type { Logger, Metrics } from "../observability.js";
import type { ExporterSettings } from "../schema/exporter-settings.js";
import type { BatcherSettings } from "./batcher.js";

/** The end of a pipeline: takes responsibility for deliveries, or refuses them. */
export interface Outlet {
  /** Opens its storage. Called once, when its exporter has started, before the first `accept`. */
  start?(): Promise<void>;
  /**
   * Settles the delivery, now or later. `pipeline` is the pipeline it comes from. A delivery with a setback is kept as
   * a dead letter, or refused if it cannot be kept.
   */
  accept(delivery: Delivery, pipeline: string): void;
  /** False while deliveries would only wait. */
  readonly isAvailable?: boolean;
  /**
   * Called when no more deliveries come. Resolves when nothing is being sent any more; durably stored data may stay.
   */
  drain(): Promise<void>;
  /**
   * @internal Called when its exporter was removed from the config and no more deliveries come. If the outlet wants to
   * send what it has stored first, it returns a promise for that; `drain` or `abort` end it.
   */
  empty?(): Promise<void> | undefined;
  /** Aborts everything that is being sent. Unsettled deliveries are refused. */
  abort(): void;
  /** Closes its storage. Called once, after drain or abort, before its exporter stops. */
  stop?(): Promise<void>;
}

/** How the records of a pipeline are merged when they are sent. */
export interface Batching extends BatcherSettings {
  /** Client metadata that keeps records apart, by lower-case name. */
  readonly metadataKeys: readonly string[];
  /** The maximum number of bytes in one request; by default MAX_MERGED_BYTES. */
  readonly maxBytes?: number;
}

/** The settings of an outlet: its exporter, its config and the services of the agent. */
export interface OutletSettings {
  readonly id: string;
  /** Equivalent ids, with other names of the exporter's type. No other exporter uses them. */
  readonly otherIds?: readonly string[];
  readonly exporter: Exporter;
  /** The exporter's config for the keys that every exporter has; undefined where it says nothing. */
  readonly settings: ExporterSettings;
  /** The defaults of the exporter's type for these keys. */
  readonly typeDefaults: ExporterSettings;
  /** @internal Whether only one of several workers runs the exporter. Then its queue is the only one. */
  readonly isInOneWorker?: boolean;
  /** The signals of the pipelines that end in this exporter. It follows the config while the outlet runs. */
  readonly signals?: readonly Signal[];
  /** @internal The pipelines that end in this exporter. They follow the config while the outlet runs. */
  readonly pipelines?: readonly EndingPipeline[];
  /**
   * How deliveries are merged, by pipeline that ends in this exporter. Pipelines without merging have no entry. It
   * follows the config while the outlet runs.
   */
  readonly batching?: ReadonlyMap<string, Batching>;
  readonly clock: Clock;
  readonly random: () => number;
  readonly logger: Logger;
  readonly metrics: Metrics;
  /**
   * Prepares a batch of this pipeline before it is sent again. Throws a `Refusal` if it must not be sent or there is no
   * such pipeline. With `onlyCheck` the batch is not sent afterwards, and nothing is counted.
   */
  readonly prepareReplay?: (batch: Batch, pipeline: string, onlyCheck?: boolean) => Batch;
  /** Whether there is a pipeline with this name. */
  readonly hasPipeline?: (pipeline: string) => boolean;
}

/** A pipeline that ends in an exporter. */
export interface EndingPipeline {
  readonly id: string;
  readonly signal: Signal;
}

/** Creates the outlet of an exporter. */
export type OutletFactory = (settings: OutletSettings) => Outlet;

/**
 * Stands before the first processor of a pipeline that holds deliveries. Deliveries are stored, and accepted when they
 * are safe. From then on the journal is responsible: it hands them to that processor, repeatedly if necessary, until
 * they are accepted. Permanently refused ones become dead letters of the journal.
 */
export interface Journal {
  /** Opens the store, then starts to hand on its entries. The pipeline behind it must be ready for deliveries. */
  start(): Promise<void>;
  /** True if only deliveries whose sender does not learn of a refusal are for it. All others pass by. */
  readonly isForUnattended?: boolean;
  /** Accepts the delivery when it is stored, or refuses it. */
  accept(delivery: Delivery): void;
  /** Called when no more deliveries come. Resolves when all of them are stored. Hands on nothing more. */
  drain(): Promise<void>;
  /** Like `drain`, without waiting. */
  abort(): void;
  /** Closes the store. Called once, when everything handed on is settled or never will be. */
  stop(): Promise<void>;
  /** Resolves when everything that was handed on is settled; absent if that is always so after `drain`. */
  whenSettled?(): Promise<void>;
  notesOf(processor: string): JournalNotes;
  /** For the connector behind the journal; absent if the journal cannot exchange entries. */
  exchange?: JournalExchange;
}

/**
 * Lets a connector replace deliveries with what it made from them, in one write. After a crash either the deliveries
 * are handed in again or what was made from them, never both.
 */
export interface JournalExchange {
  /**
   * `restore` is called with the state of the last exchange when the journal has been opened, before the first
   * delivery.
   */
  onOpened(restore: (state: Uint8Array | undefined) => void): void;
  /**
   * Replaces the entries at these positions with the batches in `made`, and stores the state. Returns a delivery for
   * each of these batches, to be handed on and settled; after a crash they come as deliveries of the other signal. The
   * deliveries at these positions must then be accepted. Waits while the store cannot be written. Rejects if the
   * journal is stopped.
   */
  exchange(exchange: {
    readonly positions: readonly number[];
    readonly made: readonly Batch[];
    readonly state?: Uint8Array | undefined;
  }): Promise<readonly Delivery[]>;
}

/**
 * Notes that a processor keeps in the journal of its pipeline, in order to continue after a crash. They are small and
 * in order with the outcomes of deliveries: if a note was written before a delivery was accepted, and the delivery is
 * not handed in again, the note exists.
 */
export interface JournalNotes {
  /**
   * All notes of the processor, oldest first, including those of earlier runs. They are available before the first
   * delivery comes.
   */
  read(): readonly JournalNote[];
  write(note: Uint8Array): void;
  /** No delivery that is read again has a lower `origin.position`. */
  readonly firstPosition: number;
  /** Sets the object that knows which records of an abandoned entry are still owed. */
  setSettlement(settlement: EntrySettlement): void;
  /**
   * Limits the size of notes that no entry needs any more. By default they may use all the space that the journal
   * keeps.
   */
  limitUnneededBytes(bytes: number): void;
}

export interface JournalNote {
  readonly bytes: Uint8Array;
  /** The last position that had been handed on when the note was written. */
  readonly after: number;
}

/** A processor's knowledge about journal entries that it has partly settled. */
export interface EntrySettlement {
  /**
   * Returns the records of this entry's batch that were not accepted; they become the dead letter. All of them if
   * nothing is known.
   */
  remaining(position: number, batch: Batch): Batch;
  /** Called when the entry has left the journal. */
  ended(position: number): void;
  /**
   * Takes over the notes that a processor with the same config has left in another journal, whose entries will come
   * from this one. No entry there has a lower position than `firstPosition`. Writes what it needs of them as notes of
   * its own. Returns `remaining` for the positions of that journal; its result may be empty. May be called again with
   * the same notes.
   */
  takeOver?(notes: readonly JournalNote[], firstPosition: number): EntrySettlement["remaining"];
}

export type DurableIntake = "auto" | "on" | "off";

/** Knows the config that the agent runs with now: another one after a reload. */
export interface ConfigNow {
  readonly config: { readonly generation: string };
}

/** The settings of a journal. */
export interface JournalSettings {
  /** The pipeline, or a name that stands for one; see `connectorJournalName`. */
  readonly pipeline: string;
  readonly signal: Signal;
  /**
   * `auto`: the pipeline holds deliveries, and gets a journal if there is a place for one. `off`: only entries left by
   * an earlier config are handed on.
   */
  readonly durable: DurableIntake;
  /**
   * Whether to keep deliveries that the pipeline refuses without their sender learning of it (`origin.isUnattended`),
   * if there is a place for them.
   */
  readonly keepsRefused?: boolean;
  /** Maximum number of bytes inside the pipeline. The rest waits in the store. */
  readonly windowBytes: number;
  /** Whether the pipeline releases the bytes at once and settles later, so that they need not stay in memory. */
  readonly releasesPayloads?: boolean;
  /**
   * Prepares entries that came under another config, because the processors before the journal may be different now.
   */
  readonly prepareReplay?: OutletSettings["prepareReplay"];
  readonly hasPipeline?: OutletSettings["hasPipeline"];
  /** Hands a delivery to the processors behind the journal. */
  readonly consumer: (delivery: Delivery) => void;
  readonly clock: Clock;
  readonly random: () => number;
  readonly logger: Logger;
  readonly metrics: Metrics;
}

/** Creates the journal of a pipeline; undefined if it needs none and none has entries left. */
export type JournalFactory = (settings: JournalSettings) => Journal | undefined;

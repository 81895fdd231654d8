import { createHash } from "node:crypto";
import type { Clock, Delivery, Exporter, MessageWatch, Origin } from "#contract";
import { keyedEntryId } from "#contract/calls";
import { Refusal } from "#contract/errors";
import { type Batching, type ConfigNow, metadataFor } from "#contract/operators";
import type { CompleteSettings } from "#contract/schema";
import type { Batch } from "#otlp";
import { readRecords } from "#otlp/views";
import type { DeadLetterWriter } from "../dead-letters/dead-letter-writer.js";
import { createMetadataPicker, type PickMetadata, withAddress } from "../entry/client-metadata.js";
import type { BatchingOf, DeadLetterCause } from "../entry/queue-item.js";
import type { Amount, NewEntry } from "../store/store.js";
import { queueFullRefusal } from "./refusals.js";

export interface NewEntryServices {
  readonly id: string;
  readonly settings: CompleteSettings;
  /** Batches larger than one request become several entries. */
  readonly batchingOf: BatchingOf;
  /** Identifies the config that the agent runs with. */
  readonly running: ConfigNow;
  readonly clock: Clock;
  readonly deadLetters: DeadLetterWriter;
  /**
   * Selects the client headers that a journal keeps for its processors. If left out, only the headers to be sent are
   * kept.
   */
  readonly metadataOnDisk?: (metadata: Origin["metadata"]) => Origin["metadata"];
  /** The exporter may ask for client headers; these are kept with the entry. */
  readonly exporter?: Pick<Exporter, "metadataKeys">;
}

/** Describes deliveries as the entries that they become: their source, keys and headers. */
export class NewEntries {
  private readonly services: NewEntryServices;
  private readonly pickMetadata: PickMetadata;

  constructor(services: NewEntryServices) {
    this.services = services;
    this.pickMetadata = createMetadataPicker(services.settings.dead_letter.keep_metadata);
  }

  /** Returns a refusal if an entry would be too large because of the delivery's headers. */
  checkMetadata({ origin }: Delivery): Refusal | undefined {
    return isTooLong(metadataFor(this.services.exporter ?? {}, origin.metadata)) ? METADATA_TOO_LONG : undefined;
  }

  /** With a cause, the entry is a dead letter. */
  create(
    { batch, origin }: Delivery,
    pipeline: string,
    watch: MessageWatch | undefined,
    deadLetterCause: DeadLetterCause | undefined,
  ): NewEntry {
    const { clock, running, deadLetters, id } = this.services;
    const shown = origin.metadata && this.pickMetadata(origin.metadata);
    const { receiver, transport } = origin;
    const source = {
      ...(shown === undefined ? { receiver, transport } : { receiver, transport, metadata: shown }),
      ...(origin.queue !== undefined && { queue: origin.queue }),
      ...(origin.event !== undefined && { event: origin.event }),
      ...(watch !== undefined && { message: watch.message }),
    };
    const { metadataOnDisk, exporter = {} } = this.services;
    const sent = metadataFor(exporter, origin.metadata);
    const batchKey = batchKeyOf(this.services.batchingOf(pipeline), origin, exporter.metadataKeys);
    const metadata = metadataOnDisk === undefined ? sent : withAddress(metadataOnDisk(origin.metadata), origin.address);
    const fresh = {
      batch,
      pipeline,
      source,
      enqueuedAt: clock.now(),
      generation: running.config.generation,
      isNew: origin.isNew ?? false,
    };
    const orderKey = orderKeyOf(batch, this.services.settings.sending_queue.ordered_by);
    const kept = {
      ...(orderKey === undefined ? {} : { orderKey }),
      ...(batchKey === undefined ? {} : { batchKey }),
      ...(metadata === undefined ? {} : { metadata: Object.fromEntries(metadata) }),
      ...(origin.key === undefined ? {} : { id: keyedEntryId(id, pipeline, origin.key) }),
    };
    const hasFields = [orderKey, batchKey, metadata, origin.key].some((field) => field !== undefined);
    const fields = hasFields ? { fields: kept } : {};
    if (deadLetterCause === undefined) return { ...fresh, ...fields };
    const { failure } = deadLetters.failureOf(id, batch, deadLetterCause);
    return { ...fresh, fields: { ...fields.fields, state: "failed", failure } };
  }
}

/** Returns a hash, because the values may be secret and entries are shown to people. Undefined if there are no keys. */
function batchKeyOf(
  batching: Batching | undefined,
  { metadata }: Origin,
  sentKeys: readonly string[] = [],
): string | undefined {
  const keys = batching?.metadataKeys ?? [];
  if (keys.length + sentKeys.length === 0) return undefined;
  // The names of sent headers are hashed too, because with other keys in the config the same values mean something
  // else.
  const sent = sentKeys.map((key) => ({ [key]: metadata?.get(key) ?? null }));
  const values = [...keys.map((key) => metadata?.get(key) ?? null), ...sent];
  return createHash("sha256").update(JSON.stringify(values)).digest("hex").slice(0, BATCH_KEY_LENGTH);
}

const BATCH_KEY_LENGTH = 16;

/** Attributes that hold the key of a message, by which its source keeps messages in order. */
const KEY_ATTRIBUTES = ["messaging.kafka.message.key", "outbox.key", "messaging.sqs.message_group_id"];

/** The order key of a batch: a hash of the value that its first record has. */
function orderKeyOf(batch: Batch, orderedBy: string): string | undefined {
  if (orderedBy === "") return undefined;
  const names = orderedBy === "key" ? KEY_ATTRIBUTES : [orderedBy];
  let key: string | undefined;
  let isFirst = true;
  readRecords(batch, ({ attributes }) => {
    if (!isFirst) return;
    isFirst = false;
    const value = names.map((name) => attributes.get(name)).find((found) => found !== undefined);
    if (value !== undefined && value !== null) key = value instanceof Uint8Array ? hexText(value) : String(value);
  });
  if (key === undefined) return undefined;
  return createHash("sha256").update(key).digest("hex").slice(0, ORDER_KEY_LENGTH);
}

const ORDER_KEY_LENGTH = 32;

function hexText(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("hex");
}

/** Sent headers are kept with every entry and do not count towards its size. */
const MAX_SENT_METADATA = 8 * 1024;

const METADATA_TOO_LONG = new Refusal(
  "permanent",
  `the headers to be sent have more than ${MAX_SENT_METADATA} characters`,
);

function isTooLong(metadata: Origin["metadata"]): boolean {
  if (metadata === undefined) return false;
  let length = 0;
  for (const values of metadata.values()) for (const value of values) length += value.length;
  return length > MAX_SENT_METADATA;
}

type CapacityLimits = Pick<CompleteSettings["sending_queue"], "queue_size" | "sizer" | "max_bytes">;

/** The size of an entry, or of a batch that is to become one. */
export interface Size {
  readonly items: number;
  readonly bytes: number;
}

/**
 * The free space of the queue. It keeps its own counts, from the moment an entry is on its way into the store until it
 * has left the queue, because the store's counts lag behind by one write.
 */
export class Capacity {
  private readonly limits: CapacityLimits;
  private entries = 0;
  private items = 0;
  private bytes = 0;

  constructor(limits: CapacityLimits) {
    this.limits = limits;
  }

  /** Sets the counts to what is known to be in the queue. */
  reset({ entries, items, bytes }: Amount): void {
    this.entries = entries;
    this.items = items;
    this.bytes = bytes;
  }

  /** Whether there is room for all sizes. A batch larger than the whole queue fits if the queue is empty. */
  fits(sizes: readonly Size[]): boolean {
    if (this.entries === 0) return true;
    const items = sizes.reduce((sum, size) => sum + size.items, 0);
    const bytes = sizes.reduce((sum, size) => sum + size.bytes, 0);
    const { max_bytes, queue_size, sizer } = this.limits;
    if (max_bytes > 0 && this.bytes + bytes > max_bytes) return false;
    if (queue_size === 0) return true;
    if (sizer === "requests") return this.entries + sizes.length <= queue_size;
    return (sizer === "items" ? this.items + items : this.bytes + bytes) <= queue_size;
  }

  add({ items, bytes }: Size): void {
    this.entries += 1;
    this.items += items;
    this.bytes += bytes;
  }

  remove({ items, bytes }: Size): void {
    this.entries -= 1;
    this.items -= items;
    this.bytes -= bytes;
  }
}

/** A delivery on its way into the queue, as the entries it will become. Either all of them are put or none. */
export interface Incoming {
  readonly pieces: readonly Delivery[];
  readonly pipeline: string;
  /** If set, the queue remembers this key, so that it takes the delivery only once. */
  readonly onceKey?: string | undefined;
}

interface AdmissionActions {
  readonly settings: Pick<CompleteSettings["sending_queue"], "on_full" | "block_on_overflow">;
  readonly fits: (incoming: Incoming) => boolean;
  readonly put: (incoming: Incoming) => void;
  readonly refuse: (incoming: Incoming, refusal: Refusal) => void;
  readonly deadLetter: (incoming: Incoming) => void;
  /** Dead-letters the oldest entry. Returns false if there is none that can be dropped. */
  readonly dropOldest: () => Promise<boolean>;
}

/**
 * Handles deliveries that find the queue full. They are refused, become dead letters, replace the oldest entries, or
 * wait, depending on the settings. Nothing is lost silently. Waiting deliveries keep their order.
 */
export class Overflow {
  private readonly admission: AdmissionActions;
  private waiting: Incoming[] = [];
  private isMakingRoom = false;

  constructor(admission: AdmissionActions) {
    this.admission = admission;
  }

  /** Whether no delivery waits for room. While one waits, no other may be put before it. */
  get isEmpty(): boolean {
    return this.waiting.length === 0;
  }

  add(incoming: Incoming): void {
    const { settings } = this.admission;
    if (settings.block_on_overflow) this.waiting.push(incoming);
    else if (settings.on_full === "drop_newest") this.admission.deadLetter(incoming);
    else if (settings.on_full === "refuse") this.admission.refuse(incoming, queueFullRefusal());
    else {
      this.waiting.push(incoming);
      if (!this.isMakingRoom) void this.makeRoom();
    }
  }

  /** To be called when space in the queue was freed. */
  putWaiting(): void {
    while (this.waiting.length > 0 && this.admission.fits(this.waiting[0]!)) this.admission.put(this.waiting.shift()!);
  }

  /** Refuses all waiting deliveries. */
  stop(refusal: Refusal): void {
    for (const incoming of this.waiting.splice(0)) this.admission.refuse(incoming, refusal);
  }

  private async makeRoom(): Promise<void> {
    this.isMakingRoom = true;
    while (this.waiting.length > 0) {
      this.putWaiting();
      if (this.waiting.length > 0 && !(await this.admission.dropOldest())) {
        // All entries of the queue are being sent or have not been read yet, so none can be dropped.
        for (const incoming of this.waiting.splice(0)) this.admission.refuse(incoming, queueFullRefusal());
      }
    }
    this.isMakingRoom = false;
  }
}

import { createHash } from "node:crypto";
import type { Clock, Delivery, Exporter, MessageWatch, Origin } from "#contract";
import { keyedEntryId } from "#contract/calls";
import { Refusal } from "#contract/errors";
import { type Batching, metadataFor } from "#contract/operators";
import type { CompleteSettings } from "#contract/schema";
import type { Batch } from "#otlp";
import { readRecords } from "#otlp/views";
import type { DeadLetterWriter } from "../dead-letters/dead-letter-writer.js";
import { createMetadataPicker, type PickMetadata, withAddress } from "../entry/client-metadata.js";
import type { BatchingOf, DeadLetterCause } from "../entry/queue-item.js";
import type { NewEntry } from "../store/store.js";

export interface NewEntryServices {
  readonly id: string;
  readonly settings: CompleteSettings;
  /** Batches larger than one request become several entries. */
  readonly batchingOf: BatchingOf;
  /** Identifies the config that the agent runs with. */
  readonly generation: () => string;
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
    const { clock, generation, deadLetters, id } = this.services;
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
      generation: generation(),
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

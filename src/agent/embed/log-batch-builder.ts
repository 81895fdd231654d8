import { Batch } from "#otlp";
import { putVarint, varintSize, WireWriter } from "#otlp/bytes";
import {
  OWNER_TAG,
  RESOURCE_ATTRIBUTES_TAG,
  RESOURCE_CONTAINER_TAG,
  SCOPE_CONTAINER_TAG,
  SCOPE_ITEM_TAG,
} from "#otlp/tags";
import { type LogInput, writeAttributes, writeLogRecord } from "./log-record.js";

/** Upper bound, in bytes, for the tags and lengths of the messages around the records. */
const TAGS_AND_LENGTHS = 12;

/** Builds batches from encoded log records that share one resource. */
export class LogBatchBuilder {
  private readonly resource: Uint8Array;

  constructor(attributes: Readonly<Record<string, unknown>>) {
    const writer = new WireWriter(256);
    writer.byte(OWNER_TAG);
    writer.begin();
    writeAttributes(writer, attributes, RESOURCE_ATTRIBUTES_TAG);
    writer.end();
    this.resource = Buffer.from(writer.written());
  }

  /** Upper bound for the bytes of a batch besides its records. */
  get overhead(): number {
    return this.resource.length + TAGS_AND_LENGTHS;
  }

  /** `records` holds `count` LogRecords as fields of a ScopeLogs, with tags and lengths. The bytes are copied. */
  build(records: Uint8Array, count: number): Batch {
    const { resource } = this;
    const inner = resource.length + 1 + varintSize(records.length) + records.length;
    const bytes = Buffer.allocUnsafeSlow(1 + varintSize(inner) + inner);
    bytes[0] = RESOURCE_CONTAINER_TAG;
    let at = putVarint(bytes, 1, inner);
    bytes.set(resource, at);
    at += resource.length;
    bytes[at++] = SCOPE_CONTAINER_TAG;
    at = putVarint(bytes, at, records.length);
    bytes.set(records, at);
    return Batch.trusted("logs", bytes, count);
  }
}

/** Encodes records that share one resource as a batch. Throws when a record cannot be encoded. */
export function encodeLogs(
  records: readonly LogInput[],
  resource: Readonly<Record<string, unknown>>,
  nowMs: number,
): Batch {
  const one = new WireWriter(1024);
  const all = new WireWriter(records.length * 256);
  for (const record of records) {
    one.length = 0;
    writeLogRecord(one, record, nowMs);
    all.byte(SCOPE_ITEM_TAG);
    all.lengthDelimited(one.written());
  }
  return new LogBatchBuilder(resource).build(all.written(), records.length);
}

import { Batch } from "#otlp";
import { putVarint, varintSize, WireWriter } from "#otlp/bytes";
import {
  BYTES_VALUE_TAG,
  LOG_BODY_TAG,
  LOG_OBSERVED_TIME_TAG,
  OWNER_TAG,
  RESOURCE_CONTAINER_TAG,
  SCOPE_CONTAINER_TAG,
  SCOPE_ITEM_TAG,
  STRING_VALUE_TAG,
} from "#otlp/tags";

/**
 * Log records of one resource and scope, encoded one after the other as the bytes of a request. A text record, as most
 * lines of files are, is copied from where it was read without creating objects. Reading into `window` puts the text
 * into the same memory, which makes that three times as fast.
 */
export class LogBatchWriter {
  count = 0;
  private readonly writer: WireWriter;
  private readonly resource: Uint8Array;
  private readonly scope: Uint8Array;
  private readonly windowSize: number;
  private readonly observed = Buffer.alloc(9);
  private observedMs = 0;

  /** `resource` and `scope` are encoded messages; empty ones are left out. */
  constructor(resource: Uint8Array, scope: Uint8Array, capacity: number, windowSize = 0) {
    this.resource = resource;
    this.scope = scope;
    this.windowSize = windowSize;
    this.writer = new WireWriter(capacity + windowSize);
    this.writer.sourceRemaining = windowSize;
    this.observed[0] = LOG_OBSERVED_TIME_TAG;
    this.begin();
  }

  /** A buffer to read into. It changes after records were added. */
  get window(): Buffer {
    const { bytes } = this.writer;
    return bytes.subarray(bytes.length - this.windowSize);
  }

  get byteLength(): number {
    return this.writer.length;
  }

  /** A position between records, for `rollBack`. */
  get mark(): RecordMark {
    return { length: this.writer.length, count: this.count };
  }

  /** Forgets the records added since the mark. */
  rollBack({ length, count }: RecordMark): void {
    this.writer.length = length;
    this.count = count;
  }

  /** Sets when the following records were read, in milliseconds. */
  observedAt(ms: number): void {
    if (ms === this.observedMs) return;
    this.observedMs = ms;
    this.observed.writeBigUInt64LE(BigInt(Math.round(ms)) * 1_000_000n, 1);
  }

  /**
   * Adds a record whose body is the text [from, to), which must be valid UTF-8. `attributes` are encoded fields of a
   * log record.
   */
  addText(bytes: Uint8Array, from: number, to: number, attributes: Uint8Array): void {
    this.addRecord(STRING_VALUE_TAG, bytes, from, to, attributes);
  }

  /** The same for bytes that are not text. */
  addBytes(bytes: Uint8Array, attributes: Uint8Array): void {
    this.addRecord(BYTES_VALUE_TAG, bytes, 0, bytes.length, attributes);
  }

  /** Adds a record whose fields `write` writes. The observed time is added. */
  add(likelySize: number, write: (writer: WireWriter) => void): void {
    const { writer } = this;
    this.count++;
    writer.byte(SCOPE_ITEM_TAG);
    writer.begin(likelySize);
    write(writer);
    writer.copy(this.observed, 0, 9);
    writer.end();
  }

  /**
   * Adds a record whose body is the text [from, to) of `source`, unless `write`, which writes its other fields, returns
   * false.
   */
  tryAdd(source: Uint8Array, from: number, to: number, write: (writer: WireWriter) => boolean): boolean {
    const { writer } = this;
    const before = writer.length;
    const size = to - from;
    const valueSize = 1 + varintSize(size) + size;
    writer.reserve(valueSize + 16);
    writer.byte(SCOPE_ITEM_TAG);
    writer.begin(2 * size + 60);
    writer.byte(LOG_BODY_TAG);
    writer.varint(valueSize);
    writer.byte(STRING_VALUE_TAG);
    writer.varint(size);
    writer.length = copyInto(writer.bytes, writer.length, source, from, to);
    const isWritten = write(writer);
    writer.copy(this.observed, 0, 9);
    writer.end();
    if (isWritten) this.count++;
    else writer.length = before;
    return isWritten;
  }

  /** Returns the written records as a batch and starts the next one. */
  finish(): Batch {
    const { writer } = this;
    writer.end();
    writer.end();
    const batch = Batch.trusted("logs", Buffer.from(writer.written()), this.count);
    writer.clear();
    this.begin();
    return batch;
  }

  private begin(): void {
    const { writer, resource, scope } = this;
    this.count = 0;
    writer.byte(RESOURCE_CONTAINER_TAG);
    writer.begin(LIKELY_SIZE);
    if (resource.length > 0) owner(writer, resource);
    writer.byte(SCOPE_CONTAINER_TAG);
    writer.begin(LIKELY_SIZE);
    if (scope.length > 0) owner(writer, scope);
  }

  private addRecord(tag: number, source: Uint8Array, from: number, to: number, attributes: Uint8Array): void {
    const { writer, observed } = this;
    const size = to - from;
    const valueSize = 1 + varintSize(size) + size;
    const recordSize = 1 + varintSize(valueSize) + valueSize + attributes.length + 9;
    writer.reserve(recordSize + 6);
    const { bytes } = writer;
    let at = writer.length;
    bytes[at++] = SCOPE_ITEM_TAG;
    at = putVarint(bytes, at, recordSize);
    bytes[at++] = LOG_BODY_TAG;
    at = putVarint(bytes, at, valueSize);
    bytes[at++] = tag;
    at = putVarint(bytes, at, size);
    at = copyInto(bytes, at, source, from, to);
    at = copyInto(bytes, at, attributes, 0, attributes.length);
    for (let i = 0; i < 9; i++) bytes[at++] = observed[i]!;
    writer.length = at;
    this.count++;
  }
}

interface RecordMark {
  readonly length: number;
  readonly count: number;
}

/** The expected size, which determines the room for lengths; if it is wrong, the records are moved once. */
const LIKELY_SIZE = 1024 * 1024;

/** Below this length a loop is faster than a built-in. */
const SHORT = 32;

/** Copies [from, to) and returns the position after it. */
export function copyInto(target: Uint8Array, at: number, source: Uint8Array, from: number, to: number): number {
  if (to - from < SHORT) {
    for (let i = from; i < to; i++) target[at++] = source[i]!;
    return at;
  }
  if (source.buffer === target.buffer) {
    const start = source.byteOffset - target.byteOffset;
    target.copyWithin(at, start + from, start + to);
  } else target.set(source.subarray(from, to), at);
  return at + to - from;
}

function owner(writer: WireWriter, bytes: Uint8Array): void {
  writer.byte(OWNER_TAG);
  writer.lengthDelimited(bytes);
}

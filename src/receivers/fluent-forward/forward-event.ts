import { decompress } from "#codecs/compression";
import {
  encodeAttributes,
  type LogBatchWriter,
  LogEntry,
  type LogMap,
  newLogMap,
  setValue,
  writeEntry,
} from "#logs/entries";
import { turns } from "#work";
import { MAX_VALUES, MessagePackError, MessagePackReader, packText, ValueScanner } from "./message-pack.js";
import { PlainEntry } from "./plain-entry.js";

/** The result of reading one event: the acknowledgement its client expects once the records are safe. */
export interface ForwardEvent {
  /** Undefined if the client wants no acknowledgement. */
  readonly acknowledgement: Buffer | undefined;
}

const TAG_ATTRIBUTE = "fluent.tag";
const METADATA_ATTRIBUTE = "fluent.metadata";
const COMPRESSIONS: ReadonlySet<string> = new Set(["gzip", "zstd"]);
/** Bounds decompression: a few kilobytes may claim to be gigabytes. */
const MAX_UNPACKED_BYTES = 64 * 1024 * 1024;
/** The memory that a value takes besides its text. */
const VALUE_BYTES = 64;
/** Clients send about 30 bytes; the chunk id is held until the client has read its acknowledgement. */
const MAX_CHUNK_BYTES = 4096;
/** After so many values, and with each larger record, the clock is looked at. */
const VALUES_PER_LOOK = 1000;
/** The number of values read before more memory is reserved. */
const VALUES_AT_ONCE = 10_000;

const NO_RESOURCE = newLogMap();

/** Returns false if there is not that much memory. */
type Reserve = (bytes: number) => boolean;

/**
 * Reads one event of the forward protocol in any of its modes. The second element tells the modes apart: a time belongs
 * to the single record that follows, a list holds entries, and bytes hold packed entries. Throws a `MessagePackError`
 * or an error of `decompress`, and then has written none of the event's records. `reserve` is asked for memory beyond
 * the bytes themselves.
 */
export async function readEvent(bytes: Buffer, reserve: Reserve, out: LogBatchWriter): Promise<ForwardEvent> {
  const before = out.mark;
  try {
    return await writeEvent(bytes, reserve, out);
  } catch (error) {
    out.rollBack(before);
    throw error;
  }
}

async function writeEvent(bytes: Buffer, reserve: Reserve, out: LogBatchWriter): Promise<ForwardEvent> {
  const reader = new MessagePackReader(bytes);
  const size = reader.array();
  const tag = reader.text();
  const { nextKind: kind } = reader;
  if (kind === "array") {
    const count = reader.array();
    await readEntries(reader, tag, reserve, out, (read) => read < count);
    return { acknowledgement: acknowledgementOf(readOptions(reader, size === 3)) };
  }
  if (kind === "text" || kind === "bytes") {
    const packed = reader.raw();
    const options = readOptions(reader, size === 3);
    const unpacked = new MessagePackReader(await unpack(packed, options, reserve));
    await readEntries(unpacked, tag, reserve, out, () => !unpacked.isAtEnd);
    return { acknowledgement: acknowledgementOf(options) };
  }
  reader.beginRecord();
  readRecord(reader, tag, out);
  reserveValues(reader.valueCount, reserve);
  return { acknowledgement: acknowledgementOf(readOptions(reader, size === 4)) };
}

/**
 * Counts the records in the complete events of these bytes, as far as possible without decompressing, and tells whether
 * any event asks for no acknowledgement. Stops at an event that cannot be read.
 */
export function countRecords(bytes: Buffer): { readonly records: number; readonly isUnattended: boolean } {
  let records = 0;
  let isUnattended = false;
  try {
    for (let from = 0; ; ) {
      const end = new ValueScanner(from).end(bytes, bytes.length);
      if (end === undefined) break;
      const event = countEvent(bytes.subarray(from, end));
      records += event.records;
      isUnattended ||= event.isUnattended;
      from = end;
    }
  } catch {
    // An unreadable event is not counted.
  }
  return { records, isUnattended };
}

function countEvent(bytes: Buffer): { readonly records: number; readonly isUnattended: boolean } {
  const reader = new MessagePackReader(bytes);
  const size = reader.array();
  reader.skip();
  const { nextKind: kind } = reader;
  if (kind === "array") {
    const records = reader.array();
    for (let left = records; left > 0; left--) reader.skip();
    return { records, isUnattended: isUnattendedBy(readOptions(reader, size === 3)) };
  }
  if (kind === "text" || kind === "bytes") {
    const packed = reader.raw();
    const options = readOptions(reader, size === 3);
    return { records: countPacked(packed, options), isUnattended: isUnattendedBy(options) };
  }
  for (let left = 2; left > 0; left--) reader.skip();
  return { records: 1, isUnattended: isUnattendedBy(readOptions(reader, size === 4)) };
}

function isUnattendedBy(options: LogMap): boolean {
  return acknowledgementOf(options) === undefined;
}

/** For compressed entries the sender's `size` option counts, if there is one. */
function countPacked(packed: Buffer, { compressed, size }: LogMap): number {
  if (compressed !== undefined && compressed !== "" && compressed !== "text")
    return typeof size === "bigint" && size > 0n && size <= MAX_VALUES ? Number(size) : 1;
  const entries = new MessagePackReader(packed);
  let records = 0;
  for (; !entries.isAtEnd; records++) entries.skip();
  return records;
}

async function readEntries(
  reader: MessagePackReader,
  tag: string,
  reserve: Reserve,
  out: LogBatchWriter,
  isMore: (read: number) => boolean,
): Promise<void> {
  const plain = new PlainEntry(encodeAttributes({ [TAG_ATTRIBUTE]: tag }));
  let reserved = 0;
  let looked = 0;
  for (let read = 0; isMore(read); ) {
    if (reader.valueCount - looked >= VALUES_PER_LOOK) {
      looked = reader.valueCount;
      if (turns.isOver) await turns.next();
    }
    reader.beginRecord();
    if (reader.plain(plain)) out.add(plain.size, plain.write);
    else {
      if (reader.array() !== 2) throw new MessagePackError("expected entries of a time and a record");
      readRecord(reader, tag, out);
    }
    read++;
    if (reader.valueCount - reserved > VALUES_AT_ONCE) {
      reserveValues(reader.valueCount - reserved, reserve);
      reserved = reader.valueCount;
    }
  }
  reserveValues(reader.valueCount - reserved, reserve);
}

function reserveValues(count: number, reserve: Reserve): void {
  if (!reserve(count * VALUE_BYTES)) throw new MessagePackError("there is no memory for its records");
}

function readRecord(reader: MessagePackReader, tag: string, out: LogBatchWriter): void {
  const attributes: LogMap = {}; // a null prototype would make it slow
  const timestamp = readTime(reader, attributes);
  const entry = new LogEntry(null, attributes, NO_RESOURCE, undefined);
  entry.timestamp = timestamp;
  let bodyKey: string | undefined;
  reader.fields((key, value) => {
    // Fluentd writes message, Fluent Bit writes log. If a record has both, the last one becomes the body, as in the
    // Collector, and the other is kept as an attribute.
    if (key !== "message" && key !== "log") return setValue(attributes, key, value);
    if (bodyKey !== undefined && bodyKey !== key) setValue(attributes, bodyKey, entry.body);
    bodyKey = key;
    entry.body = value;
  });
  setValue(attributes, TAG_ATTRIBUTE, tag);
  out.add(400, (wire) => writeEntry(wire, entry));
}

/** Fluent Bit may write metadata next to the time. */
function readTime(reader: MessagePackReader, attributes: LogMap): bigint {
  if (reader.nextKind !== "array") return reader.time();
  if (reader.array() !== 2) throw new MessagePackError("expected a time and its metadata");
  const time = reader.time();
  const metadata = reader.map();
  if (Object.keys(metadata).length > 0) setValue(attributes, METADATA_ATTRIBUTE, metadata);
  return time;
}

function readOptions(reader: MessagePackReader, isThere: boolean): LogMap {
  if (isThere && reader.nextKind !== "nil") return reader.map();
  return newLogMap();
}

function unpack(packed: Buffer, { compressed }: LogMap, reserve: Reserve): Buffer | Promise<Buffer> {
  if (compressed === undefined || compressed === "" || compressed === "text") return packed;
  if (typeof compressed !== "string") throw new MessagePackError("the name of the compression is not a text");
  if (!COMPRESSIONS.has(compressed)) throw new MessagePackError(`compression ${compressed} is not known`);
  return decompress(compressed, packed, { limit: MAX_UNPACKED_BYTES, reserve });
}

function acknowledgementOf({ chunk }: LogMap): Buffer | undefined {
  if (typeof chunk !== "string" && !(chunk instanceof Uint8Array)) return undefined;
  if (chunk.length > MAX_CHUNK_BYTES) throw new MessagePackError("the id of a chunk is too long");
  return Buffer.concat([Buffer.of(0x81), packText(Buffer.from("ack")), packText(Buffer.from(chunk))]);
}

import { setImmediate as nextTurn } from "node:timers/promises";
import { decompress } from "#codecs";
import {
  encodeAttributes,
  type LogBatchWriter,
  LogEntry,
  type LogMap,
  newLogMap,
  setValue,
  writeEntry,
} from "#logs/entries";
import { MAX_VALUES, MessagePackError, MessagePackReader, packText, ValueScanner } from "./message-pack.js";
import { PlainEntry } from "./plain-entry.js";

/** What a client wants to hear when the records that it sent at once are safe. */
export interface ForwardEvent {
  /** The answer; undefined: the client wants none. */
  readonly acknowledgement: Buffer | undefined;
}

const TAG_ATTRIBUTE = "fluent.tag";
const METADATA_ATTRIBUTE = "fluent.metadata";
const COMPRESSIONS: ReadonlySet<string> = new Set(["gzip", "zstd"]);
/** A few kilobytes may claim to be gigabytes. */
const MAX_UNPACKED_BYTES = 64 * 1024 * 1024;
/** What a value takes in memory beside its text. */
const VALUE_BYTES = 64;
/** Clients take some 30 bytes; it is held until they have read it. */
const MAX_CHUNK_BYTES = 4096;
/** After so many records others get their turn. */
const RECORDS_PER_TURN = 1000;
/** So many values are read before room is asked for. */
const VALUES_AT_ONCE = 10_000;

const NO_RESOURCE = newLogMap();

/** False: there is no room for so much. */
type Reserve = (bytes: number) => boolean;

/**
 * Reads one event of the forward protocol in any of its modes, told apart by the second element: a time is that of the one
 * record that follows, a list holds entries, and bytes hold them packed. Throws a `MessagePackError`, or what `decompress`
 * does, and then has written none of its records. `reserve` is asked for what it takes in memory beside the bytes.
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
  readRecord(reader, tag, out);
  reserveValues(reader.valueCount, reserve);
  return { acknowledgement: acknowledgementOf(readOptions(reader, size === 4)) };
}

/**
 * How many records the whole events of these bytes hold, as far as that is known without unpacking them, and whether any of
 * them asks for no acknowledgement. It ends at one that cannot be read.
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
    // What cannot be read has no number.
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

/** How many entries are compressed is known by what their sender says, if it does. */
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
  for (let read = 0; isMore(read); ) {
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
    if (read % RECORDS_PER_TURN === 0) await nextTurn();
  }
  reserveValues(reader.valueCount - reserved, reserve);
}

function reserveValues(count: number, reserve: Reserve): void {
  if (!reserve(count * VALUE_BYTES)) throw new MessagePackError("there is no room for what it holds");
}

function readRecord(reader: MessagePackReader, tag: string, out: LogBatchWriter): void {
  const attributes: LogMap = {}; // not without a prototype, which makes it slow
  const timestamp = readTime(reader, attributes);
  const entry = new LogEntry(null, attributes, NO_RESOURCE, undefined);
  entry.timestamp = timestamp;
  let bodyKey: string | undefined;
  reader.fields((key, value) => {
    // Fluentd writes message, and Fluent Bit log. Of both the last is the body, as with the Collector; the other is kept.
    if (key !== "message" && key !== "log") return setValue(attributes, key, value);
    if (bodyKey !== undefined && bodyKey !== key) setValue(attributes, bodyKey, entry.body);
    bodyKey = key;
    entry.body = value;
  });
  setValue(attributes, TAG_ATTRIBUTE, tag);
  out.add(400, (wire) => writeEntry(wire, entry));
}

/** Fluent Bit may write metadata beside the time. */
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
  if (typeof compressed !== "string" || !COMPRESSIONS.has(compressed))
    throw new MessagePackError(`compression ${String(compressed)} is not known`);
  return decompress(compressed, packed, { limit: MAX_UNPACKED_BYTES, reserve });
}

function acknowledgementOf({ chunk }: LogMap): Buffer | undefined {
  if (typeof chunk !== "string" && !(chunk instanceof Uint8Array)) return undefined;
  if (chunk.length > MAX_CHUNK_BYTES) throw new MessagePackError("the id of a chunk is too long");
  return Buffer.concat([Buffer.of(0x81), packText(Buffer.from("ack")), packText(Buffer.from(chunk))]);
}

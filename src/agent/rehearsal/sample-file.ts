import { createReadStream } from "node:fs";
import { crc32c } from "#codecs";
import { Batch } from "#otlp";
import { SIGNALS, type Signal } from "#otlp/signals";

/**
 * A file with a recorded sample of what receivers handed in.
 *
 *     "SLUICE SAMPLE 1\n"
 *     entries, each: u32 length of the header, u32 length of the payload, u32 CRC-32C of header and payload (all
 *                    little-endian), the header as JSON, the payload as an OTLP request in protobuf
 *
 * The header is `{"receiver": "otlp", "signal": "logs", "at": 1700000000000}`; unknown members are ignored. Entries are
 * written one after the other, so a file that was cut off is valid up to its last whole entry.
 */
export const SAMPLE_MAGIC = Buffer.from("SLUICE SAMPLE 1\n");

/** A batch as a receiver handed it in. */
export interface SampledBatch {
  readonly receiver: string;
  readonly signal: Signal;
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly bytes: Uint8Array;
}

/** A sample as it is read from a file. */
interface RecordedSample {
  readonly batches: readonly ReadBatch[];
  /** Why the rest of the file could not be read; undefined if all of it was read. */
  readonly damage?: string | undefined;
}

export interface ReadBatch {
  readonly receiver: string;
  readonly at: number;
  readonly batch: Batch;
}

/** The file is no sample, or contains nothing that can be read. */
export class SampleFileError extends Error {
  override readonly name = "SampleFileError";
}

const PREFIX_BYTES = 12;
const MAX_HEADER_BYTES = 64 * 1024;
/** An agent records no more, and a rehearsal holds all of it in memory. */
const MAX_FILE_BYTES = 1024 ** 3 + 64 * 1024 ** 2;
/** A clock that is wrong must not make a rehearsal run through centuries. */
const MAX_TIME = 8.64e15;

/** Returns the parts of an entry, to be written one after the other. */
export function encodeSampled({ bytes, ...header }: SampledBatch): readonly Uint8Array[] {
  const head = Buffer.from(JSON.stringify(header));
  const prefix = Buffer.alloc(PREFIX_BYTES);
  prefix.writeUInt32LE(head.length, 0);
  prefix.writeUInt32LE(bytes.length, 4);
  prefix.writeUInt32LE(crc32c(bytes, crc32c(head)), 8);
  return [prefix, head, bytes];
}

/**
 * Reads the whole entries of a sample. An entry that was cut off ends the sample, and so does a damaged one, because
 * the lengths behind it cannot be trusted. Throws a `SampleFileError` if this is no sample.
 */
export function readSample(file: Uint8Array): RecordedSample {
  const data = Buffer.from(file.buffer, file.byteOffset, file.byteLength);
  checkMagic(data);
  const batches: ReadBatch[] = [];
  for (let at = SAMPLE_MAGIC.length; at < data.length; ) {
    const entry = readEntry(data, at);
    if (typeof entry === "string") return { batches, damage: `${entry} at byte ${at}` };
    batches.push(entry.read);
    at = entry.end;
  }
  return { batches };
}

/** The same of a file. Reads no further than necessary: it may be any file, even one that never ends. */
export async function readSampleFile(path: string, maxBytes = MAX_FILE_BYTES): Promise<RecordedSample> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of createReadStream(path, { highWaterMark: CHUNK_BYTES }) as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    length += chunk.length;
    if (length >= SAMPLE_MAGIC.length && length - chunk.length < SAMPLE_MAGIC.length) checkMagic(Buffer.concat(chunks));
    if (length > maxBytes) throw new SampleFileError("the file is too large: --max-size limits what is recorded");
  }
  return readSample(Buffer.concat(chunks));
}

const CHUNK_BYTES = 1024 ** 2;

function checkMagic(data: Buffer): void {
  if (!data.subarray(0, SAMPLE_MAGIC.length).equals(SAMPLE_MAGIC))
    throw new SampleFileError("this is not a sample: sluice tap --record FILE writes one");
}

/** Returns what is wrong if the entry cannot be read. */
function readEntry(data: Buffer, at: number): { readonly read: ReadBatch; readonly end: number } | string {
  if (data.length - at < PREFIX_BYTES) return "the file was cut off";
  const headEnd = at + PREFIX_BYTES + data.readUInt32LE(at);
  const end = headEnd + data.readUInt32LE(at + 4);
  if (headEnd - at - PREFIX_BYTES > MAX_HEADER_BYTES) return "an entry is damaged";
  if (end > data.length) return "the file was cut off";
  const body = data.subarray(at + PREFIX_BYTES, end);
  if (crc32c(body) !== data.readUInt32LE(at + 8)) return "an entry is damaged";
  const head = readHeader(data.toString("utf8", at + PREFIX_BYTES, headEnd));
  if (head === undefined) return "an entry is damaged";
  try {
    const batch = Batch.admit(head.signal, data.subarray(headEnd, end));
    return { read: { receiver: head.receiver, at: head.at, batch }, end };
  } catch {
    return `an entry is no OTLP of ${head.signal}`;
  }
}

function readHeader(text: string): Pick<SampledBatch, "receiver" | "signal" | "at"> | undefined {
  try {
    const { receiver, signal, at } = JSON.parse(text) as Partial<SampledBatch>;
    const isTime = typeof at === "number" && Number.isFinite(at) && at >= 0 && at <= MAX_TIME;
    const known = SIGNALS.find((each) => each === signal);
    return typeof receiver === "string" && known !== undefined && isTime ? { receiver, signal: known, at } : undefined;
  } catch {
    return undefined;
  }
}

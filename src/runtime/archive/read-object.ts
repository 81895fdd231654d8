import { isUtf8 } from "node:buffer";
import { Readable } from "node:stream";
import { createGunzip } from "node:zlib";
import { DecompressError, decompress } from "#codecs/compression";
import { Batch, cutBatch, SplitOverflow } from "#otlp";
import { batchFromJson } from "#otlp/json";
import { isMalformed, type Signal } from "#otlp/signals";
import { ArchiveError } from "./archive-source.js";
import { LineSplitter } from "./line-splitter.js";
import { RequestCutter } from "./request-cutter.js";

/** The size of the batches that objects are cut into. */
const PIECE_BYTES = 1024 * 1024;
/** A resource with its records is decoded as a whole. */
const MAX_RESOURCE_BYTES = 64 * 1024 * 1024;
/**
 * So is a line. The exporter writes a batch as one line: by default up to 28 MiB of wire bytes, which are several times as
 * long in JSON.
 */
const MAX_LINE_BYTES = 128 * 1024 * 1024;
/** zstd is decompressed as a whole, frame by frame. */
const MAX_ZSTD_BYTES = 256 * 1024 * 1024;
/** A few megabytes that decompress to more than this are taken for an attack. */
const MAX_OBJECT_BYTES = 4 * 1024 * 1024 * 1024;

/**
 * Yields the records of an object in batches of about a megabyte, while its bytes arrive. The same content always gives
 * the same batches, so a position in it is a number of batches. Memory is limited, whatever the object contains.
 * Throws an `ArchiveError` with a fault; the batches before it are good.
 */
export async function* readObject(
  { signal, format, compression }: ObjectName,
  bytes: AsyncIterable<Uint8Array>,
  modifiedAt: number,
): AsyncGenerator<Batch> {
  const plain = new BytesBeforeFault(limited(compression === undefined ? bytes : decompressed(compression, bytes)));
  const batches =
    format === "otlp_proto"
      ? readRequest(signal, plain)
      : format === "otlp_json"
        ? readJsonLines(signal, plain)
        : readTextLines(plain, modifiedAt);
  try {
    for await (const batch of batches) yield* pieces(batch);
    if (plain.fault !== undefined) throw plain.fault;
  } catch (error) {
    if (plain.fault !== undefined) throw plain.fault;
    if (isMalformed(error)) throw new ArchiveError(error.message, { fault: "damaged", cause: error });
    if (error instanceof SplitOverflow) throw new ArchiveError(error.message, { fault: "too_large", cause: error });
    throw error;
  }
}

/**
 * The bytes of an object up to its fault, as if it ended there. The fault is kept until everything before it has been
 * read. Failures that may pass are thrown at once, because the object is read again then.
 */
class BytesBeforeFault implements AsyncIterable<Uint8Array> {
  fault: ArchiveError | undefined;
  private readonly bytes: AsyncIterable<Uint8Array>;

  constructor(bytes: AsyncIterable<Uint8Array>) {
    this.bytes = bytes;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
    try {
      yield* this.bytes;
    } catch (error) {
      if (!(error instanceof ArchiveError) || error.fault === undefined || error.isTransient) throw error;
      this.fault = error;
    }
  }
}

async function* readRequest(signal: Signal, bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Batch> {
  const cutter = new RequestCutter(PIECE_BYTES, MAX_RESOURCE_BYTES);
  for await (const chunk of bytes) for (const piece of cutter.push(chunk)) yield Batch.admit(signal, piece);
  for (const piece of cutter.end()) yield Batch.admit(signal, piece);
}

/** Reads each line as a request and joins short ones. Leaves out other lines and reports them at the end. */
async function* readJsonLines(signal: Signal, bytes: BytesBeforeFault): AsyncGenerator<Batch> {
  let joined: Batch[] = [];
  let size = 0;
  let bad = 0;
  let failure: Error | undefined;
  for await (const line of linesOf(bytes)) {
    if (line.length === 0) continue;
    try {
      const batch = batchFromJson(signal, line);
      joined.push(batch);
      size += batch.byteLength;
    } catch (error) {
      if (!isMalformed(error)) throw error;
      bad++;
      failure ??= error;
    }
    if (size < PIECE_BYTES) continue;
    yield Batch.merge(joined);
    joined = [];
    size = 0;
  }
  if (size > 0) yield Batch.merge(joined);
  if (failure === undefined) return;
  const which = bad === 1 ? "a line is" : `${bad} lines are`;
  throw new ArchiveError(`${which} no request of OTLP/JSON: ${failure.message}`, { fault: "damaged", cause: failure });
}

/** Each line is the body of a log record. When it was observed is not known, only when it was archived. */
async function* readTextLines(bytes: BytesBeforeFault, modifiedAt: number): AsyncGenerator<Batch> {
  const { LogBatchWriter } = await import("#logs/entries"); // not needed by agents that never rehydrate
  const writer = new LogBatchWriter(NOTHING, NOTHING, PIECE_BYTES);
  writer.observedAt(modifiedAt);
  for await (const line of linesOf(bytes)) {
    if (isUtf8(line)) writer.addText(line, 0, line.length, NOTHING);
    else writer.addBytes(line, NOTHING);
    if (writer.byteLength >= PIECE_BYTES) yield writer.finish();
  }
  if (writer.count > 0) yield writer.finish();
}

const NOTHING = new Uint8Array(0);

/** A line that a fault cuts off is left out. */
async function* linesOf(bytes: BytesBeforeFault): AsyncGenerator<Uint8Array> {
  const cutter = new LineSplitter(MAX_LINE_BYTES);
  for await (const chunk of bytes) yield* cutter.push(chunk);
  if (bytes.fault === undefined) yield* cutter.end();
}

function pieces(batch: Batch): Iterable<Batch> {
  if (batch.byteLength <= 2 * PIECE_BYTES) return batch.count === 0 ? [] : [batch];
  return cutBatch(batch, () => ({ bytes: PIECE_BYTES, total: 4 * batch.byteLength + PIECE_BYTES }));
}

async function* limited(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let size = 0;
  for await (const chunk of bytes) {
    size += chunk.length;
    if (size > MAX_OBJECT_BYTES)
      throw new ArchiveError(`it is larger than ${MAX_OBJECT_BYTES} bytes when unpacked`, { fault: "too_large" });
    yield chunk;
  }
}

function decompressed(compression: "gzip" | "zstd", bytes: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
  return compression === "gzip" ? gunzipped(bytes) : unzstd(bytes);
}

/** A failure of the source must not look like damaged data, so it is remembered. */
async function* gunzipped(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let failure: unknown;
  const source = Readable.from(
    remembered(bytes, (error) => (failure = error)),
    { objectMode: false },
  );
  const gunzip = createGunzip({ chunkSize: 256 * 1024 });
  source.on("error", (error) => gunzip.destroy(error));
  try {
    yield* source.pipe(gunzip);
  } catch (error) {
    if (failure !== undefined) throw failure;
    const { code, message } = error as NodeJS.ErrnoException;
    const fault = code === "Z_BUF_ERROR" ? "truncated" : "damaged";
    throw new ArchiveError(`the gzip data is damaged: ${message}`, { fault, cause: error });
  } finally {
    source.destroy();
    gunzip.destroy();
  }
}

async function* remembered(
  bytes: AsyncIterable<Uint8Array>,
  onError: (error: unknown) => void,
): AsyncGenerator<Uint8Array> {
  try {
    yield* bytes;
  } catch (error) {
    onError(error);
    throw error;
  }
}

async function* unzstd(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const parts: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of bytes) {
    size += chunk.length;
    if (size > MAX_ZSTD_BYTES) throw tooLargeZstd();
    parts.push(chunk);
  }
  try {
    yield await decompress("zstd", Buffer.concat(parts, size), { limit: MAX_ZSTD_BYTES, reserve: () => true });
  } catch (error) {
    if (!(error instanceof DecompressError)) throw error;
    if (error.fault === "too_large") throw tooLargeZstd();
    throw new ArchiveError(error.message, { fault: "damaged", cause: error });
  }
}

function tooLargeZstd(): ArchiveError {
  return new ArchiveError(`zstd data is read up to ${MAX_ZSTD_BYTES} bytes, unpacked`, { fault: "too_large" });
}

type ArchiveFormat = "otlp_proto" | "otlp_json" | "body";

/** The content of an archived object, as its name tells. */
export interface ObjectName {
  readonly signal: Signal;
  readonly format: ArchiveFormat;
  readonly compression: "gzip" | "zstd" | undefined;
}

/** `<file_prefix><signal>_<unique>.<format>[.<compression>]`, as the Collector's exporter `awss3` names objects. */
// At most 1,024 characters, because it is a part of a key in S3 or of a path.
const NAME = /^(.*)(logs|traces|metrics)_[^/]*?\.(json|binpb|txt|body)(?:\.(gz|zst))?$/s;
const FORMATS = { json: "otlp_json", binpb: "otlp_proto", txt: "body", body: "body" } as const;
const COMPRESSIONS = { gz: "gzip", zst: "zstd" } as const;

/**
 * Reads the last part of a key. Undefined for objects that no exporter of ours or of the Collector has written, and, if
 * `filePrefix` is given, for those with another prefix.
 */
export function parseObjectName(key: string, filePrefix?: string): ObjectName | undefined {
  const [, prefix, signal, format, compression] = NAME.exec(key.slice(key.lastIndexOf("/") + 1)) ?? [];
  if (signal === undefined || (filePrefix !== undefined && prefix !== filePrefix)) return undefined;
  const name = { signal: signal as Signal, format: FORMATS[format as keyof typeof FORMATS] };
  if (name.format === "body" && signal !== "logs") return undefined;
  return { ...name, compression: compression && COMPRESSIONS[compression as keyof typeof COMPRESSIONS] } as ObjectName;
}

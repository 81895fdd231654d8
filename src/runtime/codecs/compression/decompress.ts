import * as zlib from "node:zlib";
import { BoundedOutput, type DecompressBounds, DecompressError, noRoom, tooLarge } from "./bounded-output.js";
import { decodeLz4 } from "./lz4.js";
import { decodeSnappyBlock, decodeSnappyFrames, isFramedSnappy } from "./snappy.js";
import { decodeZstd } from "./zstd-decode.js";

/**
 * Undoing Content-Encoding without trusting it: output stops at a limit and is reserved as it appears, so that a few
 * kilobytes that unpack to gigabytes cost no more than the limit.
 */
type CreateDecompressor = (bytes: Uint8Array) => zlib.Gunzip;

const withZstd = zlib as typeof zlib & { createZstdDecompress?: () => zlib.Gunzip };

const STREAM_OPTIONS = { chunkSize: 64 * 1024 };

/** What Node.js undoes, in its thread pool. */
const STREAMS: Readonly<Record<string, CreateDecompressor>> = {
  gzip: () => zlib.createGunzip(STREAM_OPTIONS),
  "x-gzip": () => zlib.createGunzip(STREAM_OPTIONS),
  zlib: () => zlib.createInflate(STREAM_OPTIONS),
  // RFC 9110 says deflate has zlib's wrapping; some clients leave it off.
  deflate: (bytes) =>
    (bytes[0]! & 15) === 8 ? zlib.createInflate(STREAM_OPTIONS) : zlib.createInflateRaw(STREAM_OPTIONS),
  ...(withZstd.createZstdDecompress && { zstd: () => withZstd.createZstdDecompress!() }),
};

/** Writes the output piece by piece. Throws a RangeError for damaged input. */
type Decoder = (input: Buffer, output: BoundedOutput) => Generator<void>;

/** What Node.js has not, or not in every version. */
const DECODERS: Readonly<Record<string, Decoder>> = {
  zstd: decodeZstd,
  snappy: (input, output) => (isFramedSnappy(input) ? decodeSnappyFrames : decodeSnappyBlock)(input, output),
  "x-snappy-framed": decodeSnappyFrames,
  lz4: decodeLz4,
};

/** Names of the encodings that can be undone. */
export const SUPPORTED_ENCODINGS: readonly string[] = [...new Set([...Object.keys(STREAMS), ...Object.keys(DECODERS)])];

/** Throws or rejects with a `DecompressError` and nothing else. `encoding` must be one of `SUPPORTED_ENCODINGS`. */
export function decompress(encoding: string, bytes: Buffer, bounds: DecompressBounds): Buffer | Promise<Buffer> {
  if (bytes.length === 0) throw new DecompressError("corrupt", `no ${encoding} data`);
  if (!Object.hasOwn(STREAMS, encoding)) return decodeInTurns(encoding, DECODERS[encoding]!, bytes, bounds);
  return (encoding === "gzip" ? gunzipSmall(bytes, bounds) : undefined) ?? decompressStream(encoding, bytes, bounds);
}

const MAX_SYNC_BYTES = 1024 * 1024;
const SLACK = 64;

/**
 * The usual request is small, and for it a call without the thread pool costs less than half. gzip's last four bytes
 * claim the size of the output; output beyond the claim means that it lied, and the careful way decides.
 */
function gunzipSmall(bytes: Buffer, { limit, reserve }: DecompressBounds): Buffer | undefined {
  const claimed = bytes.length < 18 ? MAX_SYNC_BYTES + 1 : bytes.readUInt32LE(bytes.length - 4);
  if (claimed > MAX_SYNC_BYTES || claimed > limit) return undefined;
  if (!reserve(claimed)) throw noRoom();
  const maxLength = claimed + SLACK;
  try {
    const options = { chunkSize: maxLength, maxOutputLength: maxLength, info: true };
    const { buffer: output, engine } = zlib.gunzipSync(bytes, options) as unknown as SyncResult;
    if (output.length > limit) throw tooLarge(limit);
    return output.length > claimed || hasMore(bytes, engine) ? undefined : output;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ERR_BUFFER_TOO_LARGE") return undefined;
    throw error instanceof DecompressError ? error : corrupt("gzip", error as Error);
  }
}

/** What zlib gives with `info: true`, which its types do not know. */
interface SyncResult {
  readonly buffer: Buffer;
  readonly engine: zlib.Gunzip;
}

/** Whether something is left behind the end of the data, which zlib passes over without a word; zeros are padding. */
function hasMore(bytes: Buffer, { bytesWritten }: zlib.Gunzip): boolean {
  return bytes.subarray(bytesWritten).some((byte) => byte !== 0);
}

function decompressStream(encoding: string, bytes: Buffer, { limit, reserve }: DecompressBounds): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const stream = STREAMS[encoding]!(bytes);
    const chunks: Buffer[] = [];
    let size = 0;
    const fail = (error: DecompressError) => {
      stream.destroy();
      reject(error);
    };
    stream.on("data", (chunk: Buffer) => {
      size += chunk.length;
      if (size > limit) fail(tooLarge(limit));
      else if (!reserve(chunk.length)) fail(noRoom());
      else chunks.push(chunk);
    });
    stream.on("error", (error) => fail(corrupt(encoding, error)));
    stream.on("end", () => {
      if (hasMore(bytes, stream)) fail(new DecompressError("corrupt", `the ${encoding} data goes on behind its end`));
      else resolve(Buffer.concat(chunks, size));
    });
    stream.end(bytes);
  });
}

/** The usual request is undone at once; a large one leaves a turn to others after every megabyte. */
function decodeInTurns(encoding: string, decoder: Decoder, bytes: Buffer, bounds: DecompressBounds) {
  const output = new BoundedOutput(bounds);
  const pieces = decoder(bytes, output);
  const isDone = () => {
    const pause = output.length + MAX_SYNC_BYTES;
    try {
      while (output.length < pause) if (pieces.next().done) return true;
      return false;
    } catch (error) {
      throw error instanceof RangeError ? corrupt(encoding, error) : error;
    }
  };
  return isDone() ? output.written() : continueLater(isDone, output);
}

async function continueLater(isDone: () => boolean, output: BoundedOutput): Promise<Buffer> {
  do await new Promise((resolve) => setImmediate(resolve));
  while (!isDone());
  return output.written();
}

function corrupt(encoding: string, error: Error): DecompressError {
  return new DecompressError("corrupt", `the ${encoding} data is damaged: ${error.message}`);
}

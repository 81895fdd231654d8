import * as zlib from "node:zlib";
import { inTurns, type Steps } from "#work";
import { BoundedOutput, type DecompressBounds, DecompressError, noRoom, tooLarge } from "./bounded-output.js";
import { decodeLz4 } from "./lz4.js";
import { decodeSnappyBlock, decodeSnappyFrames, isFramedSnappy } from "./snappy.js";
import { decompressZstd, hasZstd, ZSTD_MISSING } from "./zstd.js";

/**
 * Undoes Content-Encoding of untrusted input: output stops at a limit and is reserved as it appears, so a few kilobytes
 * that decompress to gigabytes cost no more than the limit.
 */
type CreateDecompressor = (bytes: Uint8Array) => zlib.Gunzip;

const STREAM_OPTIONS = { chunkSize: 64 * 1024 };

/** Encodings that Node.js decompresses, in its thread pool. */
const STREAMS: Readonly<Record<string, CreateDecompressor>> = {
  gzip: () => zlib.createGunzip(STREAM_OPTIONS),
  "x-gzip": () => zlib.createGunzip(STREAM_OPTIONS),
  zlib: () => zlib.createInflate(STREAM_OPTIONS),
  // RFC 9110 says deflate has zlib's wrapping, but some clients leave it out.
  deflate: (bytes) =>
    (bytes[0]! & 15) === 8 ? zlib.createInflate(STREAM_OPTIONS) : zlib.createInflateRaw(STREAM_OPTIONS),
};

/** Writes the output piece by piece. Throws a RangeError for damaged input. */
type Decoder = (input: Buffer, output: BoundedOutput) => Generator<void>;

/** Encodings that Node.js lacks. */
const DECODERS: Readonly<Record<string, Decoder>> = {
  snappy: (input, output) => (isFramedSnappy(input) ? decodeSnappyFrames : decodeSnappyBlock)(input, output),
  "x-snappy-framed": decodeSnappyFrames,
  lz4: decodeLz4,
};

/** Names of the supported encodings. */
export const SUPPORTED_ENCODINGS: readonly string[] = [
  ...Object.keys(STREAMS),
  ...(hasZstd ? ["zstd"] : []),
  ...Object.keys(DECODERS),
];

/**
 * Only throws or rejects with a `DecompressError`. `encoding` must be one of `SUPPORTED_ENCODINGS`, or zstd, which is
 * refused where Node.js lacks it.
 */
export function decompress(encoding: string, bytes: Buffer, bounds: DecompressBounds): Buffer | Promise<Buffer> {
  if (bytes.length === 0) throw new DecompressError("corrupt", `no ${encoding} data`);
  if (encoding === "zstd") {
    if (!hasZstd) throw new DecompressError("corrupt", ZSTD_MISSING);
    return decompressZstd(bytes, bounds);
  }
  if (!Object.hasOwn(STREAMS, encoding)) return inTurns(decoded(encoding, bytes, bounds));
  return (encoding === "gzip" ? gunzipSmall(bytes, bounds) : undefined) ?? decompressStream(encoding, bytes, bounds);
}

const MAX_SYNC_BYTES = 1024 * 1024;
const SLACK = 64;

/**
 * Most requests are small, and for them a synchronous call costs less than half of the thread pool. gzip's last four
 * bytes claim the size of the output. If the output is larger than claimed, returns undefined and the bounded decoder
 * decides.
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

/** The result of zlib with `info: true`, which its types do not describe. */
interface SyncResult {
  readonly buffer: Buffer;
  readonly engine: zlib.Gunzip;
}

/** Whether data follows the end of the compressed data, which zlib silently ignores. Zeros are padding. */
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
      if (hasMore(bytes, stream))
        fail(new DecompressError("corrupt", `there are more bytes after the end of the ${encoding} data`));
      else resolve(Buffer.concat(chunks, size));
    });
    stream.end(bytes);
  });
}

/** A usual request is decoded at once. */
function* decoded(encoding: string, bytes: Buffer, bounds: DecompressBounds): Steps<Buffer> {
  const output = new BoundedOutput(bounds);
  try {
    yield* DECODERS[encoding]!(bytes, output);
  } catch (error) {
    throw error instanceof RangeError ? corrupt(encoding, error) : error;
  }
  return output.written();
}

function corrupt(encoding: string, error: Error): DecompressError {
  return new DecompressError("corrupt", `the ${encoding} data is damaged: ${error.message}`);
}

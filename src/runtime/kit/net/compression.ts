import { promisify } from "node:util";
import * as zlib from "node:zlib";
import { gzip as gzipCallback, gzipSync } from "node:zlib";

/**
 * Undoing Content-Encoding without trusting it: output stops at a limit and is reserved as it appears, so that a few
 * kilobytes that unpack to gigabytes cost no more than the limit.
 */
type DecompressFault = "corrupt" | "too_large" | "no_room";

/** The bytes could not be unpacked, or not within their bounds. */
export class DecompressError extends Error {
  override readonly name = "DecompressError";
  readonly fault: DecompressFault;

  constructor(fault: DecompressFault, message: string) {
    super(message);
    this.fault = fault;
  }
}

/** What unpacking may take. */
interface DecompressBounds {
  /** Bytes the output may have. */
  readonly limit: number;
  /** Asks for room for so many more bytes; false means there is none. Whoever passes it in releases them. */
  reserve(bytes: number): boolean;
}

type CreateDecompressor = (bytes: Uint8Array) => zlib.Gunzip;

const withZstd = zlib as typeof zlib & { createZstdDecompress?: () => zlib.Gunzip };

const DECOMPRESSORS: Readonly<Record<string, CreateDecompressor>> = {
  gzip: () => zlib.createGunzip(STREAM_OPTIONS),
  "x-gzip": () => zlib.createGunzip(STREAM_OPTIONS),
  zlib: () => zlib.createInflate(STREAM_OPTIONS),
  // RFC 9110 says deflate has zlib's wrapping; some clients leave it off.
  deflate: (bytes) =>
    (bytes[0]! & 15) === 8 ? zlib.createInflate(STREAM_OPTIONS) : zlib.createInflateRaw(STREAM_OPTIONS),
  ...(withZstd.createZstdDecompress && { zstd: () => withZstd.createZstdDecompress!() }),
};

const STREAM_OPTIONS = { chunkSize: 64 * 1024 };

/** Names of the encodings that this Node can undo; zstd needs Node 22.15. */
export const SUPPORTED_ENCODINGS: readonly string[] = Object.keys(DECOMPRESSORS);

/** Rejects with a `DecompressError` and nothing else. `encoding` must be one of DECOMPRESSIONS. */
export function decompress(encoding: string, bytes: Buffer, bounds: DecompressBounds): Buffer | Promise<Buffer> {
  if (bytes.length === 0) throw new DecompressError("corrupt", `no ${encoding} data`);
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
  if (!reserve(claimed)) throw new DecompressError("no_room", "no room for the unpacked request");
  const maxLength = claimed + SLACK;
  try {
    const output = zlib.gunzipSync(bytes, { chunkSize: maxLength, maxOutputLength: maxLength });
    if (output.length > limit) throw tooLarge(limit);
    return output;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ERR_BUFFER_TOO_LARGE") return undefined;
    throw error instanceof DecompressError ? error : corrupt("gzip", error as Error);
  }
}

function decompressStream(encoding: string, bytes: Buffer, { limit, reserve }: DecompressBounds): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const stream = DECOMPRESSORS[encoding]!(bytes);
    const chunks: Buffer[] = [];
    let size = 0;
    const fail = (error: DecompressError) => {
      stream.destroy();
      reject(error);
    };
    stream.on("data", (chunk: Buffer) => {
      size += chunk.length;
      if (size > limit) fail(tooLarge(limit));
      else if (!reserve(chunk.length)) fail(new DecompressError("no_room", "no room for the unpacked request"));
      else chunks.push(chunk);
    });
    stream.on("error", (error) => fail(corrupt(encoding, error)));
    stream.on("end", () => resolve(Buffer.concat(chunks, size)));
    stream.end(bytes);
  });
}

function tooLarge(limit: number): DecompressError {
  return new DecompressError("too_large", `the request is larger than ${limit} bytes when unpacked`);
}

function corrupt(encoding: string, error: Error): DecompressError {
  return new DecompressError("corrupt", `the ${encoding} data is damaged: ${error.message}`);
}

const gzipAsync = promisify(gzipCallback);

/** Up to this size compressing at once costs half of what the thread pool does, and takes well under a millisecond. */
const MAX_SYNC_GZIP_BYTES = 128 * 1024;

/** Level 1 by default: telemetry repeats itself so much that level 6 saves 1 % more and takes twice the time. */
export function gzip(bytes: Uint8Array, level = 1): Buffer | Promise<Buffer> {
  return bytes.length <= MAX_SYNC_GZIP_BYTES ? gzipSync(bytes, { level }) : gzipAsync(bytes, { level });
}

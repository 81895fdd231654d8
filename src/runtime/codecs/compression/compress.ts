import { promisify } from "node:util";
import * as zlib from "node:zlib";
import { atOnce, inTurns } from "#work";
import { encodeLz4 } from "./lz4.js";
import { encodeSnappyBlock, encodeSnappyFrames, encodeSnappyParts } from "./snappy.js";
import { compressZstd } from "./zstd.js";

/** The compressions for request bodies. */
export const COMPRESSIONS = ["gzip", "zlib", "deflate", "snappy", "x-snappy-framed", "zstd", "lz4"] as const;

type Compression = (typeof COMPRESSIONS)[number];

/**
 * Compresses a body. Large bodies are compressed in Node's thread pool if Node.js has the algorithm, and otherwise in as
 * many turns of the event loop as they need: they must not change until then.
 */
export function compress(compression: Compression, bytes: Uint8Array, level?: number): Buffer | Promise<Buffer> {
  switch (compression) {
    case "gzip":
      return gzip(bytes, level);
    case "zlib":
    case "deflate":
      return isSmall(bytes)
        ? zlib.deflateSync(bytes, { level: level ?? 1 })
        : deflateAsync(bytes, { level: level ?? 1, chunkSize: CHUNK_BYTES });
    case "snappy":
      return isSmall(bytes) ? encodeSnappyBlock(bytes) : inTurns(encodeSnappyParts(bytes));
    case "x-snappy-framed":
      return isSmall(bytes) ? atOnce(encodeSnappyFrames(bytes)) : inTurns(encodeSnappyFrames(bytes));
    case "lz4":
      return isSmall(bytes) ? atOnce(encodeLz4(bytes)) : inTurns(encodeLz4(bytes));
    case "zstd":
      return compressZstd(bytes, level ?? 1, MAX_SYNC_BYTES);
  }
}

const gzipAsync = promisify(zlib.gzip);
const deflateAsync = promisify(zlib.deflate);

/**
 * Up to this size, compressing synchronously costs half as much as using the thread pool and takes well under a
 * millisecond.
 */
const MAX_SYNC_BYTES = 128 * 1024;

/** Each chunk of output is a task of the thread pool. With Node's 16 KiB, a body of megabytes costs a third more. */
const CHUNK_BYTES = 256 * 1024;

function isSmall(bytes: Uint8Array): boolean {
  return bytes.length <= MAX_SYNC_BYTES;
}

/** Level 1 by default: telemetry repeats so much that level 6 saves only 1 % more and takes twice the time. */
function gzip(bytes: Uint8Array, level = 1): Buffer | Promise<Buffer> {
  return isSmall(bytes) ? zlib.gzipSync(bytes, { level }) : gzipAsync(bytes, { level, chunkSize: CHUNK_BYTES });
}

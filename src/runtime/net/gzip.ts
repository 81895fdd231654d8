import { promisify } from "node:util";
import { gzip as gzipCallback, gzipSync } from "node:zlib";

const gzipAsync = promisify(gzipCallback);

/** Up to this size compressing at once costs half of what the thread pool does, and takes well under a millisecond. */
const MAX_SYNC_GZIP_BYTES = 128 * 1024;

/** Level 1 by default: telemetry repeats itself so much that level 6 saves 1 % more and takes twice the time. */
export function gzip(bytes: Uint8Array, level = 1): Buffer | Promise<Buffer> {
  return bytes.length <= MAX_SYNC_GZIP_BYTES ? gzipSync(bytes, { level }) : gzipAsync(bytes, { level });
}

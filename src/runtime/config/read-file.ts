import { closeSync, openSync, readSync } from "node:fs";

/** Far beyond any config; a device or a pipe may have no end. */
const MAX_BYTES = 16 * 1024 * 1024;

/** A file's text, whatever kind of file it is. Throws when it cannot be read or is too large. */
export function readTextFile(path: string): string {
  const file = openSync(path, "r");
  try {
    return readAll(file).toString("utf8");
  } finally {
    closeSync(file);
  }
}

function readAll(file: number): Buffer {
  const chunks: Buffer[] = [];
  let size = 0;
  for (;;) {
    const chunk = Buffer.allocUnsafe(64 * 1024);
    const read = readSync(file, chunk);
    if (read === 0) return Buffer.concat(chunks, size);
    chunks.push(chunk.subarray(0, read));
    size += read;
    if (size > MAX_BYTES) throw new Error(`it has more than ${MAX_BYTES / 1024 / 1024} MiB`);
  }
}

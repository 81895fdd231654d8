import type { FileHandle } from "node:fs/promises";
import { batchToJsonBytesInSteps } from "#otlp/json";
import { inTurns } from "#work";
import type { Batch } from "../../../plugin.js";

/**
 * The format of batches in a file, and how to find the end of the complete ones. A crash during a write leaves a torn
 * last frame, which was never acknowledged.
 */
export interface Framing {
  /** Takes as many turns of the event loop as it needs: none if the batch is small. */
  encode(batch: Batch): Buffer | Promise<Buffer>;
  /**
   * Returns the number of bytes of complete frames at the beginning of the file. If only the last line end is missing,
   * `close` is what to append. `completeBytes` is 0 for a file of another format.
   */
  inspect(file: FileHandle, size: number): Promise<{ readonly completeBytes: number; readonly close?: Buffer }>;
}

const LINE_FEED = 0x0a;
const OPENING_BRACE = 0x7b;
const CHUNK_BYTES = 1024 * 1024;

/** A longer rest without a line feed is not one of our lines, so it is not read into memory. */
export const MAX_LINE_BYTES = 256 * CHUNK_BYTES;

/** OTLP/JSON, one request per line. */
export const jsonLines: Framing = {
  encode: (batch) => inTurns(batchToJsonBytesInSteps(batch, "\n")),

  async inspect(file, size) {
    if (size === 0) return { completeBytes: 0 };
    if ((await readBytes(file, 0, 1))[0] !== OPENING_BRACE) return { completeBytes: 0 };
    const completeBytes = await endOfLastLine(file, size);
    const unfinished = size - completeBytes;
    if (unfinished === 0 || unfinished > MAX_LINE_BYTES || !isJson(await readBytes(file, completeBytes, unfinished)))
      return { completeBytes };
    return { completeBytes: size, close: Buffer.from("\n") };
  },
};

/** Protobuf requests, each after its length in four bytes, big endian. */
export const lengthPrefixed: Framing = {
  encode(batch) {
    const prefix = Buffer.allocUnsafe(4);
    prefix.writeUInt32BE(batch.byteLength);
    return Buffer.concat([prefix, ...batch.chunks]);
  },

  async inspect(file, size) {
    let at = 0;
    let window: Buffer = Buffer.alloc(0);
    let windowAt = 0;
    while (at + 4 <= size) {
      if (at < windowAt || at + 4 > windowAt + window.length) {
        window = await readBytes(file, at, Math.min(CHUNK_BYTES, size - at));
        windowAt = at;
      }
      const next = at + 4 + window.readUInt32BE(at - windowAt);
      if (next > size) break;
      at = next;
    }
    return { completeBytes: at };
  },
};

async function endOfLastLine(file: FileHandle, size: number): Promise<number> {
  for (let end = size; end > 0; ) {
    const start = Math.max(0, end - CHUNK_BYTES);
    const found = (await readBytes(file, start, end - start)).lastIndexOf(LINE_FEED);
    if (found >= 0) return start + found + 1;
    end = start;
  }
  return 0;
}

/** Returns fewer bytes than requested only if the file ends before. */
export async function readBytes(file: FileHandle, position: number, length: number): Promise<Buffer> {
  const buffer = Buffer.allocUnsafe(length);
  let filled = 0;
  while (filled < length) {
    const { bytesRead } = await file.read(buffer, filled, length - filled, position + filled);
    if (bytesRead === 0) break;
    filled += bytesRead;
  }
  return buffer.subarray(0, filled);
}

function isJson(bytes: Buffer): boolean {
  try {
    JSON.parse(bytes.toString());
    return true;
  } catch {
    return false;
  }
}

import * as zlib from "node:zlib";
import { BoundedOutput, type DecompressBounds, DecompressError, noRoom, tooLarge } from "./bounded-output.js";

/**
 * Zstandard (RFC 8878), compressed and decompressed by Node.js, which has it from 22.15 on.
 *
 * Node.js takes one frame at a time here. Given several frames or a skippable one, it decompresses the first and keeps
 * quiet about the rest; and version 22 takes a frame without its end for a whole one. So the frames are found first, by
 * the lengths in their headers: what is cut off, and what is no frame, is refused before anything is decompressed.
 */

/** The zstd functions of Node.js, which the types of the oldest supported version lack. */
interface ZstdOfNode {
  zstdCompressSync(bytes: Uint8Array, options: object): Buffer;
  zstdCompress(bytes: Uint8Array, options: object, callback: (error: Error | null, packed: Buffer) => void): void;
  zstdDecompressSync(bytes: Uint8Array, options: object): Buffer;
  createZstdDecompress(): zlib.Gunzip;
  readonly constants: { readonly ZSTD_c_compressionLevel: number };
}

const node = zlib as unknown as ZstdOfNode;

/** Whether this version of Node.js has zstd. */
export const hasZstd = "createZstdDecompress" in zlib && "zstdDecompressSync" in zlib;

/** What to tell whoever asks for zstd where Node.js lacks it. */
export const ZSTD_MISSING = `zstd needs Node.js 22.15 or newer, and this is ${process.version}`;

/** To be called only if there is zstd. Bodies above `maxSyncBytes` are compressed in Node's thread pool. */
export function compressZstd(bytes: Uint8Array, level: number, maxSyncBytes: number): Buffer | Promise<Buffer> {
  const options = { params: { [node.constants.ZSTD_c_compressionLevel]: level }, chunkSize: CHUNK_BYTES };
  if (bytes.length <= maxSyncBytes) return node.zstdCompressSync(bytes, options);
  return new Promise((resolve, reject) => {
    node.zstdCompress(bytes, options, (error, packed) => (error ? reject(error) : resolve(packed)));
  });
}

const CHUNK_BYTES = 256 * 1024;

/** Decompresses all frames within the bounds. Throws or rejects with a `DecompressError`. */
export function decompressZstd(bytes: Buffer, bounds: DecompressBounds): Buffer | Promise<Buffer> {
  const { end, size = Number.POSITIVE_INFINITY } = frameAt(bytes, 0);
  if (end < bytes.length || Math.max(size, end) > MAX_SYNC_BYTES)
    return decompressFrames(bytes, new BoundedOutput(bounds));
  if (size > bounds.limit) throw tooLarge(bounds.limit);
  if (!bounds.reserve(size)) throw noRoom();
  const content = unpackSmall(bytes, size);
  if (content === undefined) throw corrupt("its content is larger than it says");
  return content;
}

async function decompressFrames(bytes: Buffer, output: BoundedOutput): Promise<Buffer> {
  const maxFrames = MIN_MAX_FRAMES + bytes.length / BYTES_PER_FRAME;
  let yieldAt = MAX_SYNC_BYTES;
  let frames = 0;
  for (let at = 0; at < bytes.length; ) {
    const frame = frameAt(bytes, at);
    if (++frames > maxFrames) throw corrupt("it consists of very many small frames");
    const packed = bytes.subarray(at, frame.end);
    at = frame.end;
    if (frame.isSkippable) continue;
    const small = unpackSmall(packed, frame.size);
    if (small !== undefined) output.append(small, 0, small.length);
    else await unpackLarge(packed, output);
    if (at + output.length < yieldAt && frames % FRAMES_PER_TURN !== 0) continue;
    await new Promise((resolve) => setImmediate(resolve));
    yieldAt = at + output.length + MAX_SYNC_BYTES;
  }
  return output.written();
}

/**
 * For most requests, a synchronous call costs less than half of the thread pool. Returns undefined for a frame that is
 * larger than that, before or after: blocks without content take time, too.
 */
function unpackSmall(frame: Uint8Array, size = MAX_SYNC_BYTES): Buffer | undefined {
  if (Math.max(size, frame.length) > MAX_SYNC_BYTES) return undefined;
  try {
    return node.zstdDecompressSync(frame, {
      chunkSize: Math.max(64, Math.min(size, CHUNK_BYTES)),
      maxOutputLength: size || 1,
    });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ERR_BUFFER_TOO_LARGE") return undefined;
    throw corrupt((error as Error).message);
  }
}

function unpackLarge(frame: Uint8Array, output: BoundedOutput): Promise<void> {
  return new Promise((resolve, reject) => {
    const stream = node.createZstdDecompress();
    const fail = (error: unknown) => {
      stream.destroy();
      reject(error);
    };
    stream.on("data", (chunk: Buffer) => {
      try {
        output.append(chunk, 0, chunk.length);
      } catch (error) {
        fail(error);
      }
    });
    stream.on("error", (error) => fail(corrupt(error.message)));
    stream.on("end", resolve);
    stream.end(frame);
  });
}

const MAX_SYNC_BYTES = 1024 * 1024;
/** Each frame takes Node.js about 20 us, however small it is. */
const FRAMES_PER_TURN = 256;
const MIN_MAX_FRAMES = 1000;
const BYTES_PER_FRAME = 1024;
/** Blocks without content take 3 bytes, and without a limit a request of them would take long to look through. */
const MIN_MAX_BLOCKS = 10_000;
const BYTES_PER_BLOCK = 16;

interface ZstdFrame {
  readonly end: number;
  readonly isSkippable: boolean;
  /** The size of the content, as the header claims it; undefined if it does not say. */
  readonly size: number | undefined;
}

const MAGIC = 0xfd2fb528;
const FIRST_SKIPPABLE = 0x184d2a50;
const CHECKSUM_BYTES = 4;
/** By the two bits in a frame's descriptor. */
const DICTIONARY_BYTES = [0, 1, 2, 4];
const SIZE_BYTES = [0, 2, 4, 8];

/** Finds the end of the frame at `start` from the lengths in its headers. */
function frameAt(bytes: Buffer, start: number): ZstdFrame {
  const magic = numberAt(bytes, start, 4);
  if (magic - (magic % 16) === FIRST_SKIPPABLE) {
    const end = start + 8 + numberAt(bytes, start + 4, 4);
    if (end > bytes.length) throw cutOff();
    return { end, isSkippable: true, size: undefined };
  }
  if (magic !== MAGIC) throw corrupt("no frame");
  const descriptor = numberAt(bytes, start + 4, 1);
  const isSingleSegment = (descriptor & 32) !== 0;
  const sizeAt = start + 5 + (isSingleSegment ? 0 : 1) + DICTIONARY_BYTES[descriptor & 3]!;
  const sizeBytes = descriptor >> 6 === 0 && isSingleSegment ? 1 : SIZE_BYTES[descriptor >> 6]!;
  const claimed = numberAt(bytes, sizeAt, sizeBytes) + (sizeBytes === 2 ? 256 : 0);
  const end = endOfBlocks(bytes, sizeAt + sizeBytes) + ((descriptor & 4) !== 0 ? CHECKSUM_BYTES : 0);
  if (end > bytes.length) throw cutOff();
  return { end, isSkippable: false, size: sizeBytes === 0 ? undefined : claimed };
}

function endOfBlocks(bytes: Buffer, start: number): number {
  const maxBlocks = MIN_MAX_BLOCKS + bytes.length / BYTES_PER_BLOCK;
  let blocks = 0;
  for (let at = start; ; ) {
    if (++blocks > maxBlocks) throw corrupt("it consists of very many small blocks");
    const head = numberAt(bytes, at, 3);
    const isRepeatedByte = (head & 6) === 2;
    at += 3 + (isRepeatedByte ? 1 : head >> 3);
    if ((head & 1) !== 0) return at;
  }
}

function numberAt(bytes: Buffer, at: number, size: number): number {
  if (at + size > bytes.length) throw cutOff();
  let value = 0;
  for (let i = size - 1; i >= 0; i--) value = value * 256 + bytes[at + i]!;
  return value;
}

function cutOff(): DecompressError {
  return corrupt("it is cut off");
}

function corrupt(message: string): DecompressError {
  return new DecompressError("corrupt", `the zstd data is damaged: ${message}`);
}

import type { FileHandle } from "node:fs/promises";
import { Readable } from "node:stream";
import { createGunzip } from "node:zlib";

const PIECE_BYTES = 256 * 1024;

/**
 * Reads up to `length` bytes of the content starting at `position`. Fewer bytes mean that the content ends there for
 * now.
 */
export interface FileContent {
  read(target: Buffer, length: number, position: number): Promise<number>;
  close(): void;
}

export class PlainContent implements FileContent {
  private readonly handle: FileHandle;

  constructor(handle: FileHandle) {
    this.handle = handle;
  }

  async read(target: Buffer, length: number, position: number): Promise<number> {
    let read = 0;
    while (read < length) {
      const { bytesRead } = await this.handle.read(target, read, length - read, position + read);
      if (bytesRead === 0) break;
      read += bytesRead;
    }
    return read;
  }

  close(): void {}
}

/**
 * The decompressed content of a gzip file. Positions count decompressed bytes and may only move forward. A file that is
 * still being written ends early. Content that is not valid gzip ends where the damage begins, and `problem` says why.
 */
export class GzipContent implements FileContent {
  problem: string | undefined;
  private readonly stream: ReturnType<typeof createGunzip>;
  private readonly chunks: AsyncIterator<Buffer>;
  private held: Buffer[] = [];
  /** The position of the first chunk in `held`. */
  private start = 0;
  private heldBytes = 0;
  private hasEnded = false;

  constructor(handle: FileHandle) {
    const source = Readable.from(readPieces(handle), { objectMode: false, highWaterMark: PIECE_BYTES });
    this.stream = createGunzip({ chunkSize: PIECE_BYTES });
    source.on("error", (error) => this.stream.destroy(error));
    this.stream.on("close", () => source.destroy());
    source.pipe(this.stream);
    this.chunks = this.stream[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
  }

  async read(target: Buffer, length: number, position: number): Promise<number> {
    this.dropUpTo(position);
    while (!this.hasEnded && this.start + this.heldBytes < position + length) {
      await this.pull();
      this.dropUpTo(position);
    }
    let copied = 0;
    let skip = position - this.start;
    for (const chunk of this.held) {
      if (skip >= chunk.length) {
        skip -= chunk.length;
        continue;
      }
      copied += chunk.copy(target, copied, skip, Math.min(chunk.length, skip + length - copied));
      skip = 0;
      if (copied === length) break;
    }
    return copied;
  }

  close(): void {
    this.stream.destroy();
  }

  private async pull(): Promise<void> {
    try {
      const { value, done } = await this.chunks.next();
      if (done) this.hasEnded = true;
      else {
        this.held.push(value);
        this.heldBytes += value.length;
      }
    } catch (error) {
      this.hasEnded = true;
      const { code, message } = error as NodeJS.ErrnoException;
      if (code !== "Z_BUF_ERROR") this.problem = message; // otherwise the file is still being written
    }
  }

  private dropUpTo(position: number): void {
    while (this.held.length > 0 && this.start + this.held[0]!.length <= position) {
      const { length } = this.held.shift()!;
      this.start += length;
      this.heldBytes -= length;
    }
  }
}

/**
 * A stream created by the handle would close the handle when it is destroyed, even with `autoClose: false`, and others
 * still read from the handle.
 */
async function* readPieces(handle: FileHandle): AsyncGenerator<Buffer> {
  for (let position = 0; ; ) {
    const piece = Buffer.allocUnsafe(PIECE_BYTES);
    const { bytesRead } = await handle.read(piece, 0, PIECE_BYTES, position);
    if (bytesRead === 0) return;
    position += bytesRead;
    yield piece.subarray(0, bytesRead);
  }
}

const GZIP_MAGIC = [0x1f, 0x8b];

export type FileCompression = "" | "gzip" | "auto";

/** Whether a file is read as gzip. The key `compression` decides whether its name or its first bytes count. */
export async function isGzipFile(handle: FileHandle, path: string, compression: FileCompression): Promise<boolean> {
  if (compression === "gzip") return true;
  if (compression !== "auto") return false;
  const head = Buffer.alloc(2);
  const { bytesRead } = await handle.read(head, 0, 2, 0);
  return bytesRead === 2 ? head[0] === GZIP_MAGIC[0] && head[1] === GZIP_MAGIC[1] : path.endsWith(".gz");
}

/** Reads the first bytes of the content, or fewer if it is shorter. */
export async function readHead(handle: FileHandle, size: number, isGzip: boolean): Promise<Buffer> {
  const target = Buffer.alloc(size);
  if (!isGzip) return target.subarray(0, await new PlainContent(handle).read(target, size, 0));
  const content = new GzipContent(handle);
  try {
    return target.subarray(0, await content.read(target, size, 0));
  } finally {
    content.close();
  }
}

/**
 * The body of a request as it comes in, in few pieces however small those are that the client sends: a byte that came alone
 * would cost a hundred. Large chunks stay as they are, small ones are copied together.
 */
export class BodyChunks {
  /** Bytes that have come. */
  size = 0;
  /** Pieces that they came in. */
  private pieces = 0;
  private readonly chunks: Buffer[] = [];
  /** The last chunk, while there is room behind what was copied into it. */
  private block: Buffer | undefined;
  private used = 0;

  /** Bytes of memory that it takes to add this chunk; 0 when there is room for it. */
  costOf(chunk: Buffer): number {
    if (this.isKept(chunk)) return chunk.length;
    const missing = chunk.length - this.roomInBlock;
    return missing <= 0 ? 0 : Math.max(missing, this.nextBlockSize);
  }

  /**
   * Does it come in pieces so small that reading them costs more than anything done with the body? Each takes about a
   * microsecond, however small it is.
   */
  get isCrumbled(): boolean {
    return this.pieces > MAX_CRUMBS && this.size < this.pieces * MIN_MEAN_PIECE_BYTES;
  }

  add(chunk: Buffer): void {
    this.pieces++;
    if (this.isKept(chunk)) this.push(chunk);
    else this.copy(chunk);
    this.size += chunk.length;
  }

  /** What has come, in order. */
  list(): readonly Buffer[] {
    if (this.block === undefined) return this.chunks;
    return [...this.chunks.slice(0, -1), this.block.subarray(0, this.used)];
  }

  /** Takes everything out, in one piece. */
  take(): Buffer {
    const body = joined(this.list());
    this.clear();
    return body;
  }

  /** Takes everything out, in the pieces that it came in if these are few and keep little more in memory than themselves. */
  takePieces(): readonly Buffer[] {
    const { size } = this;
    const pieces = this.list();
    if (pieces.length > size / MIN_PIECE_BYTES || memoryOf(pieces) > size * MAX_MEMORY) return [this.take()];
    const taken = pieces.slice();
    this.clear();
    return taken;
  }

  clear(): void {
    this.chunks.length = 0;
    this.block = undefined;
    this.used = 0;
    this.size = 0;
    this.pieces = 0;
  }

  /** The usual request comes in one chunk, which is not copied, unless it would keep much more in memory than itself. */
  private isKept(chunk: Buffer): boolean {
    if (chunk.length <= this.roomInBlock) return false;
    const isLarge = chunk.length >= MIN_KEPT_BYTES || this.size === 0;
    return isLarge && chunk.length * 4 >= chunk.buffer.byteLength;
  }

  private push(chunk: Buffer): void {
    if (this.block !== undefined) this.chunks[this.chunks.length - 1] = this.block.subarray(0, this.used);
    this.block = undefined;
    this.chunks.push(chunk);
  }

  private copy(chunk: Buffer): void {
    const inBlock = Math.min(chunk.length, this.roomInBlock);
    if (inBlock > 0) this.used += chunk.copy(this.block!, this.used, 0, inBlock);
    if (inBlock === chunk.length) return;
    const block = Buffer.allocUnsafeSlow(Math.max(chunk.length - inBlock, this.nextBlockSize));
    this.push(block);
    this.block = block;
    this.used = chunk.copy(block, 0, inBlock);
  }

  private get roomInBlock(): number {
    return this.block === undefined ? 0 : this.block.length - this.used;
  }

  /** No more than has come so far, so that little stays unused. */
  private get nextBlockSize(): number {
    return Math.min(MAX_BLOCK_BYTES, Math.max(MIN_BLOCK_BYTES, this.size));
  }
}

/** The pieces as one. */
export function joined(pieces: readonly Buffer[]): Buffer {
  return pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces);
}

function memoryOf(pieces: readonly Buffer[]): number {
  return pieces.reduce((sum, { buffer }) => sum + buffer.byteLength, 0);
}

/** As many pieces of any size as nobody needs to be refused for. */
const MAX_CRUMBS = 16_384;
/** The smallest packets of any network carry many times as much. */
const MIN_MEAN_PIECE_BYTES = 32;
/** Pieces that are smaller than this on the average take longer to send than to put together. */
const MIN_PIECE_BYTES = 16 * 1024;
/** What pieces may keep in memory, in relation to their size. */
const MAX_MEMORY = 1.5;
const MIN_KEPT_BYTES = 4096;
const MIN_BLOCK_BYTES = 256;
const MAX_BLOCK_BYTES = 64 * 1024;

/**
 * A request body as it arrives, kept in few chunks however small the client's pieces are: a byte kept in its own buffer
 * would cost a hundred. Large chunks stay as they are; small ones are copied together.
 */
export class BodyChunks {
  /** Bytes received so far. */
  size = 0;
  /** The number of pieces received. */
  private pieces = 0;
  private readonly chunks: Buffer[] = [];
  /** The last chunk, while there is room after the data copied into it. */
  private block: Buffer | undefined;
  private used = 0;

  /** The bytes of memory needed to add this chunk; 0 if the current block has room for it. */
  costOf(chunk: Buffer): number {
    if (this.isKept(chunk)) return chunk.length;
    const missing = chunk.length - this.roomInBlock;
    return missing <= 0 ? 0 : Math.max(missing, this.nextBlockSize);
  }

  /**
   * Whether the pieces are so small that reading them costs more than processing the body. Each piece takes about a
   * microsecond, however small it is.
   */
  get isFragmented(): boolean {
    return this.pieces > MAX_FRAGMENTS && this.size < this.pieces * MIN_MEAN_PIECE_BYTES;
  }

  add(chunk: Buffer): void {
    this.pieces++;
    if (this.isKept(chunk)) this.push(chunk);
    else this.copy(chunk);
    this.size += chunk.length;
  }

  /** The data so far, in order. */
  list(): readonly Buffer[] {
    if (this.block === undefined) return this.chunks;
    return [...this.chunks.slice(0, -1), this.block.subarray(0, this.used)];
  }

  /** Removes and returns everything as one buffer. */
  take(): Buffer {
    const body = joinPieces(this.list());
    this.clear();
    return body;
  }

  /** Removes and returns everything, as separate pieces if they are few and hold little unused memory. */
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

  /**
   * Whether a chunk is kept without copying, as in the usual request that arrives in one chunk. A chunk that is a small
   * part of its memory block is copied instead.
   */
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

  /** No larger than the data so far, so little memory stays unused. */
  private get nextBlockSize(): number {
    return Math.min(MAX_BLOCK_BYTES, Math.max(MIN_BLOCK_BYTES, this.size));
  }
}

/** The pieces as one buffer. */
export function joinPieces(pieces: readonly Buffer[]): Buffer {
  return pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces);
}

function memoryOf(pieces: readonly Buffer[]): number {
  return pieces.reduce((sum, { buffer }) => sum + buffer.byteLength, 0);
}

/** No request is refused for its small pieces up to this number. */
const MAX_FRAGMENTS = 16_384;
/** The smallest packets of any network carry many times as many bytes. */
const MIN_MEAN_PIECE_BYTES = 32;
/** Pieces smaller than this on average take longer to send one by one than to join. */
const MIN_PIECE_BYTES = 16 * 1024;
/** The memory that pieces may keep alive, relative to their size. */
const MAX_MEMORY = 1.5;
const MIN_KEPT_BYTES = 4096;
const MIN_BLOCK_BYTES = 256;
const MAX_BLOCK_BYTES = 64 * 1024;

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
    const { size } = this;
    const chunks = this.list();
    const body = chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks, size);
    this.clear();
    return body;
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

/** As many pieces of any size as nobody needs to be refused for. */
const MAX_CRUMBS = 16_384;
/** The smallest packets of any network carry many times as much. */
const MIN_MEAN_PIECE_BYTES = 32;
const MIN_KEPT_BYTES = 4096;
const MIN_BLOCK_BYTES = 256;
const MAX_BLOCK_BYTES = 64 * 1024;

import { decompress } from "#codecs/compression";
import type { Clock, Intake } from "#contract";
import type { Batch } from "#otlp";
import { inTurns } from "#work";
import type { BodyEncoding, ReceivedHead } from "./request-format.js";
import type { RequestIntake } from "./request-intake.js";

/** The sender, the start time, and what to do when others need the memory. */
interface UploadSettings extends Pick<UnfinishedUpload, "client" | "startedAt" | "giveWay"> {
  readonly room: UploadRoom;
}

/**
 * The bytes of one request as they arrive. They are reserved at the intake from the first byte until the batch is
 * handed over. `release` returns everything, once; after that the upload is empty and accepts nothing more, which also
 * ends a decompression in progress.
 */
export class Upload implements UnfinishedUpload {
  readonly requestIntake: RequestIntake;
  readonly body = new BodyChunks();
  readonly client: string | undefined;
  readonly startedAt: number;
  readonly giveWay: () => void;
  private readonly room: UploadRoom;
  private reserved = 0;
  private isWhole = false;
  private closed = false;

  constructor(requestIntake: RequestIntake, { room, client, startedAt, giveWay }: UploadSettings) {
    this.requestIntake = requestIntake;
    this.room = room;
    this.client = client;
    this.startedAt = startedAt;
    this.giveWay = giveWay;
  }

  get size(): number {
    return this.body.size;
  }

  get held(): number {
    return this.reserved;
  }

  /** Returns false if there is no room for another upload. */
  begin(): boolean {
    return this.room.begin(this);
  }

  /** Returns false if the intake has no room for this chunk. */
  add(chunk: Buffer): boolean {
    if (this.closed || !this.reserve(this.body.costOf(chunk))) return false;
    this.body.add(chunk);
    return true;
  }

  /** Called when the whole body has arrived: from now on the client no longer decides how long it is held. */
  end(): void {
    this.isWhole = true;
    this.room.end(this);
  }

  reserve(bytes: number): boolean {
    const { intake } = this.requestIntake;
    if (this.closed) return false;
    if (bytes === 0) return true;
    const hasRoom = this.isWhole
      ? this.room.reserveForComplete(this, bytes, intake)
      : this.room.reserve(this, bytes, intake);
    if (hasRoom) this.reserved += bytes;
    return hasRoom;
  }

  release(): void {
    if (this.closed) return;
    this.room.end(this);
    const { reserved } = this;
    this.closed = true;
    this.reserved = 0;
    this.body.clear();
    if (reserved > 0) this.requestIntake.intake.release(reserved);
  }

  /** Decompresses `compressed`, staying within `limit`. Throws or rejects with a `DecompressError`. */
  decompress(encoding: string, compressed: Buffer, limit: number): Buffer | Promise<Buffer> {
    return decompress(encoding, compressed, { limit, reserve: (bytes) => this.reserve(bytes) });
  }

  /**
   * Throws or rejects with a `MalformedError` if the body is not a request of this signal, or has too many elements for a request of
   * `limit` bytes.
   */
  toBatch(encoding: BodyEncoding, body: readonly Buffer[], limit: number): Batch | Promise<Batch> {
    const { signal, format } = this.requestIntake;
    const made = format.toBatch!(signal, encoding, body, maxElementsOf(limit));
    return "next" in made ? inTurns(made) : made;
  }

  /** The same for a request that may hold several signals. */
  toBatches(head: ReceivedHead, encoding: BodyEncoding, body: readonly Buffer[], limit: number) {
    return inTurns(this.requestIntake.format.toBatches!(head, encoding, body, maxElementsOf(limit)));
  }
}

function maxElementsOf(limit: number): number {
  return Math.max(MIN_MAX_ELEMENTS, Math.ceil(limit / BYTES_PER_ELEMENT));
}

/**
 * In requests of the largest size, real records and attributes take more bytes than this each. The smallest possible
 * ones take two bytes, and creating an object for each would need many times the request's size. Up to a million
 * elements are always accepted, however small they are.
 */
const BYTES_PER_ELEMENT = 16;
const MIN_MAX_ELEMENTS = 1_000_000;

/** An unfinished request as seen by `UploadRoom`. */
export interface UnfinishedUpload {
  /** Identifies the sender; undefined if it cannot be told from others. */
  readonly client: string | undefined;
  /** Monotonic time of its first byte or head. */
  readonly startedAt: number;
  /** Bytes received so far. */
  readonly size: number;
  /** Bytes of memory that it holds. */
  readonly held: number;
  /** Ends the upload with a retryable error and releases its memory. */
  giveWay(): void;
}

/**
 * Bounds the memory of requests that their clients are still sending. A complete request proceeds at our pace, an
 * incomplete one at its client's. So each client may hold only a limited number of bytes in incomplete requests. When
 * an upload needs memory and there is none, the slowest uploads give way to it: slow clients pay for their slowness
 * themselves.
 */
export class UploadRoom {
  private readonly maxClientBytes: number;
  private readonly clock: Clock;
  private readonly uploads = new Set<UnfinishedUpload>();
  /** Bytes held by each client's unfinished uploads. */
  private readonly clients = new Map<string, number>();

  constructor(maxClientBytes: number, clock: Clock) {
    this.maxClientBytes = maxClientBytes;
    this.clock = clock;
  }

  /** Returns false if too many uploads are open and none gives way. */
  begin(upload: UnfinishedUpload): boolean {
    if (this.uploads.size >= MAX_UPLOADS && !this.makeRoom(upload)) return false;
    this.uploads.add(upload);
    return true;
  }

  /**
   * Reserves bytes for an unfinished upload. Returns false, with nothing reserved, if there is no room and no upload
   * gives way.
   */
  reserve(upload: UnfinishedUpload, bytes: number, intake: Intake): boolean {
    const { client } = upload;
    while (this.isOverShare(upload, bytes)) if (!this.makeRoom(upload, client)) return false;
    if (!this.reserveForComplete(upload, bytes, intake)) return false;
    if (client !== undefined) this.clients.set(client, (this.clients.get(client) ?? 0) + bytes);
    return true;
  }

  /** The same for a complete upload, which no longer counts towards its client's share. */
  reserveForComplete(upload: UnfinishedUpload, bytes: number, intake: Intake): boolean {
    while (!intake.reserve(bytes)) if (!this.makeRoom(upload)) return false;
    return true;
  }

  /** Called when an upload is complete or ends, before it releases its memory. */
  end(upload: UnfinishedUpload): void {
    if (!this.uploads.delete(upload) || upload.client === undefined) return;
    const left = (this.clients.get(upload.client) ?? 0) - upload.held;
    if (left > 0) this.clients.set(upload.client, left);
    else this.clients.delete(upload.client);
  }

  /** An upload larger than the client's share still fits if the client holds nothing else. */
  private isOverShare({ client, held }: UnfinishedUpload, bytes: number): boolean {
    if (client === undefined) return false;
    const all = this.clients.get(client) ?? 0;
    return all > held && all + bytes > this.maxClientBytes;
  }

  /**
   * Lets the slowest upload give way; with `client`, only that client's uploads count. Returns false if there is none
   * or the slowest is the asking one.
   */
  private makeRoom(asking: UnfinishedUpload, client?: string): boolean {
    const now = this.clock.monotonic();
    let slowest: UnfinishedUpload | undefined;
    let least = Number.POSITIVE_INFINITY;
    for (const upload of this.uploads) {
      const age = now - upload.startedAt;
      if (age < GRACE_MS || (client !== undefined && upload.client !== client)) continue;
      const rate = upload.size / age;
      if (rate >= least) continue;
      least = rate;
      slowest = upload;
    }
    if (slowest === undefined || slowest === asking) return false;
    slowest.giveWay();
    return true;
  }
}

/** No upload counts as slow before this age. */
const GRACE_MS = 1000;
/** Requests whose bodies are still to come take memory too, which no reservation counts. */
const MAX_UPLOADS = 8192;

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

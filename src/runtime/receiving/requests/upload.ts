import { decompress } from "#codecs/compression";
import type { Batch } from "#otlp";
import { BodyChunks } from "./body-chunks.js";
import type { BodyEncoding } from "./request-format.js";
import type { RequestIntake } from "./request-intake.js";
import type { UnfinishedUpload, UploadRoom } from "./upload-room.js";

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
    const maxElements = Math.max(MIN_MAX_ELEMENTS, Math.ceil(limit / BYTES_PER_ELEMENT));
    return format.toBatch(signal, encoding, body, maxElements);
  }
}

/**
 * In requests of the largest size, real records and attributes take more bytes than this each. The smallest possible
 * ones take two bytes, and creating an object for each would need many times the request's size. Up to a million
 * elements are always accepted, however small they are.
 */
const BYTES_PER_ELEMENT = 16;
const MIN_MAX_ELEMENTS = 1_000_000;

import type { Clock, Intake } from "#contract";

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

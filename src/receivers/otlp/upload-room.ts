import type { Clock, Intake } from "../../plugin.js";

/** An unfinished request, as the room sees it. */
export interface UnfinishedUpload {
  /** Who sends it; undefined: nobody that could be told from others. */
  readonly client: string | undefined;
  /** Monotonic time of its first byte or head. */
  readonly startedAt: number;
  /** Bytes that have come. */
  readonly size: number;
  /** Bytes that are held of it. */
  readonly held: number;
  /** Ends it retryably, and gives back what it holds. */
  giveWay(): void;
}

/**
 * The room that requests take while their clients are still sending them. A request that is whole goes at our pace, one that
 * is not at its client's; so of these a client may have only so many bytes, and when one needs room and there is none, the
 * slowest give way to it: whoever takes long pays for that himself.
 */
export class UploadRoom {
  private readonly maxClientBytes: number;
  private readonly clock: Clock;
  private readonly uploads = new Set<UnfinishedUpload>();
  /** Bytes held of each client's unfinished uploads. */
  private readonly clients = new Map<string, number>();

  constructor(maxClientBytes: number, clock: Clock) {
    this.maxClientBytes = maxClientBytes;
    this.clock = clock;
  }

  /** False: too many are open, and none gives way. */
  begin(upload: UnfinishedUpload): boolean {
    if (this.uploads.size >= MAX_UPLOADS && !this.makeRoom(upload)) return false;
    this.uploads.add(upload);
    return true;
  }

  /** Reserves bytes of an unfinished upload. False, with nothing reserved: there is no room, and none gives way. */
  reserve(upload: UnfinishedUpload, bytes: number, intake: Intake): boolean {
    const { client } = upload;
    while (this.isOverShare(upload, bytes)) if (!this.makeRoom(upload, client)) return false;
    if (!this.reserveAnyhow(upload, bytes, intake)) return false;
    if (client !== undefined) this.clients.set(client, (this.clients.get(client) ?? 0) + bytes);
    return true;
  }

  /** The same for one that is whole: it counts for no client any more. */
  reserveAnyhow(upload: UnfinishedUpload, bytes: number, intake: Intake): boolean {
    while (!intake.reserve(bytes)) if (!this.makeRoom(upload)) return false;
    return true;
  }

  /** It is whole, or ends. Must be called before it gives back what it holds. */
  end(upload: UnfinishedUpload): void {
    if (!this.uploads.delete(upload) || upload.client === undefined) return;
    const left = (this.clients.get(upload.client) ?? 0) - upload.held;
    if (left > 0) this.clients.set(upload.client, left);
    else this.clients.delete(upload.client);
  }

  /** What is larger than a client's share fits while nothing else is held of that client. */
  private isOverShare({ client, held }: UnfinishedUpload, bytes: number): boolean {
    if (client === undefined) return false;
    const all = this.clients.get(client) ?? 0;
    return all > held && all + bytes > this.maxClientBytes;
  }

  /** Lets the slowest upload give way, of this client if one is named. False: there is none, or it is the one that asks. */
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

/** No upload is called slow before it has had this long. */
const GRACE_MS = 1000;
/** Requests whose bodies are still to come take memory too, though none of it is theirs. */
const MAX_UPLOADS = 8192;

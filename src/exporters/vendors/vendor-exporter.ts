import { compress } from "#codecs/compression";
import type { Http1Answer } from "#net";
import { type HttpPoster, type RecordRequest, sendEach } from "#net/sending";
import { SliceTimer } from "#work";
import type { Batch, Exporter, Refusal, SendOptions } from "../../plugin.js";

/** Where requests of one kind go. */
export interface Destination {
  readonly poster: HttpPoster;
  readonly compression: "none" | "gzip" | "zstd" | "deflate";
  /** Returns headers for one body, such as a token or a signature. */
  headersOf?(body: Uint8Array): Promise<Readonly<Record<string, string>>> | Readonly<Record<string, string>>;
  /** Throws a `Refusal` if the whole request was refused, and returns those of single items if only some were. */
  read(answer: Http1Answer): readonly RefusedItems[] | undefined;
}

/** Items of a request that were refused, by their places in it. */
export interface RefusedItems {
  readonly items: readonly number[];
  readonly refusal: Refusal;
}

/** A request with some records of a batch. */
export interface VendorRequest {
  readonly records: readonly number[];
  /** The record or records of each item, if they differ from `records`. */
  readonly itemRecords?: readonly (number | readonly number[])[];
  readonly to: Destination;
  /** Makes what the request needs at the vendor, before it is encoded. */
  prepare?(abort: AbortSignal): Promise<void>;
  /** Makes the body. It is called when the request is sent, because bodies are several times as long as the records. */
  encode(): Uint8Array;
}

/** Records that cannot be sent. */
export interface UnsendableRecords {
  readonly records: readonly number[];
  readonly refusal: Refusal;
}

/**
 * The shell of exporters to vendors: makes the requests of a batch, one after the other, and tells the queue which
 * records are left. Requests that succeeded are not repeated when a later one is refused.
 */
export class VendorExporter implements Exporter {
  private readonly destinations: readonly Destination[];
  private readonly requestsOf: (batch: Batch) => readonly (VendorRequest | UnsendableRecords)[];

  constructor(
    destinations: readonly Destination[],
    requestsOf: (batch: Batch) => readonly (VendorRequest | UnsendableRecords)[],
  ) {
    this.destinations = destinations;
    this.requestsOf = requestsOf;
  }

  get metadataKeys(): readonly string[] {
    return this.destinations[0]?.poster.metadataKeys ?? [];
  }

  async start(): Promise<void> {
    for (const { poster } of this.destinations) await poster.start();
  }

  async send(batch: Batch, abort: AbortSignal, options?: SendOptions): Promise<undefined> {
    const timer = new SliceTimer();
    const made = this.requestsOf(batch);
    const unsendable = made.filter((each): each is UnsendableRecords => "refusal" in each);
    const requests: RecordRequest[] = made
      .filter((each): each is VendorRequest => !("refusal" in each))
      .map((request) => ({ records: request.records, send: () => post(request) }));
    for (const { records, refusal } of unsendable) requests.push({ records, send: () => Promise.reject(refusal) });
    const post = async (request: VendorRequest): Promise<void> => {
      if (timer.isOver) await timer.nextSlice();
      const { to } = request;
      await request.prepare?.(abort);
      const plain = request.encode();
      const body = to.compression === "none" ? plain : await compress(to.compression, plain);
      const headers = await to.headersOf?.(body);
      const refused = await to.poster.post([body], abort, options, (answer) => to.read(answer), headers);
      const recordOf = request.itemRecords ?? request.records;
      // Added to the requests under way: `sendEach` settles them after this one.
      for (const { items, refusal } of refused ?? [])
        requests.push({
          records: [...new Set(items.flatMap((item) => recordOf[item] ?? []))],
          send: () => Promise.reject(refusal),
        });
    };
    await sendEach(requests, batch.count);
  }

  async stop(): Promise<void> {
    for (const { poster } of this.destinations) poster.stop();
  }
}

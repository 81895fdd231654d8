import { compress } from "#codecs/compression";
import type { Http1Answer } from "#net";
import { refusalOfUnreadable } from "#net/otlp";
import { type HttpPoster, piecesOf, type RecordRequest, recordsBetween, recordsOfPiece, sendEach } from "#net/sending";
import { SliceTimer } from "#work";
import {
  type Batch,
  type Exporter,
  type ExporterContext,
  isRefusal,
  type Refusal,
  type SendOptions,
} from "../../plugin.js";

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
interface UnsendableRecords {
  readonly records: readonly number[];
  readonly refusal: Refusal;
}

/**
 * Why a data point is not sent: it is the first of a cumulative series (or older than a later one) and so has no
 * increase, its value is NaN or infinite, or it is a histogram without buckets.
 */
export type SkipReason = "no_increase" | "not_finite" | "no_buckets";

/** Data points that the vendor's format cannot express. They are left out, and counted. */
export interface SkippedPoints {
  readonly skipped: number;
  readonly reason: SkipReason;
}

/** Some records of a batch: they are sent, refused or left out. */
export type VendorPart = VendorRequest | UnsendableRecords | SkippedPoints;

/**
 * The shell of exporters to vendors: makes the requests of a batch, one after the other, and tells the queue which
 * records are left. Requests that succeeded are not repeated when a later one is refused.
 */
export class VendorExporter implements Exporter {
  private readonly destinations: readonly Destination[];
  private readonly partsOf: (batch: Batch) => readonly VendorPart[];
  private readonly context: ExporterContext;

  constructor(
    destinations: readonly Destination[],
    partsOf: (batch: Batch) => readonly VendorPart[],
    context: ExporterContext,
  ) {
    this.destinations = destinations;
    this.partsOf = partsOf;
    this.context = context;
  }

  get metadataKeys(): readonly string[] {
    return this.destinations[0]?.poster.metadataKeys ?? [];
  }

  async start(): Promise<void> {
    for (const { poster } of this.destinations) await poster.start();
  }

  async send(batch: Batch, abort: AbortSignal, options?: SendOptions): Promise<undefined> {
    const timer = new SliceTimer();
    const size = recordsOfPiece(batch);
    const pieces = piecesOf(batch, size);
    const parts: VendorPart[] = [];
    const requests: RecordRequest[] = [];
    const post = async (request: VendorRequest): Promise<void> => {
      if (timer.isOver) await timer.nextSlice();
      // Added to the requests under way: `sendEach` settles them after this one.
      requests.push(...(await refusedParts(request, abort, options)));
    };
    const addPiece = (from: number): void => {
      const added = this.partsOf(pieces.next().value).map((part) => placedAt(from, part));
      parts.push(...added);
      for (const part of added) if ("to" in part) requests.push({ records: part.records, send: () => post(part) });
      for (const part of added)
        if ("refusal" in part) requests.push({ records: part.records, send: () => Promise.reject(part.refusal) });
      const next = from + size;
      if (next >= batch.count) return;
      const addNext = async () => {
        await timer.nextSlice();
        addPiece(next);
      };
      requests.push({
        // Asked for only if a request fails: written down for each piece, they would take a multiple of the batch.
        get records() {
          return recordsBetween(next, batch.count);
        },
        send: addNext,
      });
    };
    addPiece(0);
    try {
      await sendEach(requests, batch.count);
    } catch (error) {
      // Without `undelivered` the whole batch is sent again, and its points are skipped and counted then.
      if (isRefusal(error) && error.undelivered !== undefined) this.count(parts);
      throw error;
    }
    this.count(parts);
  }

  private count(parts: readonly VendorPart[]): void {
    const { metrics, id } = this.context;
    for (const part of parts)
      if ("skipped" in part)
        metrics
          .counter(
            "sluice_exporter_skipped_points",
            { description: "Data points that were not sent because the backend's format cannot express them." },
            { exporter: id, reason: part.reason },
          )
          .add(part.skipped);
  }

  async stop(): Promise<void> {
    for (const { poster } of this.destinations) poster.stop();
  }
}

/** A part of a piece that begins with this record of the batch. */
function placedAt(from: number, part: VendorPart): VendorPart {
  if (from === 0 || !("records" in part)) return part;
  const records = part.records.map((record) => from + record);
  if (!("to" in part) || part.itemRecords === undefined) return { ...part, records };
  const itemRecords = part.itemRecords.map((item) =>
    typeof item === "number" ? from + item : item.map((record) => from + record),
  );
  return { ...part, records, itemRecords };
}

/** Makes a request, and returns what of it was refused, by record. */
async function refusedParts(
  request: VendorRequest,
  abort: AbortSignal,
  options: SendOptions | undefined,
): Promise<RecordRequest[]> {
  const { to } = request;
  await request.prepare?.(abort);
  const plain = request.encode();
  const body = to.compression === "none" ? plain : await compress(to.compression, plain);
  const headers = await to.headersOf?.(body);
  const refused = await to.poster.post([body], abort, options, (answer) => to.read(answer), headers);
  const recordOf = request.itemRecords ?? request.records;
  return (refused ?? []).map(({ items, refusal }) => {
    if (items.some((item) => recordOf[item] === undefined))
      throw refusalOfUnreadable("the backend", `it refused items of ${recordOf.length} by numbers that do not exist`);
    const records = [...new Set(items.flatMap((item) => recordOf[item]!))];
    return { records, send: () => Promise.reject(refusal) };
  });
}

import { checkRequest, HAS_DUPLICATE_FIELDS } from "./bytes/check/check-request.js";
import { normalForm } from "./bytes/normal-form.js";
import type { Signal } from "./signals/signal.js";

/**
 * Telemetry in transit: an OTLP request in protobuf wire form, with facts learnt about it.
 *
 * Immutable, and valid by construction: bytes from outside enter through `Batch.admit`, which checks every field and
 * normalises repeated singular fields; everything else makes batches out of batches. Two requests one after the other
 * form one valid request, so a batch may keep its bytes in several chunks; `bytes` joins them the first time they are
 * needed in one piece.
 *
 * @example
 * const joined = (bodies: readonly Uint8Array[]) => Batch.merge(bodies.map((body) => Batch.admit("logs", body)));
 */
export class Batch {
  readonly signal: Signal;
  /** Number of log records, spans or data points. */
  readonly count: number;
  readonly byteLength: number;
  /** @internal An upper bound for the values of one record or owner, if the check has counted them; else Infinity. */
  readonly mostValues: number;
  private chunkList: readonly Uint8Array[];

  private constructor(
    signal: Signal,
    chunks: readonly Uint8Array[],
    count: number,
    byteLength: number,
    mostValues = Number.POSITIVE_INFINITY,
  ) {
    this.signal = signal;
    this.chunkList = chunks;
    this.count = count;
    this.byteLength = byteLength;
    this.mostValues = mostValues;
  }

  /**
   * Makes a batch of bytes from outside. Throws a `MalformedError` if they are not a request of this signal, or contain
   * more than `maxElements` records, attributes and values.
   */
  static admit(signal: Signal, bytes: Uint8Array, maxElements?: number): Batch {
    return Batch.admitPieces(signal, [bytes], maxElements);
  }

  /** @internal The same for bytes in pieces, split anywhere. They are not joined. */
  static admitPieces(signal: Signal, pieces: readonly Uint8Array[], maxElements?: number): Batch {
    const byteLength = pieces.reduce((sum, piece) => sum + piece.length, 0);
    const { records, mostValues } = checkRequest(signal, pieces, byteLength, maxElements);
    const batch = new Batch(signal, pieces, records, byteLength, mostValues);
    return records === HAS_DUPLICATE_FIELDS ? Batch.admit(signal, normalForm(signal, batch.bytes)) : batch;
  }

  /** @internal For bytes made from checked ones; `count` must be correct. */
  static trusted(signal: Signal, bytes: Uint8Array, count: number): Batch {
    return new Batch(signal, [bytes], count, bytes.length);
  }

  static empty(signal: Signal): Batch {
    return new Batch(signal, [], 0, 0);
  }

  /** Returns a batch of all records in order, without copying. */
  static merge(batches: readonly Batch[]): Batch {
    const first = batches[0];
    if (first === undefined) throw new RangeError("cannot merge an empty list of batches");
    if (batches.length === 1) return first;
    let count = 0;
    let byteLength = 0;
    let mostValues = 0;
    const chunks: Uint8Array[] = [];
    for (const batch of batches) {
      if (batch.signal !== first.signal) throw new TypeError(`cannot merge ${batch.signal} into ${first.signal}`);
      count += batch.count;
      byteLength += batch.byteLength;
      mostValues = Math.max(mostValues, batch.mostValues);
      for (const chunk of batch.chunks) chunks.push(chunk);
    }
    return new Batch(first.signal, chunks, count, byteLength, mostValues);
  }

  /** The request in pieces, to be written one after the other. */
  get chunks(): readonly Uint8Array[] {
    return this.chunkList;
  }

  /** The request in one piece. */
  get bytes(): Uint8Array {
    if (this.chunkList.length !== 1) this.chunkList = [Buffer.concat(this.chunkList, this.byteLength)];
    return this.chunkList[0]!;
  }
}

/**
 * Whether the value is a batch, of this signal if one is given. Recognised by its shape, so batches of other copies of
 * the package count too.
 */
export function isBatch(value: unknown, signal?: Signal): value is Batch {
  if (typeof value !== "object" || value === null) return false;
  const { chunks, count, byteLength, signal: batchSignal } = value as Partial<Batch>;
  if (!Array.isArray(chunks) || typeof count !== "number" || typeof byteLength !== "number") return false;
  return signal === undefined ? typeof batchSignal === "string" : batchSignal === signal;
}

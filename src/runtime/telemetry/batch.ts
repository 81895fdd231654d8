import { checkRequest, repeats } from "./check.js";
import { normalForm } from "./normal-form.js";
import type { Signal } from "./signal.js";

/**
 * Telemetry on its way: an OTLP request in protobuf wire form, and what was learnt about it.
 *
 * Immutable, and valid by construction: bytes from outside come in through `Batch.admit`, which checks them to the
 * last field and puts repeated singular fields right; everything else makes batches out of batches. Two requests one behind the other are one valid request,
 * so a batch may keep its bytes in several chunks; `bytes` joins them the first time somebody needs them in one piece.
 */
export class Batch {
  readonly signal: Signal;
  /** Number of log records, spans or data points. */
  readonly count: number;
  readonly byteLength: number;
  private parts: readonly Uint8Array[];

  private constructor(signal: Signal, parts: readonly Uint8Array[], count: number, byteLength: number) {
    this.signal = signal;
    this.parts = parts;
    this.count = count;
    this.byteLength = byteLength;
  }

  /** A batch of bytes from outside. Throws a `MalformedError` if they are not a request of this signal. */
  static admit(signal: Signal, bytes: Uint8Array): Batch {
    const count = checkRequest(signal, bytes);
    return repeats ? Batch.admit(signal, normalForm(signal, bytes)) : new Batch(signal, [bytes], count, bytes.length);
  }

  /** @internal For bytes made from checked ones; `count` must be true. */
  static trusted(signal: Signal, bytes: Uint8Array, count: number): Batch {
    return new Batch(signal, [bytes], count, bytes.length);
  }

  static empty(signal: Signal): Batch {
    return new Batch(signal, [], 0, 0);
  }

  /** All records of all batches, in order. Copies nothing. */
  static merge(batches: readonly Batch[]): Batch {
    const first = batches[0];
    if (first === undefined) throw new RangeError("cannot merge no batches");
    if (batches.length === 1) return first;
    let count = 0;
    let byteLength = 0;
    const parts: Uint8Array[] = [];
    for (const batch of batches) {
      if (batch.signal !== first.signal) throw new TypeError(`cannot merge ${batch.signal} into ${first.signal}`);
      count += batch.count;
      byteLength += batch.byteLength;
      for (const part of batch.chunks) parts.push(part);
    }
    return new Batch(first.signal, parts, count, byteLength);
  }

  /** The request in pieces, to be written one behind the other. */
  get chunks(): readonly Uint8Array[] {
    return this.parts;
  }

  /** The request in one piece. */
  get bytes(): Uint8Array {
    if (this.parts.length !== 1) this.parts = [Buffer.concat(this.parts, this.byteLength)];
    return this.parts[0]!;
  }
}

/** By shape, so that one of another copy of the package counts too; of this signal, if one is given. */
export function isBatch(value: unknown, signal?: Signal): value is Batch {
  if (typeof value !== "object" || value === null) return false;
  const { chunks, count, byteLength, signal: own } = value as Partial<Batch>;
  if (!Array.isArray(chunks) || typeof count !== "number" || typeof byteLength !== "number") return false;
  return signal === undefined ? typeof own === "string" : own === signal;
}

import { type Batch, type LargestParts, largestParts, splitBatch } from "#otlp";
import { type DeadLetter, deadLetter, type Setback } from "../dead-letter.js";
import { ERROR_CODES } from "../errors/error-codes.js";
import { Refusal } from "../errors/refusal.js";

/**
 * Bounds what a component may make of a record, or of what records share, such as their resource. Data that was larger
 * when it came in may stay as large. Only batches above the limit are looked into, so ordinary ones cost a comparison.
 */
export class RecordGrowth {
  private readonly maxSize: number;
  /** The largest part of what has come in, if it was above the limit already. */
  private largestIn = 0;

  constructor(maxSize: number) {
    this.maxSize = maxSize;
  }

  /** To be called with each batch before the component gets it. */
  noteInput(batch: Batch, isEmpty: boolean): void {
    if (isEmpty) this.largestIn = 0;
    if (batch.byteLength <= this.maxSize) return;
    const { record, owner } = partsOf(batch);
    this.largestIn = Math.max(this.largestIn, record, owner);
  }

  /** Returns the refusal for a batch with a part that has grown beyond the limit; `who` made it grow. */
  check(batch: Batch, who = "it"): Refusal | undefined {
    if (batch.byteLength <= this.maxSize) return undefined;
    const { record, owner } = partsOf(batch);
    if (Math.max(record, owner) <= this.limit) return undefined;
    const what = record > this.limit ? "record" : "resource, scope or metric";
    const message = `${who} made a ${what} too large: more than ${this.maxSize} bytes (service.max_record_size)`;
    return new Refusal("permanent", message, { code: ERROR_CODES.SLUICE_RECORD_TOO_LARGE, unexpected: true });
  }

  /** Separates the records that are too large, as dead letters. All are, if what they share is. */
  separate(batch: Batch, setback: Setback): readonly (Batch | DeadLetter)[] {
    const { limit } = this;
    if (partsOf(batch).owner > limit) return [deadLetter(batch, setback)];
    const isTooLarge = (piece: Batch) => piece.byteLength > limit && partsOf(piece).record > limit;
    return splitBatch(batch, { bytes: limit }).map((piece) => (isTooLarge(piece) ? deadLetter(piece, setback) : piece));
  }

  private get limit(): number {
    return Math.max(this.maxSize, this.largestIn);
  }
}

function partsOf({ signal, bytes }: Batch): LargestParts {
  return largestParts(signal, bytes);
}

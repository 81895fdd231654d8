import { type Batch, cutBatch, largestParts } from "#otlp";

/**
 * Formats of other systems repeat the resource in each record, so a short batch may become very long. A piece repeats about
 * this many bytes.
 */
const REPEATED_BYTES = 1024 * 1024;

/** How many records of a batch can be written in one go, in a format that repeats their resource. */
export function recordsOfPiece({ signal, bytes, count }: Batch): number {
  const { owner } = largestParts(signal, bytes);
  return Math.max(1, Math.min(count, Math.floor(REPEATED_BYTES / Math.max(1, owner))));
}

/** The batch in pieces of this many records, each of which is cut off when it is asked for. */
export function piecesOf(batch: Batch, records: number): Iterator<Batch> {
  return records < batch.count ? cutBatch(batch, () => ({ records })) : [batch].values();
}

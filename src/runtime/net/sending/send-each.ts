import { chooseRefusal, copyRefusal, type Refusal, toRefusal } from "#contract/errors";
import { type Batch, cutBatch, largestParts } from "#otlp";

/** A request for some records of a batch, given by their indexes. */
export interface RecordRequest {
  readonly records: Iterable<number>;
  send(): Promise<void>;
}

/**
 * Makes the requests of a batch one after the other. If one is refused, tells the queue which records are left (see
 * `Undelivered`), so that no record is sent twice. Stops after a refusal that would also affect the next requests, such
 * as an unreachable server or wrong credentials. Rejects with the refusal itself when nothing was accepted before it.
 */
export async function sendEach(requests: readonly RecordRequest[], recordCount: number): Promise<void> {
  const marks = new Uint16Array(recordCount);
  let refusal: Refusal | undefined;
  let share = 0;
  for (const [i, { records, send }] of requests.entries()) {
    const error = await send().then(
      () => undefined,
      (reason: unknown) => toRefusal(reason),
    );
    if (error === undefined) continue;
    if (i === 0) throw error;
    refusal = refusal === undefined ? error : chooseRefusal(refusal, error);
    share = Math.min(share + 1, MAX_SHARES);
    const concernsThisRequest = error.kind === "permanent" && error.category !== "integration";
    const left = concernsThisRequest ? [records] : requests.slice(i).map((request) => request.records);
    for (const each of left) for (const record of each) marks[record] = share;
    if (!concernsThisRequest) break;
  }
  if (refusal === undefined) return;
  const kind = refusal.kind === "permanent" ? "transient" : refusal.kind;
  throw copyRefusal(refusal, { kind, undelivered: { marks, isOutage: false } });
}

const MAX_SHARES = 65_535;

/**
 * Formats of other systems repeat the resource in each record, so a short batch may become very long. A piece repeats about
 * this many bytes.
 */
const REPEATED_BYTES = 1024 * 1024;

/** The records from one to before another, none of which is kept in memory. */
export function* recordsBetween(from: number, end: number): Generator<number> {
  for (let record = from; record < end; record++) yield record;
}

/** How many records of a batch can be written in one go, in a format that repeats their resource. */
export function recordsOfPiece({ signal, bytes, count }: Batch): number {
  const { owner } = largestParts(signal, bytes);
  return Math.max(1, Math.min(count, Math.floor(REPEATED_BYTES / Math.max(1, owner))));
}

/** The batch in pieces of this many records, each of which is cut off when it is asked for. */
export function piecesOf(batch: Batch, records: number): Iterator<Batch> {
  return records < batch.count ? cutBatch(batch, () => ({ records })) : [batch].values();
}

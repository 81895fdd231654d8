import { chooseRefusal, copyRefusal, type Refusal, toRefusal } from "#contract/errors";

/** A request that is made for some records of a batch, which are given by their places in it. */
export interface RecordRequest {
  readonly records: readonly number[];
  send(): Promise<void>;
}

/**
 * Makes the requests of a batch one after the other. When one is refused, the queue is told which records are left (see
 * `Undelivered`), so that nobody is told of the others twice. After a refusal that would meet the next ones too, those are
 * not tried: nobody is there, or credentials are wrong. Rejects with the refusal itself when nothing was taken before it.
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
    const isOfThisOne = error.kind === "permanent" && error.category !== "integration";
    const left = isOfThisOne ? records : requests.slice(i).flatMap((request) => request.records);
    for (const record of left) marks[record] = share;
    if (!isOfThisOne) break;
  }
  if (refusal === undefined) return;
  const kind = refusal.kind === "permanent" ? "transient" : refusal.kind;
  throw copyRefusal(refusal, { kind, undelivered: { marks, isOutage: false } });
}

const MAX_SHARES = 65_535;

import { Debt, Delivery, type Outcome } from "#contract";
import { chooseRefusal, ERROR_CODES, type Refusal } from "#contract/errors";
import type { Batch } from "#otlp";

/** One slice of a batch, by its place and its number of records. */
export interface Slice {
  readonly index: number;
  readonly records: number;
}

/** All slices of a batch with their outcomes. */
type SettledSlices = ReadonlyMap<Slice, Outcome>;

/**
 * The outcomes of a batch's slices, together with those from the last time that the batch was sent.
 *
 * - All are taken: the batch is accepted.
 * - A retryable refusal ends the work: nothing more is handed in, and the sender must send the batch again.
 * - A permanent refusal is about the records of its slice, so the other slices are still handed in. A client that waits
 *   for an answer gets the number of rejected records (`tellsRejected`). Any other sender gets the refusal, and hands
 *   the batch in again as a dead letter; then only the refused slices are handed in.
 */
export class SliceOutcomes {
  private readonly delivery: Delivery;
  private readonly tellsRejected: boolean;
  private readonly earlier = new Map<number, { readonly slice: Slice; readonly outcome: Outcome | undefined }>();
  private readonly slices: Slice[] = [];
  private readonly outcomes = new Map<Slice, Outcome>();
  private recordsBefore = 0;
  private unsettledCount = 0;
  private refusal: Refusal | undefined;
  private onEnd: ((taken: SettledSlices) => void) | undefined;
  private onSettled: (() => void) | undefined;

  constructor(delivery: Delivery, earlier: SettledSlices | undefined, tellsRejected: boolean) {
    this.delivery = delivery;
    this.tellsRejected = tellsRejected;
    for (const [slice, outcome] of earlier ?? [])
      this.earlier.set(slice.index, { slice, outcome: isTaken(outcome) ? outcome : undefined });
  }

  /** Whether the sender will send the batch again, so that the rest can wait. */
  get willRepeat(): boolean {
    return this.refusal !== undefined && this.refusal.kind !== "permanent";
  }

  /** The number of records in this slice the last time. */
  earlierSize(index: number): number | undefined {
    return this.earlier.get(index)?.slice.records;
  }

  /** Returns the slice as a delivery of its own; undefined if it was taken the last time. */
  add(batch: Batch): Delivery | undefined {
    const slice = { index: this.slices.length, records: batch.count };
    this.slices.push(slice);
    const first = this.recordsBefore;
    this.recordsBefore += slice.records;
    const before = this.earlier.get(slice.index)?.outcome;
    if (before !== undefined) {
      this.outcomes.set(slice, before);
      return undefined;
    }
    this.unsettledCount++;
    const { route, setback } = this.delivery;
    const debt = new Debt((outcome) => this.settled(slice, outcome));
    return new Delivery(batch, this.originOf(first), debt, route, setback);
  }

  /** Resolves when all slices so far are settled. */
  allSettled(): Promise<void> {
    if (this.unsettledCount === 0) return Promise.resolve();
    return new Promise((resolve) => {
      this.onSettled = resolve;
    });
  }

  /**
   * Called after the last slice. When all are settled, the sender gets the outcome. If it is a refusal, `onRefused`
   * gets the slices with their outcomes first.
   */
  end(onRefused: (slices: SettledSlices) => void): void {
    this.onEnd = onRefused;
    this.tellIfSettled();
  }

  /** The key of a slice contains the numbers of its records, so that it never stands for other records. */
  private originOf(first: number): Delivery["origin"] {
    const { origin } = this.delivery;
    if (origin.key === undefined) return origin;
    return { ...origin, key: `${origin.key}/${first}-${this.recordsBefore}` };
  }

  private settled(slice: Slice, outcome: Outcome): void {
    this.outcomes.set(slice, outcome);
    if (!outcome.ok)
      this.refusal = this.refusal === undefined ? outcome.refusal : chooseRefusal(this.refusal, outcome.refusal);
    this.unsettledCount--;
    if (this.unsettledCount === 0) this.onSettled?.();
    this.tellIfSettled();
  }

  private tellIfSettled(): void {
    if (this.onEnd === undefined || this.unsettledCount > 0) return;
    const { refusal, delivery, outcomes } = this;
    const isAllRefused = [...outcomes.values()].every(({ ok }) => !ok);
    if (refusal === undefined || (!this.willRepeat && this.tellsRejected && !isAllRefused))
      return delivery.debt.settle(combine(outcomes));
    const refused: Outcome = { ok: false, refusal };
    this.onEnd(this.settledSlices(refused));
    delivery.debt.settle(refused);
  }

  /** Includes slices that were not reached this time, because an earlier one was refused. */
  private settledSlices(refused: Outcome): SettledSlices {
    const now = this.slices.map((slice) => [slice, this.outcomes.get(slice) ?? refused] as const);
    const notReached = [...this.earlier.values()].filter(({ slice }) => slice.index >= this.slices.length);
    return new Map([...now, ...notReached.map(({ slice, outcome }) => [slice, outcome ?? refused] as const)]);
  }
}

/** A dead letter counts as taken, because a queue has it. */
function isTaken(outcome: Outcome): boolean {
  return outcome.ok || outcome.refusal.code === ERROR_CODES.SLUICE_DEAD_LETTERED;
}

/** Adds up the numbers of rejected records. All records of a refused slice are rejected. */
function combine(outcomes: SettledSlices): Outcome {
  let rejected = 0;
  let message = "";
  for (const [{ records }, outcome] of outcomes) {
    rejected += outcome.ok ? outcome.rejected : records;
    if (message === "") message = outcome.ok ? outcome.message : outcome.refusal.message;
  }
  return { ok: true, rejected, message };
}

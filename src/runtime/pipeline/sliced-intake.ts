import { type Clock, Debt, Delivery, type Outcome } from "#contract";
import type { Refusal } from "#contract/errors";
import { type Batch, cutBatch, type PieceLimits } from "#otlp";
import { SLICE_MS, turns } from "#work";
import { PartialAcceptance } from "./partial-acceptance.js";
import type { DeliverySource } from "./stream-ends.js";

/** Batches above these sizes are always sliced. A batch of the Collector usually has at most 8192 records. */
const MAX_RECORDS = 10_000;
const MAX_BYTES = 4 * 1024 * 1024;
/** Up to this many records a batch stays whole if a component needs that. */
const MAX_WHOLE_RECORDS = 25_000;
/** The duration of smaller batches says little about the cost of a record or byte. */
const MIN_MEASURED_RECORDS = 256;
/** No slice is larger, because what comes behind a queue or journal is not measured. */
const MAX_SLICE_RECORDS = 2500;
/** No slice is smaller, however long its records took. */
const MIN_SLICE_RECORDS = 64;
const MIN_SLICE_BYTES = 32 * 1024;
/** The first slice, before anything was measured. */
const FIRST_SLICE_RECORDS = 1000;
/** A batch that should take longer is sliced. */
const LONG_MS = 2 * SLICE_MS;
/**
 * The points of a metric stay together up to this many, because conditions on metrics and sums over points are about all
 * of them.
 */
const MAX_METRIC_POINTS = 10_000;
/**
 * Each slice repeats the resource and scope of its records. When that has added this many times the batch's own size, the
 * rest is not cut any more.
 */
const MAX_GROWTH = 4;

/** Clients wait for the answer to a request before they send what must come after it. */
const UNORDERED_TRANSPORTS: ReadonlySet<string> = new Set(["http", "grpc"]);

/**
 * Hands batches to the pipelines. A batch that would hold the event loop too long is cut into slices of records, and
 * other work gets its turn between two slices. The sender's debt is settled when all slices are, and refused if one is.
 *
 * How large a slice is follows from the time that the pipelines took for earlier batches and slices. Once a slice is
 * refused, nothing more of its batch is handed in. If the sender repeats the batch, it is cut in the same places, and
 * slices that were accepted are not handed in a second time.
 */
export class SlicedIntake {
  private readonly source: DeliverySource;
  private readonly remembered: PartialAcceptance<Slice>;
  private readonly cost = new MeasuredCost();
  /** Resolves when the batches before have been handed in. Undefined while none is being sliced. */
  private previous: Promise<void> | undefined;

  private readonly needsWhole: boolean;

  /** `needsWhole`: a component computes over whole batches, so only those with very many records are sliced. */
  constructor(source: DeliverySource, clock: Clock, needsWhole = false) {
    this.source = source;
    this.needsWhole = needsWhole;
    this.remembered = new PartialAcceptance(clock, { add() {} });
  }

  handIn(delivery: Delivery): void {
    const isOrdered = !UNORDERED_TRANSPORTS.has(delivery.origin.transport);
    const before = isOrdered ? this.previous : undefined;
    if (before === undefined && !this.takesLong(delivery)) return this.pass(delivery);
    const all = this.handInLater(delivery, before);
    if (!isOrdered) return;
    this.previous = all;
    void all.then(() => {
      if (this.previous === all) this.previous = undefined;
    });
  }

  /** A delivery with a key must stay whole, because its key stands for all of it. */
  private takesLong({ batch, origin }: Delivery): boolean {
    if (batch.count <= MIN_SLICE_RECORDS || origin.key !== undefined) return false;
    if (this.needsWhole && batch.count <= MAX_WHOLE_RECORDS) return false;
    return batch.count > MAX_RECORDS || batch.byteLength > MAX_BYTES || this.cost.expectedMs(batch) > LONG_MS;
  }

  private async handInLater(delivery: Delivery, before: Promise<void> | undefined): Promise<void> {
    await before;
    if (this.takesLong(delivery)) await this.handInSlices(delivery);
    else this.pass(delivery);
  }

  private async handInSlices(delivery: Delivery): Promise<void> {
    const slices = new SliceOutcomes(delivery, this.remembered.take(delivery));
    const limits = new SliceLimits(delivery.batch, this.cost, slices);
    const cut = cutBatch(delivery.batch, () => limits.next());
    for (;;) {
      await turns.next();
      let slice: Batch | undefined;
      turns.run(
        () => {
          slice = cut.next().value as Batch | undefined;
          if (slice !== undefined) this.handInSlice(slices.add(slice), limits);
        },
        (ms) => slice !== undefined && this.cost.measured(slice, ms),
      );
      if (slice === undefined || slices.refusal !== undefined) break;
    }
    slices.end((sizes) => this.remembered.remember(delivery, sizes));
  }

  private handInSlice(slice: Delivery | undefined, limits: SliceLimits): void {
    if (slice === undefined) return;
    limits.emitted += slice.batch.byteLength;
    this.source.next(slice);
  }

  /** Hands a delivery in as a whole, and measures it. */
  private pass(delivery: Delivery): void {
    if (delivery.batch.count < MIN_MEASURED_RECORDS) return this.source.next(delivery);
    const start = performance.now();
    this.source.next(delivery);
    this.cost.measured(delivery.batch, performance.now() - start);
  }
}

/** The time that the pipelines took for a record and for a byte lately, in milliseconds. */
class MeasuredCost {
  private recordMs = 0;
  private byteMs = 0;

  get isKnown(): boolean {
    return this.recordMs > 0;
  }

  expectedMs({ count, byteLength }: Batch): number {
    return Math.max(count * this.recordMs, byteLength * this.byteMs);
  }

  measured({ count, byteLength }: Batch, ms: number): void {
    if (count < MIN_SLICE_RECORDS) return;
    const weight = this.isKnown ? 0.5 : 1;
    this.recordMs += (ms / count - this.recordMs) * weight;
    this.byteMs += (ms / byteLength - this.byteMs) * weight;
  }

  get sliceRecords(): number {
    if (!this.isKnown) return FIRST_SLICE_RECORDS;
    return Math.min(MAX_SLICE_RECORDS, Math.max(MIN_SLICE_RECORDS, SLICE_MS / this.recordMs));
  }

  get sliceBytes(): number {
    return this.isKnown ? Math.min(MAX_BYTES, Math.max(MIN_SLICE_BYTES, SLICE_MS / this.byteMs)) : MAX_BYTES;
  }
}

/** The limits for one slice after the other. */
class SliceLimits {
  /** Bytes of all slices so far. */
  emitted = 0;
  private readonly batch: Batch;
  private readonly cost: MeasuredCost;
  private readonly slices: SliceOutcomes;
  private index = 0;

  constructor(batch: Batch, cost: MeasuredCost, slices: SliceOutcomes) {
    this.batch = batch;
    this.cost = cost;
    this.slices = slices;
  }

  next(): PieceLimits {
    const records = this.slices.earlierSize(this.index++);
    if (records !== undefined) return { records };
    const hasGrown = this.emitted > (MAX_GROWTH + 1) * this.batch.byteLength + MAX_BYTES;
    if (hasGrown) return {};
    const { sliceRecords, sliceBytes } = this.cost;
    return { records: sliceRecords, bytes: sliceBytes, metricPoints: MAX_METRIC_POINTS };
  }
}

/** One slice of a batch, by its place and its number of records. */
interface Slice {
  readonly index: number;
  readonly records: number;
}

/** The outcomes of a batch's slices, together with those from the last time that the batch was sent. */
class SliceOutcomes {
  /** Why the first slice was refused. */
  refusal: Refusal | undefined;
  private readonly delivery: Delivery;
  private readonly earlier = new Map<number, { readonly slice: Slice; readonly outcome: Outcome | undefined }>();
  private readonly slices: Slice[] = [];
  private readonly accepted = new Map<Slice, Outcome>();
  private unsettledCount = 0;
  private onEnd: ((taken: ReadonlyMap<Slice, Outcome>) => void) | undefined;

  constructor(delivery: Delivery, earlier: ReadonlyMap<Slice, Outcome> | undefined) {
    this.delivery = delivery;
    for (const [slice, outcome] of earlier ?? [])
      this.earlier.set(slice.index, { slice, outcome: outcome.ok ? outcome : undefined });
  }

  /** The number of records in this slice the last time. */
  earlierSize(index: number): number | undefined {
    return this.earlier.get(index)?.slice.records;
  }

  /** Returns the slice as a delivery of its own; undefined if it was accepted the last time. */
  add(batch: Batch): Delivery | undefined {
    const slice = { index: this.slices.length, records: batch.count };
    this.slices.push(slice);
    const before = this.earlier.get(slice.index)?.outcome;
    if (before !== undefined) {
      this.accepted.set(slice, before);
      return undefined;
    }
    this.unsettledCount++;
    const { origin, route, setback } = this.delivery;
    return new Delivery(batch, origin, new Debt((outcome) => this.settled(slice, outcome)), route, setback);
  }

  /**
   * Called after the last slice. When all are settled, the sender is told. If one was refused, `onRefused` gets the
   * slices with their outcomes before.
   */
  end(onRefused: (slices: ReadonlyMap<Slice, Outcome>) => void): void {
    this.onEnd = onRefused;
    this.tellIfSettled();
  }

  private settled(slice: Slice, outcome: Outcome): void {
    if (outcome.ok) this.accepted.set(slice, outcome);
    else this.refusal ??= outcome.refusal;
    this.unsettledCount--;
    this.tellIfSettled();
  }

  private tellIfSettled(): void {
    if (this.onEnd === undefined || this.unsettledCount > 0) return;
    const { refusal } = this;
    if (refusal === undefined) return this.delivery.debt.settle(combine([...this.accepted.values()]));
    const refused: Outcome = { ok: false, refusal };
    this.onEnd(new Map(this.slices.map((slice) => [slice, this.accepted.get(slice) ?? refused])));
    this.delivery.debt.settle(refused);
  }
}

/** Everything was accepted; the numbers of rejected records are added up. */
function combine(outcomes: readonly Outcome[]): Outcome {
  const taken = outcomes.filter((outcome) => outcome.ok);
  const rejected = taken.reduce((sum, outcome) => sum + outcome.rejected, 0);
  return { ok: true, rejected, message: taken.find(({ message }) => message !== "")?.message ?? "" };
}

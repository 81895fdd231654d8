import type { Clock, Delivery, GraphPlan } from "#contract";
import { ERROR_CODES, Refusal } from "#contract/errors";
import { type Batch, cutBatch, type PieceLimits } from "#otlp";
import type { Signal } from "#otlp/signals";
import { SLICE_MS, Stopwatch, turns } from "#work";
import { PartialAcceptance } from "../partial-acceptance.js";
import { type Wholeness, wholenessBehind } from "../plan-paths.js";
import type { DeliverySource } from "../streams.js";
import { type Slice, SliceOutcomes } from "./slice-outcomes.js";

/** Batches above these sizes are always sliced. A batch of the Collector usually has at most 8192 records. */
const MAX_RECORDS = 10_000;
const MAX_BYTES = 1024 * 1024;
/** Up to this many records a batch stays whole if a component needs that. */
const MAX_WHOLE_RECORDS = 25_000;
/** A record of usual size is one unit. */
const UNIT_BYTES = 256;
/** The duration of smaller batches says little about the cost of a unit. */
const MIN_MEASURED_UNITS = 256;
/** No slice is larger, because what comes behind a queue or journal is not measured. */
const MAX_SLICE_UNITS = 2500;
/** No slice is smaller, however long its records took, unless it is a single record. */
const MIN_SLICE_UNITS = 64;
/** The first slice, before anything was measured. */
const FIRST_SLICE_UNITS = 1000;
/** A batch that should take longer is sliced. */
const LONG_MS = 2 * SLICE_MS;
/**
 * The points of a metric stay together up to this many in front of components that look at more than one point, because
 * conditions on metrics and sums over points are about all of them.
 */
const MAX_METRIC_POINTS = 10_000;
/**
 * Each slice repeats the resource and scope of its records. All slices together may have this many bytes, or twice as many
 * as their batch. From half of that on, slices are as large as they may be. What is left beyond it is refused, because
 * uncut it would take too long.
 */
const MAX_SLICED_BYTES = 32 * 1024 * 1024;

/** Clients wait for the answer to a request before they send what must come after it. */
const REQUEST_TRANSPORTS: ReadonlySet<string> = new Set(["http", "grpc"]);

/**
 * A delivery with a key is cut in places that depend on nothing but its bytes, because the keys of its slices must be the
 * same when it is sent again after a crash. It is sliced above this many records or `MAX_BYTES`.
 */
const MAX_KEYED_RECORDS = 2500;
const KEYED_LIMITS: PieceLimits = { records: 500, bytes: 256 * 1024 };

/** Few requests are refused in the middle, and each may have thousands of slices. */
const MAX_REMEMBERED = 1000;
/** How long a slice waits for the one before it, if their order matters. A processor may hold records for long. */
const ORDERED_WAIT_MS = 1000;

/**
 * Hands batches to the pipelines. A batch that would hold the event loop too long is cut into slices of records, and
 * other work gets its turn between two slices. The sender's debt is settled when all slices are; see `SliceOutcomes`.
 *
 * How large a slice is follows from the time that the pipelines took for earlier batches and slices. If the sender
 * repeats the batch, it is cut in the same places, and slices that were accepted are not handed in a second time.
 */
export class SlicedIntake {
  private readonly source: Pick<DeliverySource, "next">;
  private readonly clock: Clock;
  private readonly remembered: PartialAcceptance<Slice>;
  private readonly cost = new MeasuredCost();
  /** Batches that are being handed in, slice by slice. */
  private readonly inProgress = new Set<Promise<void>>();
  /** Resolves when the batches before have been handed in. Undefined while none is being sliced. */
  private previous: Promise<void> | undefined;

  private readonly signal: Signal;
  private whole: Wholeness = { batches: false, metrics: true };

  constructor(source: Pick<DeliverySource, "next">, clock: Clock, signal: Signal) {
    this.source = source;
    this.clock = clock;
    this.signal = signal;
    this.remembered = new PartialAcceptance(clock, { add() {} }, MAX_REMEMBERED);
  }

  /** To be called with each plan that has the receiver. */
  follow(plan: GraphPlan, receiver: string): void {
    this.whole = wholenessBehind(plan, receiver, this.signal);
  }

  handIn(delivery: Delivery): void {
    const isOrdered = !isRequest(delivery);
    const before = isOrdered ? this.previous : undefined;
    if (before === undefined && !this.takesLong(delivery)) return this.pass(delivery);
    const all = this.handInLater(delivery, before);
    if (isOrdered) this.previous = all;
    this.inProgress.add(all);
    void all.then(() => {
      this.inProgress.delete(all);
      if (this.previous === all) this.previous = undefined;
    });
  }

  /** Resolves when every slice of the batches so far has been handed in. */
  async drain(): Promise<void> {
    while (this.inProgress.size > 0) await Promise.all(this.inProgress);
  }

  /** A watcher of a delivery wants one outcome for all of it. */
  private takesLong({ batch, origin }: Delivery): boolean {
    const { count, byteLength } = batch;
    if (count === 1 || origin.watch !== undefined) return false;
    if (this.whole.batches && count <= MAX_WHOLE_RECORDS) return false;
    if (origin.key !== undefined) return count > MAX_KEYED_RECORDS || byteLength > MAX_BYTES;
    return count > MAX_RECORDS || byteLength > MAX_BYTES || this.cost.expectedMs(batch) > LONG_MS;
  }

  private async handInLater(delivery: Delivery, before: Promise<void> | undefined): Promise<void> {
    try {
      await before;
      if (this.takesLong(delivery)) await this.handInSlices(delivery);
      else this.pass(delivery);
    } catch (error) {
      delivery.refuse(error);
    }
  }

  private async handInSlices(delivery: Delivery): Promise<void> {
    // The sender may repeat the batch with a setback, which is no part of what was taken.
    const { batch, origin } = delivery;
    const slices = new SliceOutcomes(delivery, this.remembered.take({ batch, origin }), isRequest(delivery));
    const limits = new SliceLimits(delivery, this.cost, slices);
    const metricPoints = this.whole.metrics ? MAX_METRIC_POINTS : 0;
    const cut = cutBatch(batch, () => ({ metricPoints, ...limits.next() }));
    for (;;) {
      if (!isRequest(delivery)) await this.settledOrLate(slices);
      await turns.next();
      if (slices.willRepeat || !this.handInNext(cut, slices, limits)) break;
    }
    slices.end((settled) => this.remembered.remember({ batch, origin }, settled));
  }

  /** Returns false if there was no slice left. */
  private handInNext(cut: Iterator<Batch, unknown>, slices: SliceOutcomes, limits: SliceLimits): boolean {
    let slice: Batch | undefined;
    turns.run(
      () => {
        // Pieces without records only have messages around them.
        do slice = cut.next().value as Batch | undefined;
        while (slice?.count === 0);
        if (slice === undefined) return;
        limits.emitted += slice.byteLength;
        const { isExhausted } = limits; // the next limits are asked for with the next slice
        const delivery = slices.add(slice);
        if (delivery === undefined) return;
        // A dead letter passes no processor, so it may be large.
        if (isExhausted && delivery.setback === undefined) delivery.refuse(overflowRefusal());
        else this.source.next(delivery);
      },
      (ms) => slice !== undefined && this.cost.measured(slice, ms),
    );
    return slice !== undefined;
  }

  private settledOrLate(slices: SliceOutcomes): Promise<void> {
    return new Promise((resolve) => {
      const cancel = this.clock.after(ORDERED_WAIT_MS, resolve);
      void slices.allSettled().then(() => {
        cancel();
        resolve();
      });
    });
  }

  /** Hands a delivery in as a whole, and measures it. */
  private pass(delivery: Delivery): void {
    if (unitsOf(delivery.batch) < MIN_MEASURED_UNITS) return this.source.next(delivery);
    this.cost.measure(delivery.batch, () => this.source.next(delivery));
  }
}

function overflowRefusal(): Refusal {
  const message = "the request cannot be divided, because its records share too much data";
  return new Refusal("permanent", message, { code: ERROR_CODES.SLUICE_SPLIT_OVERFLOW, category: "schema" });
}

function isRequest({ origin }: Delivery): boolean {
  return REQUEST_TRANSPORTS.has(origin.transport);
}

/** The size of a batch in units: a large record costs as much as several small ones. */
function unitsOf({ count, byteLength }: Batch): number {
  return Math.max(count, byteLength / UNIT_BYTES);
}

/** The time that the pipelines took for a unit lately. */
class MeasuredCost {
  /** In milliseconds; 0 before anything was measured. */
  private unitMs = 0;
  private wasLong = true;

  expectedMs(batch: Batch): number {
    return unitsOf(batch) * this.unitMs;
  }

  /**
   * Runs the work of a batch, and measures it. CPU time takes longer to ask for than most batches take, so it is only
   * asked for in the beginning, and after work that seemed to be long.
   */
  measure(batch: Batch, work: () => void): void {
    const stopwatch = this.wasLong ? new Stopwatch() : undefined;
    const start = performance.now();
    work();
    const elapsed = performance.now() - start;
    this.wasLong = elapsed > SLICE_MS / 4;
    this.measured(batch, stopwatch !== undefined && this.wasLong ? stopwatch.ms : elapsed);
  }

  measured(batch: Batch, ms: number): void {
    const units = unitsOf(batch);
    if (units < MIN_SLICE_UNITS) return;
    this.unitMs += (ms / units - this.unitMs) * (this.unitMs === 0 ? 1 : 0.5);
  }

  /** The limits of a slice that takes about `SLICE_MS`. */
  get limits(): PieceLimits {
    const units = this.unitMs === 0 ? FIRST_SLICE_UNITS : Math.max(MIN_SLICE_UNITS, SLICE_MS / this.unitMs);
    const records = Math.min(MAX_SLICE_UNITS, units);
    return { records, bytes: records * UNIT_BYTES };
  }
}

/** The limits for one slice after the other. */
class SliceLimits {
  /** Bytes of all slices so far. */
  emitted = 0;
  /** Whether the current slice is all that is left, uncut. */
  isExhausted = false;
  private readonly delivery: Delivery;
  private readonly cost: MeasuredCost;
  private readonly slices: SliceOutcomes;
  private index = 0;

  constructor(delivery: Delivery, cost: MeasuredCost, slices: SliceOutcomes) {
    this.delivery = delivery;
    this.cost = cost;
    this.slices = slices;
  }

  next(): PieceLimits {
    const { batch, origin } = this.delivery;
    const records = this.slices.earlierSize(this.index++);
    if (records !== undefined) return { records, metricPoints: 0 };
    const room = Math.max(MAX_SLICED_BYTES, 2 * batch.byteLength);
    this.isExhausted = this.emitted > room;
    if (this.isExhausted) return {};
    if (this.emitted > room / 2) return { records: MAX_SLICE_UNITS };
    return origin.key === undefined ? this.cost.limits : KEYED_LIMITS;
  }
}

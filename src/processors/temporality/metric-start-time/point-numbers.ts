import { type BucketCounts, type PointReader, writeExponentialCounts } from "#metrics";
import { fieldTag, stepOver, valueAt, type WireWriter } from "#otlp/bytes";
import {
  DISTRIBUTION_COUNT_TAG,
  DISTRIBUTION_SUM_TAG,
  EXPONENTIAL_HISTOGRAM_TAG,
  HISTOGRAM_BUCKET_COUNTS_TAG,
  HISTOGRAM_TAG,
  NUMBER_DOUBLE_TAG,
  NUMBER_INT_TAG,
  SUM_TAG,
  SUMMARY_TAG,
} from "#otlp/metric-tags";
import { unsignedAt } from "../metric-owners.js";

/** The numbers of a point that tell whether its series was reset. A series always has points of one kind. */
export interface PointNumbers<Kind = unknown> {
  /** Whether the series was reset between the point with the numbers `previous` and this one. */
  isResetSince(previous: Kind): boolean;
  /** Whether none of the numbers would be below 0 without those of `initial`. */
  canSubtract(initial: Kind): boolean;
  /** Writes the fields of `REPLACED_TAGS`, but the start time, with these numbers minus those of `initial`. */
  writeMinus(out: WireWriter, initial: Kind): void;
}

/** By the tag of the metric's data: the tags of the fields that `writeMinus` writes, and the start time. */
export const REPLACED_TAGS: Readonly<Record<number, readonly number[]>> = {
  [SUM_TAG]: [17, 33, 49],
  [HISTOGRAM_TAG]: [17, 33, 41, 49, 50],
  [EXPONENTIAL_HISTOGRAM_TAG]: [17, 33, 41, 48, 57, 66, 74, 113],
  [SUMMARY_TAG]: [17, 33, 41],
};

/** Returns the numbers of the point [start, end), which `reader` has read. */
export function pointNumbers(
  reader: PointReader,
  dataTag: number,
  b: Uint8Array,
  start: number,
  end: number,
): PointNumbers {
  if (dataTag === HISTOGRAM_TAG) return new HistogramNumbers(reader);
  if (dataTag === EXPONENTIAL_HISTOGRAM_TAG) return new ExponentialNumbers(reader);
  if (dataTag === SUMMARY_TAG) return new DistributionNumbers(reader);
  return SumNumbers.of(reader, b, start, end);
}

/** One of both is 0, as in the Collector: a series that changes from one type of number to the other was reset. */
class SumNumbers implements PointNumbers<SumNumbers> {
  private readonly double: number;
  private readonly int: bigint;
  private readonly isInt: boolean;

  constructor(double: number, int: bigint, isInt: boolean) {
    this.double = double;
    this.int = int;
    this.isInt = isInt;
  }

  static of(reader: PointReader, b: Uint8Array, start: number, end: number): SumNumbers {
    let at = -1;
    let isDouble = false;
    for (let p = start; p < end; ) {
      p = stepOver(b, p);
      if (fieldTag === NUMBER_INT_TAG) [at, isDouble] = [valueAt, false];
      else if (fieldTag === NUMBER_DOUBLE_TAG) isDouble = true;
    }
    if (isDouble) return new SumNumbers(reader.value, 0n, false);
    return new SumNumbers(0, at < 0 ? 0n : BigInt.asIntN(64, unsignedAt(b, at)), true);
  }

  isResetSince(previous: SumNumbers): boolean {
    return this.double < previous.double || this.int < previous.int;
  }

  canSubtract(): boolean {
    return true;
  }

  writeMinus(out: WireWriter, initial: SumNumbers): void {
    if (this.isInt) {
      out.byte(NUMBER_INT_TAG);
      out.fixed64(this.int - initial.int);
    } else {
      out.byte(NUMBER_DOUBLE_TAG);
      out.double(this.double - initial.double);
    }
  }
}

/** Count and sum: all that a summary has. A point without a sum has the sum 0. */
class DistributionNumbers implements PointNumbers<DistributionNumbers> {
  readonly count: number;
  readonly sum: number;

  constructor({ count, sum }: PointReader) {
    this.count = count;
    this.sum = sum;
  }

  isResetSince(previous: DistributionNumbers): boolean {
    return this.count < previous.count || this.sum < previous.sum;
  }

  canSubtract(_initial: DistributionNumbers): boolean {
    return true;
  }

  writeMinus(out: WireWriter, initial: DistributionNumbers): void {
    out.byte(DISTRIBUTION_COUNT_TAG);
    out.fixed64OfNumber(this.count - initial.count);
    out.byte(DISTRIBUTION_SUM_TAG);
    out.double(this.sum - initial.sum);
  }
}

class HistogramNumbers extends DistributionNumbers implements PointNumbers<HistogramNumbers> {
  private readonly bounds: readonly number[];
  private readonly counts: readonly number[];

  constructor(reader: PointReader) {
    super(reader);
    this.bounds = [...reader.bounds];
    this.counts = [...reader.counts];
  }

  override isResetSince(previous: HistogramNumbers): boolean {
    const areBoundsEqual =
      this.bounds.length === previous.bounds.length && this.bounds.every((bound, i) => bound === previous.bounds[i]);
    return super.isResetSince(previous) || !areBoundsEqual || hasFallen(this.counts, previous.counts);
  }

  override writeMinus(out: WireWriter, initial: HistogramNumbers): void {
    super.writeMinus(out, initial);
    if (this.counts.length === 0) return;
    out.byte(HISTOGRAM_BUCKET_COUNTS_TAG);
    out.varint(this.counts.length * 8);
    for (const [i, count] of this.counts.entries()) out.fixed64OfNumber(count - initial.counts[i]!);
  }
}

class ExponentialNumbers extends DistributionNumbers implements PointNumbers<ExponentialNumbers> {
  private readonly scale: number;
  private readonly zeroCount: number;
  private readonly zeroThreshold: number;
  private readonly positive: BucketCounts;
  private readonly negative: BucketCounts;

  constructor(reader: PointReader) {
    super(reader);
    this.scale = reader.scale;
    this.zeroCount = reader.zeroCount;
    this.zeroThreshold = reader.zeroThreshold;
    this.positive = { offset: reader.positive.offset, counts: [...reader.positive.counts] };
    this.negative = { offset: reader.negative.offset, counts: [...reader.negative.counts] };
  }

  override isResetSince(previous: ExponentialNumbers): boolean {
    return (
      super.isResetSince(previous) ||
      this.zeroCount < previous.zeroCount ||
      this.scale !== previous.scale ||
      hasFallen(this.positive.counts, previous.positive.counts) ||
      hasFallen(this.negative.counts, previous.negative.counts)
    );
  }

  /** Buckets that have moved may hold less than they did at first. */
  override canSubtract(initial: ExponentialNumbers): boolean {
    const positive = difference(this.positive, initial.positive);
    return [...positive.counts, ...difference(this.negative, initial.negative).counts].every((count) => count >= 0);
  }

  override writeMinus(out: WireWriter, initial: ExponentialNumbers): void {
    writeExponentialCounts(out, {
      count: this.count - initial.count,
      sum: this.sum - initial.sum,
      scale: this.scale,
      zeroCount: this.zeroCount - initial.zeroCount,
      zeroThreshold: this.zeroThreshold,
      positive: difference(this.positive, initial.positive),
      negative: difference(this.negative, initial.negative),
    });
  }
}

function hasFallen(counts: readonly number[], previous: readonly number[]): boolean {
  return counts.length !== previous.length || counts.some((count, i) => count < previous[i]!);
}

function difference({ offset, counts }: BucketCounts, initial: BucketCounts): BucketCounts {
  const shift = offset - initial.offset;
  return { offset, counts: counts.map((count, i) => count - (initial.counts[i + shift] ?? 0)) };
}

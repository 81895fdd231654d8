import type { PointReader } from "#metrics";
import type { WireWriter } from "#otlp/bytes";
import {
  DISTRIBUTION_COUNT_TAG,
  DISTRIBUTION_SUM_TAG,
  HISTOGRAM_BOUNDS_TAG,
  HISTOGRAM_BUCKET_COUNTS_TAG,
  NUMBER_DOUBLE_TAG,
  NUMBER_INT_TAG,
} from "#otlp/metric-tags";

/** The value of a point. Values are immutable: arithmetic returns new ones. */
export interface PointValue {
  /** Returns the sum of both; undefined if they cannot be added, for example because their bounds differ. */
  plus(other: PointValue): PointValue | undefined;
  /** Returns the difference; undefined if the other value is larger, or of another form. */
  minus(other: PointValue): PointValue | undefined;
  /** Writes the fields of the point that hold the value. */
  write(out: WireWriter): void;
}

/**
 * Tags of the fields that `write` replaces: the value itself, the start time, and fields that do not hold for another
 * value (min, max).
 */
export const REPLACED_TAGS = {
  sum: [17, 33, 49],
  histogram: [17, 33, 41, 49, 50, 57, 58, 89, 97],
  exponentialHistogram: [17, 33, 41, 48, 57, 66, 74, 97, 105, 113],
} as const;

export type ConvertedKind = keyof typeof REPLACED_TAGS;

export class IntegerValue implements PointValue {
  readonly value: bigint;

  constructor(value: bigint) {
    this.value = value;
  }

  plus(other: PointValue): PointValue | undefined {
    return other instanceof IntegerValue ? new IntegerValue(BigInt.asIntN(64, this.value + other.value)) : undefined;
  }

  minus(other: PointValue): PointValue | undefined {
    if (!(other instanceof IntegerValue) || this.value < other.value) return undefined;
    return new IntegerValue(this.value - other.value);
  }

  write(out: WireWriter): void {
    out.byte(NUMBER_INT_TAG);
    out.fixed64(this.value);
  }
}

export class DoubleNumber implements PointValue {
  readonly value: number;

  constructor(value: number) {
    this.value = value;
  }

  plus(other: PointValue): PointValue | undefined {
    return other instanceof DoubleNumber ? new DoubleNumber(this.value + other.value) : undefined;
  }

  minus(other: PointValue): PointValue | undefined {
    if (!(other instanceof DoubleNumber) || this.value < other.value) return undefined;
    return new DoubleNumber(this.value - other.value);
  }

  write(out: WireWriter): void {
    out.byte(NUMBER_DOUBLE_TAG);
    out.double(this.value);
  }
}

/** A histogram with explicit bounds. */
export class HistogramValue implements PointValue {
  readonly count: number;
  /** Undefined if the histogram has no sum. */
  readonly sum: number | undefined;
  readonly bounds: readonly number[];
  readonly counts: readonly number[];

  constructor(count: number, sum: number | undefined, bounds: readonly number[], counts: readonly number[]) {
    this.count = count;
    this.sum = sum;
    this.bounds = bounds;
    this.counts = counts;
  }

  static of({ count, sum, hasSum, bounds, counts }: PointReader): HistogramValue {
    return new HistogramValue(count, hasSum ? sum : undefined, [...bounds], [...counts]);
  }

  plus(other: PointValue): PointValue | undefined {
    if (!this.isAlike(other)) return undefined;
    const counts = this.counts.map((count, i) => count + other.counts[i]!);
    return new HistogramValue(this.count + other.count, combine(this.sum, other.sum, 1), this.bounds, counts);
  }

  minus(other: PointValue): PointValue | undefined {
    if (!this.isAlike(other) || this.count < other.count) return undefined;
    const counts = this.counts.map((count, i) => count - other.counts[i]!);
    if (counts.some((count) => count < 0)) return undefined;
    return new HistogramValue(this.count - other.count, combine(this.sum, other.sum, -1), this.bounds, counts);
  }

  write(out: WireWriter): void {
    out.byte(DISTRIBUTION_COUNT_TAG);
    out.fixed64OfNumber(this.count);
    writeSum(out, this.sum);
    out.byte(HISTOGRAM_BUCKET_COUNTS_TAG);
    out.varint(this.counts.length * 8);
    for (const count of this.counts) out.fixed64OfNumber(count);
    out.byte(HISTOGRAM_BOUNDS_TAG);
    out.varint(this.bounds.length * 8);
    for (const bound of this.bounds) out.double(bound);
  }

  private isAlike(other: PointValue): other is HistogramValue {
    if (!(other instanceof HistogramValue) || other.counts.length !== this.counts.length) return false;
    return other.bounds.length === this.bounds.length && this.bounds.every((bound, i) => bound === other.bounds[i]);
  }
}

/** Adds or subtracts sums. Once a histogram is without a sum, the result has none either. */
export function combine(one: number | undefined, other: number | undefined, sign: 1 | -1): number | undefined {
  return one === undefined || other === undefined ? undefined : one + sign * other;
}

function writeSum(out: WireWriter, sum: number | undefined): void {
  if (sum === undefined) return;
  out.byte(DISTRIBUTION_SUM_TAG);
  out.double(sum);
}

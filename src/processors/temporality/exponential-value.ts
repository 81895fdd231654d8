import { type BucketCounts, type ExponentialCounts, type PointReader, writeExponentialCounts } from "#metrics";
import type { WireWriter } from "#otlp/bytes";
import { combine, type PointValue } from "./point-value.js";

/** The same maximum as in OpenTelemetry's SDKs. */
const MAX_BUCKETS = 160;

/** An exponential histogram. Histograms with different scales are converted to the coarser scale first. */
export class ExponentialValue implements PointValue, ExponentialCounts {
  readonly count: number;
  readonly sum: number | undefined;
  readonly scale: number;
  readonly zeroCount: number;
  readonly zeroThreshold: number;
  readonly positive: BucketCounts;
  readonly negative: BucketCounts;

  constructor(fields: ExponentialCounts) {
    this.count = fields.count;
    this.sum = fields.sum;
    this.scale = fields.scale;
    this.zeroCount = fields.zeroCount;
    this.zeroThreshold = fields.zeroThreshold;
    this.positive = fields.positive;
    this.negative = fields.negative;
  }

  static of(point: PointReader): ExponentialValue {
    const { count, sum, hasSum, scale, zeroCount, zeroThreshold, positive, negative } = point;
    const copy = ({ offset, counts }: BucketCounts): BucketCounts => ({ offset, counts: [...counts] });
    const sides = { positive: copy(positive), negative: copy(negative) };
    return new ExponentialValue({ count, sum: hasSum ? sum : undefined, scale, zeroCount, zeroThreshold, ...sides });
  }

  plus(other: PointValue): PointValue | undefined {
    if (!(other instanceof ExponentialValue) || other.zeroThreshold !== this.zeroThreshold) return undefined;
    let scale = Math.min(this.scale, other.scale);
    for (;;) {
      const [a, b] = [this.atScale(scale), other.atScale(scale)];
      const positive = added(a.positive, b.positive, 1);
      const negative = added(a.negative, b.negative, 1);
      if (positive.counts.length <= MAX_BUCKETS && negative.counts.length <= MAX_BUCKETS) {
        const { zeroThreshold } = this;
        const zeroCount = a.zeroCount + b.zeroCount;
        const sum = combine(a.sum, b.sum, 1);
        return new ExponentialValue({
          count: a.count + b.count,
          sum,
          scale,
          zeroCount,
          zeroThreshold,
          positive,
          negative,
        });
      }
      scale--;
    }
  }

  minus(other: PointValue): PointValue | undefined {
    if (!(other instanceof ExponentialValue) || other.zeroThreshold !== this.zeroThreshold) return undefined;
    if (this.count < other.count || this.zeroCount < other.zeroCount) return undefined;
    const scale = Math.min(this.scale, other.scale);
    const [a, b] = [this.atScale(scale), other.atScale(scale)];
    const positive = added(a.positive, b.positive, -1);
    const negative = added(a.negative, b.negative, -1);
    if ([...positive.counts, ...negative.counts].some((count) => count < 0)) return undefined;
    const { zeroThreshold } = this;
    const zeroCount = a.zeroCount - b.zeroCount;
    const sum = combine(a.sum, b.sum, -1);
    return new ExponentialValue({ count: a.count - b.count, sum, scale, zeroCount, zeroThreshold, positive, negative });
  }

  write(out: WireWriter): void {
    writeExponentialCounts(out, this);
  }

  private atScale(scale: number): ExponentialValue {
    const by = this.scale - scale;
    if (by === 0) return this;
    return new ExponentialValue({
      ...this,
      scale,
      positive: coarser(this.positive, by),
      negative: coarser(this.negative, by),
    });
  }
}

/** Merges each 2^by buckets into one. */
function coarser({ offset, counts }: BucketCounts, by: number): BucketCounts {
  if (counts.length === 0) return { offset: offset >> by, counts };
  const first = offset >> by;
  const last = (offset + counts.length - 1) >> by;
  const merged = new Array<number>(last - first + 1).fill(0);
  for (const [i, count] of counts.entries()) merged[((offset + i) >> by) - first]! += count;
  return { offset: first, counts: merged };
}

/** Adds or subtracts buckets. Empty buckets at either end are trimmed, so that they take no room. */
function added(one: BucketCounts, other: BucketCounts, sign: 1 | -1): BucketCounts {
  const [a, b] = [trimmed(one), trimmed(other)];
  if (b.counts.length === 0) return a;
  const offset = a.counts.length === 0 ? b.offset : Math.min(a.offset, b.offset);
  const end = Math.max(a.counts.length === 0 ? offset : a.offset + a.counts.length, b.offset + b.counts.length);
  if (end - offset > MAX_SPAN) return { offset, counts: new Array<number>(MAX_SPAN).fill(sign) };
  const counts = new Array<number>(end - offset).fill(0);
  for (const [i, count] of a.counts.entries()) counts[a.offset - offset + i]! += count;
  for (const [i, count] of b.counts.entries()) counts[b.offset - offset + i]! += sign * count;
  return trimmed({ offset, counts });
}

/**
 * Histograms that would span more buckets than this are too long to add at this scale, and too different to subtract.
 */
const MAX_SPAN = 100_000;

function trimmed({ offset, counts }: BucketCounts): BucketCounts {
  const first = counts.findIndex((count) => count !== 0);
  if (first < 0) return { offset: 0, counts: [] };
  const last = counts.findLastIndex((count) => count !== 0);
  return { offset: offset + first, counts: counts.slice(first, last + 1) };
}

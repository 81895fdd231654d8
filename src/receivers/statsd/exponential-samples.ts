/** The scales of the Collector's histograms. */
const MAX_SCALE = 20;
const MIN_SCALE = -10;

/**
 * An exponential histogram of any finite values: bucket i of a side holds the magnitudes in (base^i, base^(i+1)], where
 * base is 2^(2^-scale). Both sides have the same scale, which falls when one needs more buckets than allowed.
 */
export class ExponentialSamples {
  count = 0;
  sum = 0;
  min = 0;
  max = 0;
  private readonly maxSize: number;
  private scale = MAX_SCALE;
  private zeroCount = 0;
  private readonly positive = new Buckets();
  private readonly negative = new Buckets();

  constructor(maxSize: number) {
    this.maxSize = maxSize;
  }

  /** Returns whether the value needed a new bucket. */
  add(value: number, times: number): boolean {
    if (times === 0) return false;
    this.min = this.count === 0 ? value : Math.min(this.min, value);
    this.max = this.count === 0 ? value : Math.max(this.max, value);
    this.count += times;
    this.sum += value * times;
    if (value !== 0) return this.addToBucket(value, times);
    this.zeroCount += times;
    return false;
  }

  /** The fields of an ExponentialHistogramDataPoint without times and attributes. */
  tree() {
    const { count, sum, scale, zeroCount, min, max } = this;
    return {
      count: BigInt(count),
      sum,
      scale,
      zeroCount: BigInt(zeroCount),
      positive: this.positive.tree(),
      negative: this.negative.tree(),
      ...(count > 0 && { min, max }),
    };
  }

  private addToBucket(value: number, times: number): boolean {
    const side = value > 0 ? this.positive : this.negative;
    const index = Math.ceil(Math.log2(Math.abs(value)) * 2 ** this.scale) - 1;
    const halvings = this.halvingsFor(side, index);
    if (halvings > 0) {
      this.scale -= halvings;
      this.positive.halve(halvings);
      this.negative.halve(halvings);
    }
    return side.add(index >> halvings, times);
  }

  private halvingsFor(side: Buckets, index: number): number {
    let low = Math.min(side.low, index);
    let high = Math.max(side.high, index);
    let halvings = 0;
    while (high - low >= this.maxSize && this.scale - halvings > MIN_SCALE) {
      low >>= 1;
      high >>= 1;
      halvings += 1;
    }
    return halvings;
  }
}

/** Counts by index. `low` and `high` are the indexes of the first and the last bucket. */
class Buckets {
  low = Number.POSITIVE_INFINITY;
  high = Number.NEGATIVE_INFINITY;
  private counts = new Map<number, number>();

  /** Returns whether the bucket is new. */
  add(index: number, times: number): boolean {
    const known = this.counts.get(index);
    this.counts.set(index, (known ?? 0) + times);
    this.low = Math.min(this.low, index);
    this.high = Math.max(this.high, index);
    return known === undefined;
  }

  halve(times: number): void {
    const { counts } = this;
    this.counts = new Map();
    this.low = Number.POSITIVE_INFINITY;
    this.high = Number.NEGATIVE_INFINITY;
    for (const [index, count] of counts) this.add(index >> times, count);
  }

  tree() {
    const { counts, low, high } = this;
    if (counts.size === 0) return {};
    const bucketCounts = Array.from({ length: high - low + 1 }, (_, i) => BigInt(counts.get(low + i) ?? 0));
    return { offset: low, bucketCounts };
  }
}

import { type BucketCounts, writeExponentialCounts } from "#metrics";
import type { WireWriter } from "#otlp/bytes";
import {
  DISTRIBUTION_COUNT_TAG,
  DISTRIBUTION_SUM_TAG,
  EXPONENTIAL_ATTRIBUTES_TAG,
  EXPONENTIAL_EXEMPLARS_TAG,
  EXPONENTIAL_HISTOGRAM_TAG,
  EXPONENTIAL_MAX_TAG,
  EXPONENTIAL_MIN_TAG,
  HISTOGRAM_ATTRIBUTES_TAG,
  HISTOGRAM_BOUNDS_TAG,
  HISTOGRAM_BUCKET_COUNTS_TAG,
  HISTOGRAM_EXEMPLARS_TAG,
  HISTOGRAM_TAG,
} from "#otlp/metric-tags";

/** The distribution of durations: the data of a histogram point. */
export interface Durations {
  observe(value: number, times: number): void;
  /** Writes the fields of a data point that describe the distribution: all except times, attributes and exemplars. */
  write(out: WireWriter): void;
  reset(): void;
}

/** A kind of histogram, and the protobuf fields in which its points differ from the other kind. */
export interface DurationsKind {
  create(): Durations;
  readonly metricTag: number;
  readonly attributesTag: number;
  readonly exemplarTag: number;
}

/** Makes histograms with these upper bounds, in ascending order. */
export function explicitDurations(bounds: readonly number[]): DurationsKind {
  const packed = Buffer.alloc(bounds.length * 8);
  for (const [i, bound] of bounds.entries()) packed.writeDoubleLE(bound, i * 8);
  const create = () => new ExplicitDurations(bounds, packed);
  return {
    create,
    metricTag: HISTOGRAM_TAG,
    attributesTag: HISTOGRAM_ATTRIBUTES_TAG,
    exemplarTag: HISTOGRAM_EXEMPLARS_TAG,
  };
}

/** Makes exponential histograms with at most `maxSize` buckets, which are as narrow as that allows. */
export function exponentialDurations(maxSize: number): DurationsKind {
  const create = () => new ExponentialDurations(maxSize);
  return {
    create,
    metricTag: EXPONENTIAL_HISTOGRAM_TAG,
    attributesTag: EXPONENTIAL_ATTRIBUTES_TAG,
    exemplarTag: EXPONENTIAL_EXEMPLARS_TAG,
  };
}

class ExplicitDurations implements Durations {
  private readonly bounds: readonly number[];
  private readonly packedBounds: Uint8Array;
  private readonly counts: Float64Array;
  private count = 0;
  private sum = 0;

  constructor(bounds: readonly number[], packedBounds: Uint8Array) {
    this.bounds = bounds;
    this.packedBounds = packedBounds;
    this.counts = new Float64Array(bounds.length + 1);
  }

  observe(value: number, times: number): void {
    const { bounds } = this;
    let low = 0;
    let high = bounds.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (bounds[middle]! < value) low = middle + 1;
      else high = middle;
    }
    this.counts[low] = this.counts[low]! + times;
    this.count += times;
    this.sum += value * times;
  }

  write(out: WireWriter): void {
    out.byte(DISTRIBUTION_COUNT_TAG);
    out.fixed64OfNumber(this.count);
    out.byte(DISTRIBUTION_SUM_TAG);
    out.double(this.sum);
    out.byte(HISTOGRAM_BUCKET_COUNTS_TAG);
    out.varint(this.counts.length * 8);
    for (const count of this.counts) out.fixed64OfNumber(count);
    if (this.packedBounds.length === 0) return;
    out.byte(HISTOGRAM_BOUNDS_TAG);
    out.lengthDelimited(this.packedBounds);
  }

  reset(): void {
    this.counts.fill(0);
    this.count = this.sum = 0;
  }
}

/** The finest scale, which OpenTelemetry's SDKs start with. */
const MAX_SCALE = 20;

/**
 * Bucket i holds the values in (base^i, base^(i+1)], where base is 2^(2^-scale). Invariant: the `used` buckets from
 * bucket `offset` on hold all values above zero. When a value would need more buckets than allowed, each two are
 * merged.
 */
class ExponentialDurations implements Durations {
  private readonly counts: Float64Array;
  private scale = MAX_SCALE;
  private offset = 0;
  private used = 0;
  private zeroCount = 0;
  private count = 0;
  private sum = 0;
  private min = 0;
  private max = 0;

  constructor(maxSize: number) {
    this.counts = new Float64Array(maxSize);
  }

  observe(value: number, times: number): void {
    this.min = this.count === 0 ? value : Math.min(this.min, value);
    this.max = this.count === 0 ? value : Math.max(this.max, value);
    this.count += times;
    this.sum += value * times;
    if (value === 0) this.zeroCount += times;
    else this.addToBucket(value, times);
  }

  write(out: WireWriter): void {
    const { count, sum, zeroCount, offset } = this;
    const scale = this.used === 0 ? 0 : this.scale; // without buckets it means nothing, as in the SDKs
    const positive = { offset, counts: Array.from(this.counts.subarray(0, this.used)) };
    writeExponentialCounts(out, { count, sum, scale, zeroCount, zeroThreshold: 0, positive, negative: NO_BUCKETS });
    if (this.count === 0) return;
    out.byte(EXPONENTIAL_MIN_TAG);
    out.double(this.min);
    out.byte(EXPONENTIAL_MAX_TAG);
    out.double(this.max);
  }

  reset(): void {
    this.counts.fill(0);
    this.scale = MAX_SCALE;
    this.offset = this.used = 0;
    this.zeroCount = this.count = this.sum = this.min = this.max = 0;
  }

  private addToBucket(value: number, times: number): void {
    let bucket = Math.ceil(Math.log2(value) * 2 ** this.scale) - 1;
    if (this.used === 0) {
      this.offset = bucket;
      this.used = 1;
    } else {
      const halvings = this.halvingsFor(bucket);
      if (halvings > 0) this.halve(halvings);
      bucket >>= halvings;
      if (bucket < this.offset) this.growDown(this.offset - bucket);
      else this.used = Math.max(this.used, bucket - this.offset + 1);
    }
    const at = bucket - this.offset;
    this.counts[at] = this.counts[at]! + times;
  }

  private halvingsFor(bucket: number): number {
    let low = Math.min(this.offset, bucket);
    let high = Math.max(this.offset + this.used - 1, bucket);
    let halvings = 0;
    for (; high - low >= this.counts.length; halvings++) {
      low >>= 1;
      high >>= 1;
    }
    return halvings;
  }

  private halve(times: number): void {
    const { counts, offset, used } = this;
    const newOffset = offset >> times;
    for (let i = 0; i < used; i++) {
      const count = counts[i]!;
      counts[i] = 0;
      const at = ((offset + i) >> times) - newOffset;
      counts[at] = counts[at]! + count;
    }
    this.used = ((offset + used - 1) >> times) - newOffset + 1;
    this.offset = newOffset;
    this.scale -= times;
  }

  private growDown(by: number): void {
    this.counts.copyWithin(by, 0, this.used);
    this.counts.fill(0, 0, Math.min(by, this.counts.length));
    this.offset -= by;
    this.used += by;
  }
}

const NO_BUCKETS: BucketCounts = { offset: 0, counts: [] };

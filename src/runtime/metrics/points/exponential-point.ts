import type { WireWriter } from "#otlp/bytes";
import {
  BUCKETS_COUNTS_TAG,
  BUCKETS_OFFSET_TAG,
  DISTRIBUTION_COUNT_TAG,
  DISTRIBUTION_SUM_TAG,
  EXPONENTIAL_NEGATIVE_TAG,
  EXPONENTIAL_POSITIVE_TAG,
  EXPONENTIAL_SCALE_TAG,
  EXPONENTIAL_ZERO_COUNT_TAG,
  EXPONENTIAL_ZERO_THRESHOLD_TAG,
} from "#otlp/metric-tags";

/** Bucket counts of an exponential histogram; `offset` is the index of the first bucket. */
export interface BucketCounts {
  readonly offset: number;
  readonly counts: readonly number[];
}

/** The counts of an exponential histogram. */
export interface ExponentialCounts {
  readonly count: number;
  readonly sum: number | undefined;
  readonly scale: number;
  readonly zeroCount: number;
  readonly zeroThreshold: number;
  readonly positive: BucketCounts;
  readonly negative: BucketCounts;
}

/** Writes the counts as fields of an ExponentialHistogramDataPoint. */
export function writeExponentialCounts(out: WireWriter, counts: ExponentialCounts): void {
  out.byte(DISTRIBUTION_COUNT_TAG);
  out.fixed64OfNumber(counts.count);
  if (counts.sum !== undefined) {
    out.byte(DISTRIBUTION_SUM_TAG);
    out.double(counts.sum);
  }
  out.byte(EXPONENTIAL_SCALE_TAG);
  out.zigzag(counts.scale);
  out.byte(EXPONENTIAL_ZERO_COUNT_TAG);
  out.fixed64OfNumber(counts.zeroCount);
  writeBuckets(out, EXPONENTIAL_POSITIVE_TAG, counts.positive);
  writeBuckets(out, EXPONENTIAL_NEGATIVE_TAG, counts.negative);
  if (counts.zeroThreshold === 0) return;
  out.byte(EXPONENTIAL_ZERO_THRESHOLD_TAG);
  out.double(counts.zeroThreshold);
}

function writeBuckets(out: WireWriter, tag: number, { offset, counts }: BucketCounts): void {
  if (counts.length === 0) return;
  out.byte(tag);
  out.begin(counts.length + 8);
  out.byte(BUCKETS_OFFSET_TAG);
  out.zigzag(offset);
  out.byte(BUCKETS_COUNTS_TAG);
  out.begin(counts.length);
  for (const count of counts) out.varintOfNumber(count);
  out.end();
  out.end();
}

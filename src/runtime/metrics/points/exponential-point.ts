import type { WireWriter } from "#otlp/bytes";

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
  out.byte(33);
  out.fixed64OfNumber(counts.count);
  if (counts.sum !== undefined) {
    out.byte(41);
    out.double(counts.sum);
  }
  out.byte(48);
  out.zigzag(counts.scale);
  out.byte(57);
  out.fixed64OfNumber(counts.zeroCount);
  writeBuckets(out, 66, counts.positive);
  writeBuckets(out, 74, counts.negative);
  if (counts.zeroThreshold === 0) return;
  out.byte(113);
  out.double(counts.zeroThreshold);
}

function writeBuckets(out: WireWriter, tag: number, { offset, counts }: BucketCounts): void {
  if (counts.length === 0) return;
  out.byte(tag);
  out.begin(counts.length + 8);
  out.byte(8);
  out.zigzag(offset);
  out.byte(18);
  out.begin(counts.length);
  for (const count of counts) out.varintOfNumber(count);
  out.end();
  out.end();
}

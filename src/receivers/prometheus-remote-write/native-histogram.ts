import type { ExponentialCounts } from "#metrics";
import { MalformedError } from "../../plugin.js";
import type { FieldReader } from "./field-reader.js";
import { BUCKET_SPAN, HISTOGRAM } from "./tags.js";

interface BucketSpan {
  readonly offset: number;
  readonly length: number;
}

/** The buckets on one side of zero. */
interface BucketSide {
  readonly spans: BucketSpan[];
  readonly deltas: number[];
  readonly counts: number[];
}

/** A native histogram as it was sent. */
export interface NativeHistogram {
  timestamp: number;
  startTimestamp: number;
  schema: number;
  sum: number;
  isStale: boolean;
  isFloat: boolean;
  isGauge: boolean;
  count: number;
  zeroCount: number;
  zeroThreshold: number;
  readonly negative: BucketSide;
  readonly positive: BucketSide;
  readonly bounds: number[];
}

const GAUGE_HINT = 3;
/** The schema of histograms with buckets of any bounds. */
export const CUSTOM_BUCKETS = -53;
/** Gaps between buckets are filled with zeros, so a few bytes could become any number of them. */
const MAX_BUCKETS = 20_000;
/** A sum that says that the series has ended. */
const STALE = { low: 2, high: 0x7ff00000 };

export function readHistogram(reader: FieldReader, bytes: Buffer): NativeHistogram {
  const side = (): BucketSide => ({ spans: [], deltas: [], counts: [] });
  const histogram: NativeHistogram = {
    timestamp: 0,
    startTimestamp: 0,
    schema: 0,
    sum: 0,
    isStale: false,
    isFloat: false,
    isGauge: false,
    count: 0,
    zeroCount: 0,
    zeroThreshold: 0,
    negative: side(),
    positive: side(),
    bounds: [],
  };
  while (reader.step()) readField(histogram, reader, bytes);
  return histogram;
}

function readField(histogram: NativeHistogram, reader: FieldReader, bytes: Buffer): void {
  const { negative, positive } = histogram;
  switch (reader.field) {
    case HISTOGRAM.countInt:
      histogram.count = reader.uint();
      histogram.isFloat = false;
      return;
    case HISTOGRAM.countFloat:
      histogram.count = reader.double();
      histogram.isFloat = true;
      return;
    case HISTOGRAM.sum: {
      const at = reader.fixed64At();
      histogram.sum = bytes.readDoubleLE(at);
      histogram.isStale = bytes.readUInt32LE(at) === STALE.low && bytes.readUInt32LE(at + 4) === STALE.high;
      return;
    }
    case HISTOGRAM.schema:
      histogram.schema = reader.sint();
      return;
    case HISTOGRAM.zeroThreshold:
      histogram.zeroThreshold = reader.double();
      return;
    case HISTOGRAM.zeroCountInt:
      histogram.zeroCount = reader.uint();
      return;
    case HISTOGRAM.zeroCountFloat:
      histogram.zeroCount = reader.double();
      return;
    case HISTOGRAM.negativeSpans:
      negative.spans.push(readSpan(reader.message()));
      return;
    case HISTOGRAM.negativeDeltas:
      reader.sints(negative.deltas);
      return;
    case HISTOGRAM.negativeCounts:
      reader.doubles(negative.counts);
      return;
    case HISTOGRAM.positiveSpans:
      positive.spans.push(readSpan(reader.message()));
      return;
    case HISTOGRAM.positiveDeltas:
      reader.sints(positive.deltas);
      return;
    case HISTOGRAM.positiveCounts:
      reader.doubles(positive.counts);
      return;
    case HISTOGRAM.resetHint:
      histogram.isGauge = reader.uint() === GAUGE_HINT;
      return;
    case HISTOGRAM.timestamp:
      histogram.timestamp = reader.int();
      return;
    case HISTOGRAM.customValues:
      reader.doubles(histogram.bounds);
      return;
    case HISTOGRAM.startTimestamp:
      histogram.startTimestamp = reader.int();
  }
}

function readSpan(reader: FieldReader): BucketSpan {
  let [offset, length] = [0, 0];
  while (reader.step()) {
    if (reader.field === BUCKET_SPAN.offset) offset = reader.sint();
    else if (reader.field === BUCKET_SPAN.length) length = reader.uint();
  }
  return { offset, length };
}

/**
 * The counts of an exponential histogram; undefined if one is negative. Buckets beyond the largest number of 64 bits are
 * left out, with their counts. Throws a `MalformedError` if spans and counts do not fit together.
 */
export function exponentialCounts(histogram: NativeHistogram): ExponentialCounts | undefined {
  const { isFloat, isStale, schema, zeroThreshold } = histogram;
  const positive = countsOf(histogram.positive, isFloat);
  const negative = countsOf(histogram.negative, isFloat);
  const all = [...positive, ...negative, histogram.count, histogram.zeroCount];
  if (all.some((count) => count < 0)) return undefined;
  const last = Math.trunc(1024 * 2 ** schema) + 1;
  const [up, down] = [
    bucketsOf(histogram.positive.spans, positive, last),
    bucketsOf(histogram.negative.spans, negative, last),
  ];
  const count = isStale ? 0 : Math.max(0, Math.trunc(histogram.count) - up.dropped - down.dropped);
  return {
    count,
    sum: isStale ? undefined : histogram.sum,
    scale: schema,
    zeroThreshold,
    zeroCount: Math.trunc(histogram.zeroCount),
    positive: up,
    negative: down,
  };
}

/** The counts of buckets, which integer histograms have as differences. */
function countsOf({ deltas, counts }: BucketSide, isFloat: boolean): readonly number[] {
  if (isFloat) return counts;
  let count = 0;
  return deltas.map((delta) => {
    count += delta;
    return count;
  });
}

/** OTLP names buckets by their lower bound, Prometheus by the upper. */
function bucketsOf(spans: readonly BucketSpan[], counts: readonly number[], last: number) {
  const buckets: number[] = [];
  let dropped = 0;
  let taken = 0;
  let index = spans[0]?.offset ?? 0;
  const put = (count: number) => {
    if (index++ > last) dropped += count;
    else if (buckets.push(count) > MAX_BUCKETS) throw new MalformedError("a histogram has too many buckets", -1);
  };
  for (const [i, { offset, length }] of spans.entries()) {
    if (i > 0 && offset > MAX_BUCKETS) throw new MalformedError("a histogram has too many buckets", -1);
    const next = i > 0 && offset > 0 ? index + offset : index;
    while (index < next && index <= last) put(0);
    index = next;
    if (taken + length > counts.length) throw new MalformedError("a histogram has fewer counts than buckets", -1);
    for (const end = taken + length; taken < end; taken++) put(Math.trunc(counts[taken]!));
  }
  return { offset: (spans[0]?.offset ?? 0) - 1, counts: buckets, dropped };
}

/** The counts of the buckets between `bounds`, and of the one behind the last. */
export function customCounts({ positive, isFloat, bounds }: NativeHistogram): number[] {
  const counts = new Array<number>(bounds.length + 1).fill(0);
  const given = countsOf(positive, isFloat);
  let at = 0;
  let taken = 0;
  for (const { offset, length } of positive.spans) {
    at += offset;
    for (let i = 0; i < length && at < counts.length && taken < given.length; i++, at++, taken++)
      if (at >= 0) counts[at] = Math.max(0, Math.trunc(given[taken]!));
  }
  return counts;
}

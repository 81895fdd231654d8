import type { BucketCounts, PointReader } from "#metrics";
import { WireWriter } from "#otlp/bytes";
import {
  BUCKET_SPAN_LENGTH_TAG,
  BUCKET_SPAN_OFFSET_TAG,
  HISTOGRAM_COUNT_TAG,
  HISTOGRAM_NEGATIVE_DELTAS_TAG,
  HISTOGRAM_NEGATIVE_SPANS_TAG,
  HISTOGRAM_POSITIVE_DELTAS_TAG,
  HISTOGRAM_POSITIVE_SPANS_TAG,
  HISTOGRAM_SCHEMA_TAG,
  HISTOGRAM_SUM_TAG,
  HISTOGRAM_TIMESTAMP_TAG,
  HISTOGRAM_ZERO_COUNT_TAG,
  HISTOGRAM_ZERO_THRESHOLD_TAG,
} from "./tags.js";

const MIN_SCALE = -4;
const MAX_SCALE = 8;
/** The zero threshold of histograms without one: the smallest value that Prometheus distinguishes from zero. */
const DEFAULT_ZERO_THRESHOLD = 1e-128;
/** Gaps of up to this many empty buckets are filled; larger ones begin a new span. */
const MAX_GAP = 2;
const STALE_NAN = Buffer.from("020000000000f07f", "hex");

/** Returns why an exponential histogram cannot become a native one; undefined if it can. */
export function nativeProblem({ scale }: PointReader): string | undefined {
  return scale < MIN_SCALE ? `a scale of ${scale}: native histograms need at least ${MIN_SCALE}` : undefined;
}

/**
 * Encodes an exponential histogram as the Histogram message of remote write. Scales finer than Prometheus allows are
 * made coarser, which is exact: adjacent buckets are merged. Bucket i of OTLP is bucket i + 1 in Prometheus.
 */
export function encodeNativeHistogram(point: PointReader): Uint8Array {
  const down = Math.max(0, point.scale - MAX_SCALE);
  const out = new WireWriter(256);
  if (point.hasNoValue) return encodeEnd(out, point);
  field(out, HISTOGRAM_COUNT_TAG, () => out.varintOfNumber(point.count));
  field(out, HISTOGRAM_SUM_TAG, () => out.double(point.hasSum ? point.sum : 0));
  field(out, HISTOGRAM_SCHEMA_TAG, () => out.zigzag(point.scale - down));
  field(out, HISTOGRAM_ZERO_THRESHOLD_TAG, () => out.double(point.zeroThreshold || DEFAULT_ZERO_THRESHOLD));
  field(out, HISTOGRAM_ZERO_COUNT_TAG, () => out.varintOfNumber(point.zeroCount));
  writeSide(out, point.negative, down, HISTOGRAM_NEGATIVE_SPANS_TAG, HISTOGRAM_NEGATIVE_DELTAS_TAG);
  writeSide(out, point.positive, down, HISTOGRAM_POSITIVE_SPANS_TAG, HISTOGRAM_POSITIVE_DELTAS_TAG);
  field(out, HISTOGRAM_TIMESTAMP_TAG, () => out.varintOfNumber(point.timeMs));
  return new Uint8Array(out.written());
}

/** Encodes the end of a series: the sum is Prometheus's special NaN, and the rest is empty. */
function encodeEnd(out: WireWriter, { timeMs }: PointReader): Uint8Array {
  field(out, HISTOGRAM_SUM_TAG, () => out.copy(STALE_NAN, 0, 8));
  field(out, HISTOGRAM_TIMESTAMP_TAG, () => out.varintOfNumber(timeMs));
  return new Uint8Array(out.written());
}

function field(out: WireWriter, tag: number, write: () => void): void {
  out.varint(tag);
  write();
}

function writeSide(
  out: WireWriter,
  { offset, counts }: BucketCounts,
  down: number,
  spansTag: number,
  deltasTag: number,
): void {
  const spans: { offset: number; length: number }[] = [];
  const deltas: number[] = [];
  let before = 0;
  let next = 0; // the index after the last bucket of the last span
  const push = (count: number) => {
    spans.at(-1)!.length++;
    deltas.push(count - before);
    before = count;
    next++;
  };
  for (const [index, count] of merged(offset, counts, down)) {
    const gap = spans.length === 0 ? index : index - next;
    if (spans.length === 0 || gap > MAX_GAP) {
      spans.push({ offset: gap, length: 0 });
      next = index;
    } else for (let i = 0; i < gap; i++) push(0);
    push(count);
  }
  for (const span of spans) {
    out.varint(spansTag);
    out.begin();
    field(out, BUCKET_SPAN_OFFSET_TAG, () => out.zigzag(span.offset));
    field(out, BUCKET_SPAN_LENGTH_TAG, () => out.varint(span.length));
    out.end();
  }
  if (deltas.length === 0) return;
  out.varint(deltasTag);
  out.begin();
  for (const delta of deltas) out.varintOfNumber(delta < 0 ? -2 * delta - 1 : 2 * delta);
  out.end();
}

/** Returns the buckets that are not empty, with Prometheus's indexes. */
function merged(offset: number, counts: readonly number[], down: number): Map<number, number> {
  const found = new Map<number, number>();
  counts.forEach((count, i) => {
    if (count === 0) return;
    const index = Math.floor((offset + i) / 2 ** down) + 1;
    found.set(index, (found.get(index) ?? 0) + count);
  });
  return found;
}

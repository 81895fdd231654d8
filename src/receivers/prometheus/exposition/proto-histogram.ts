import { type BucketCounts, writeExponentialCounts } from "#metrics";
import { WireWriter } from "#otlp/bytes";
import {
  BUCKET_COUNT,
  BUCKET_COUNT_FLOAT,
  BUCKET_EXEMPLAR,
  BUCKET_SPAN_LENGTH,
  BUCKET_SPAN_OFFSET,
  BUCKET_UPPER_BOUND,
  HISTOGRAM_BUCKET,
  HISTOGRAM_COUNT,
  HISTOGRAM_COUNT_FLOAT,
  HISTOGRAM_CREATED,
  HISTOGRAM_EXEMPLAR,
  HISTOGRAM_NEGATIVE_COUNT,
  HISTOGRAM_NEGATIVE_DELTA,
  HISTOGRAM_NEGATIVE_SPAN,
  HISTOGRAM_POSITIVE_COUNT,
  HISTOGRAM_POSITIVE_DELTA,
  HISTOGRAM_POSITIVE_SPAN,
  HISTOGRAM_SCHEMA,
  HISTOGRAM_SUM,
  HISTOGRAM_ZERO_COUNT,
  HISTOGRAM_ZERO_COUNT_FLOAT,
  HISTOGRAM_ZERO_THRESHOLD,
} from "./client-model.js";
import type { ExemplarText } from "./exposition-reader.js";
import type { ProtoFields } from "./proto-fields.js";
import { readProtoExemplar, readTimestamp } from "./proto-values.js";

interface ClassicBucket {
  readonly bound: number;
  readonly count: number;
  readonly exemplar: ExemplarText | undefined;
}

/** Buckets of a native histogram on one side of zero, as sent: runs of buckets and the counts of all of them. */
class NativeSide {
  readonly offsets: number[] = [];
  readonly lengths: number[] = [];
  readonly deltas: number[] = [];
  readonly counts: number[] = [];

  addSpan(fields: ProtoFields): void {
    let [offset, length] = [0, 0];
    while (fields.next()) {
      if (fields.field === BUCKET_SPAN_OFFSET) offset = fields.zigzag();
      else if (fields.field === BUCKET_SPAN_LENGTH) length = fields.unsigned();
    }
    this.offsets.push(offset);
    this.lengths.push(length);
  }
}

/**
 * The number of buckets, including gaps between runs, that a histogram may have on one side. OpenTelemetry's SDKs use
 * 160.
 */
const MAX_BUCKETS = 16_384;
const MIN_SCHEMA = -4;
const MAX_SCHEMA = 8;

/** A Histogram message: a classic histogram, a native one, or both. */
export class ProtoHistogram {
  count = 0;
  sum = 0;
  createdMs = 0;
  readonly buckets: ClassicBucket[] = [];
  readonly exemplars: ExemplarText[] = [];
  private schema = 0;
  private zeroThreshold = 0;
  private zeroCount = 0;
  private readonly negative = new NativeSide();
  private readonly positive = new NativeSide();

  constructor(fields: ProtoFields) {
    while (fields.next()) this.read(fields);
  }

  get isNative(): boolean {
    const { negative, positive } = this;
    return negative.offsets.length + positive.offsets.length > 0 || this.zeroThreshold > 0 || this.zeroCount > 0;
  }

  /**
   * The body of an ExponentialHistogramDataPoint without times, attributes and exemplars, or a text that says why it
   * cannot be built.
   */
  exponential(): Uint8Array | string {
    const { schema, count, zeroCount } = this;
    if (schema < MIN_SCHEMA || schema > MAX_SCHEMA) return `its buckets are those of schema ${schema}`;
    const positive = expand(this.positive);
    const negative = expand(this.negative);
    if (typeof positive === "string") return positive;
    if (typeof negative === "string") return negative;
    const all = [count, zeroCount, ...positive.counts, ...negative.counts];
    if (!all.every((each) => Number.isInteger(each) && each >= 0 && each < 2 ** 64))
      return "it does not count in whole numbers";
    const held = all.reduce((sum, each) => sum + each, -count);
    if (held > count) return "its buckets hold more than its count";
    const out = new WireWriter(64 + positive.counts.length + negative.counts.length);
    const sum = Number.isNaN(this.sum) ? undefined : this.sum;
    const zeroThreshold = this.zeroThreshold > 0 ? this.zeroThreshold : 0;
    writeExponentialCounts(out, { count, sum, scale: schema, zeroCount, zeroThreshold, positive, negative });
    return Uint8Array.from(out.written());
  }

  private read(fields: ProtoFields): void {
    switch (fields.field) {
      case HISTOGRAM_COUNT:
        if (this.count === 0) this.count = fields.unsigned();
        break;
      case HISTOGRAM_SUM:
        this.sum = fields.double();
        break;
      case HISTOGRAM_BUCKET:
        this.buckets.push(readBucket(fields.message()));
        break;
      case HISTOGRAM_COUNT_FLOAT: // a float count takes precedence
        if (fields.double() > 0) this.count = fields.double();
        break;
      case HISTOGRAM_SCHEMA:
        this.schema = fields.zigzag();
        break;
      case HISTOGRAM_ZERO_THRESHOLD:
        this.zeroThreshold = fields.double();
        break;
      case HISTOGRAM_ZERO_COUNT:
        if (this.zeroCount === 0) this.zeroCount = fields.unsigned();
        break;
      case HISTOGRAM_ZERO_COUNT_FLOAT:
        if (fields.double() > 0) this.zeroCount = fields.double();
        break;
      case HISTOGRAM_NEGATIVE_SPAN:
        this.negative.addSpan(fields.message());
        break;
      case HISTOGRAM_NEGATIVE_DELTA:
        fields.addZigzags(this.negative.deltas);
        break;
      case HISTOGRAM_NEGATIVE_COUNT:
        fields.addDoubles(this.negative.counts);
        break;
      case HISTOGRAM_POSITIVE_SPAN:
        this.positive.addSpan(fields.message());
        break;
      case HISTOGRAM_POSITIVE_DELTA:
        fields.addZigzags(this.positive.deltas);
        break;
      case HISTOGRAM_POSITIVE_COUNT:
        fields.addDoubles(this.positive.counts);
        break;
      case HISTOGRAM_CREATED:
        this.createdMs = readTimestamp(fields.message());
        break;
      case HISTOGRAM_EXEMPLAR:
        this.exemplars.push(readProtoExemplar(fields.message()));
        break;
    }
  }
}

function readBucket(fields: ProtoFields): ClassicBucket {
  let [bound, count, fraction] = [0, 0, 0];
  let exemplar: ExemplarText | undefined;
  while (fields.next()) {
    if (fields.field === BUCKET_COUNT) count = fields.unsigned();
    else if (fields.field === BUCKET_UPPER_BOUND) bound = fields.double();
    else if (fields.field === BUCKET_EXEMPLAR) exemplar = readProtoExemplar(fields.message());
    else if (fields.field === BUCKET_COUNT_FLOAT) fraction = fields.double();
  }
  return { bound, count: fraction > 0 ? fraction : count, exemplar };
}

/**
 * Lists every bucket from the first to the last, and the first one's index in OTLP, which is one less than in
 * Prometheus.
 */
function expand({ offsets, lengths, deltas, counts: absolute }: NativeSide): BucketCounts | string {
  const isAbsolute = absolute.length > 0;
  const given = isAbsolute ? absolute : deltas;
  if (lengths.reduce((sum, length) => sum + length, 0) !== given.length)
    return "it does not have as many counts as buckets";
  const counts: number[] = [];
  let next = 0;
  let last = 0;
  for (const [i, offset] of offsets.entries()) {
    const gap = i === 0 ? 0 : offset;
    if (gap < 0) return "its buckets are not in order";
    if (counts.length + gap + lengths[i]! > MAX_BUCKETS) return `it has more than ${MAX_BUCKETS} buckets in a row`;
    for (let empty = 0; empty < gap; empty++) counts.push(0);
    for (let k = 0; k < lengths[i]!; k++, next++) {
      last = isAbsolute ? given[next]! : last + given[next]!;
      counts.push(last);
    }
  }
  return { offset: (offsets[0] ?? 1) - 1, counts };
}

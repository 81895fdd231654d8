import { type BucketCounts, writeExponentialCounts } from "#metrics";
import { WireWriter } from "#otlp/bytes";
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
      if (fields.field === 1) offset = fields.zigzag();
      else if (fields.field === 2) length = fields.unsigned();
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
      case 1:
        if (this.count === 0) this.count = fields.unsigned();
        break;
      case 2:
        this.sum = fields.double();
        break;
      case 3:
        this.buckets.push(readBucket(fields.message()));
        break;
      case 4: // a float count takes precedence
        if (fields.double() > 0) this.count = fields.double();
        break;
      case 5:
        this.schema = fields.zigzag();
        break;
      case 6:
        this.zeroThreshold = fields.double();
        break;
      case 7:
        if (this.zeroCount === 0) this.zeroCount = fields.unsigned();
        break;
      case 8:
        if (fields.double() > 0) this.zeroCount = fields.double();
        break;
      case 9:
        this.negative.addSpan(fields.message());
        break;
      case 10:
        fields.addZigzags(this.negative.deltas);
        break;
      case 11:
        fields.addDoubles(this.negative.counts);
        break;
      case 12:
        this.positive.addSpan(fields.message());
        break;
      case 13:
        fields.addZigzags(this.positive.deltas);
        break;
      case 14:
        fields.addDoubles(this.positive.counts);
        break;
      case 15:
        this.createdMs = readTimestamp(fields.message());
        break;
      case 16:
        this.exemplars.push(readProtoExemplar(fields.message()));
        break;
    }
  }
}

function readBucket(fields: ProtoFields): ClassicBucket {
  let [bound, count, fraction] = [0, 0, 0];
  let exemplar: ExemplarText | undefined;
  while (fields.next()) {
    if (fields.field === 1) count = fields.unsigned();
    else if (fields.field === 2) bound = fields.double();
    else if (fields.field === 3) exemplar = readProtoExemplar(fields.message());
    else if (fields.field === 4) fraction = fields.double();
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

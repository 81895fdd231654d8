import { after, double, fixed32, skip, varint, varint64 } from "#otlp/bytes";
import { EXPONENTIAL_HISTOGRAM_TAG, HISTOGRAM_TAG, SUMMARY_TAG } from "#otlp/tags";
import { AttributeKey } from "../series/attribute-key.js";

/** One side of an exponential histogram. */
export class ExponentialBuckets {
  offset = 0;
  readonly counts: number[] = [];
}

/** The flag of a point that says the series has no more values. */
const NO_RECORDED_VALUE = 1;

/**
 * Reads a data point of any kind in place; one reader serves all points in turn. 64-bit numbers become doubles, the
 * only kind of number in Prometheus.
 */
export class PointReader {
  readonly attributes = new AttributeKey();
  /** The time of the point, and its start time, in milliseconds since 1970; 0 if absent. */
  timeMs = 0;
  startMs = 0;
  hasNoValue = false;
  /** Set for gauges and sums. */
  value = 0;
  /** Set for all other kinds. */
  count = 0;
  sum = 0;
  hasSum = false;
  readonly bounds: number[] = [];
  readonly counts: number[] = [];
  /** Set for summaries, in pairs of quantile and value. */
  readonly quantiles: number[] = [];
  readonly quantileValues: number[] = [];
  /** Set for exponential histograms. */
  scale = 0;
  zeroCount = 0;
  zeroThreshold = 0;
  readonly positive = new ExponentialBuckets();
  readonly negative = new ExponentialBuckets();
  /** Ranges of the exemplars in the bytes. */
  readonly exemplarStarts: number[] = [];
  readonly exemplarEnds: number[] = [];

  /** `dataTag` is the tag of the metric's data that contains the point. */
  read(b: Uint8Array, start: number, end: number, dataTag: number): void {
    this.readWithoutKey(b, start, end, dataTag);
    this.attributes.finish();
  }

  /** The same, but the caller finishes the key or does without it. */
  readWithoutKey(b: Uint8Array, start: number, end: number, dataTag: number): void {
    this.reset();
    this.attributes.begin(b);
    if (dataTag === HISTOGRAM_TAG) this.readHistogram(b, start, end);
    else if (dataTag === EXPONENTIAL_HISTOGRAM_TAG) this.readExponential(b, start, end);
    else if (dataTag === SUMMARY_TAG) this.readSummary(b, start, end);
    else this.readNumber(b, start, end);
  }

  /**
   * Reads times and value of a gauge or sum and returns where they end; usually only attributes follow. A caller that
   * recognises the attributes by their bytes need not read them; all others use `read`.
   */
  readNumberHead(b: Uint8Array, p: number, end: number): number {
    this.reset();
    for (; p < end; p += 9) {
      const tag = b[p];
      if (tag === 17) this.startMs = milliseconds(b, p + 1);
      else if (tag === 25) this.timeMs = milliseconds(b, p + 1);
      else if (tag === 33) this.value = double(b, p + 1);
      else if (tag === 49) this.value = signed64(b, p + 1);
      else break;
    }
    return p;
  }

  private reset(): void {
    this.timeMs = this.startMs = this.value = this.count = this.sum = 0;
    this.hasNoValue = this.hasSum = false;
    if (this.exemplarStarts.length > 0) this.exemplarStarts.length = this.exemplarEnds.length = 0;
  }

  /** Most points are numbers, so one-byte varints are read in place. */
  private readNumber(b: Uint8Array, p: number, end: number): void {
    while (p < end) {
      const at = p;
      let tag = b[p++]!;
      if (tag > 127) {
        tag = varint(b, at);
        p = after;
      }
      switch (tag) {
        case 17: // startTimeUnixNano
          this.startMs = milliseconds(b, p);
          p += 8;
          break;
        case 25: // timeUnixNano
          this.timeMs = milliseconds(b, p);
          p += 8;
          break;
        case 33: // asDouble
          this.value = double(b, p);
          p += 8;
          break;
        case 49: // asInt
          this.value = signed64(b, p);
          p += 8;
          break;
        case 58: {
          // attributes
          let size = b[p++]!;
          if (size > 127) {
            size = varint(b, p - 1);
            p = after;
          }
          this.attributes.add(at, p, p + size);
          p += size;
          break;
        }
        case 64: // flags
          this.hasNoValue = (varint(b, p) & NO_RECORDED_VALUE) !== 0;
          p = after;
          break;
        case 42: {
          const valueAt = p;
          p = skip(b, p, tag);
          this.addExemplar(b, valueAt, p);
          break;
        }
        default:
          p = skip(b, p, tag);
      }
    }
  }

  private readHistogram(b: Uint8Array, p: number, end: number): void {
    this.bounds.length = this.counts.length = 0;
    while (p < end) {
      const at = p;
      const tag = varint(b, p);
      const valueAt = after;
      p = skip(b, valueAt, tag);
      if (this.readShared(b, valueAt, tag)) continue;
      switch (tag) {
        case 50: // bucketCounts, packed
          varint(b, valueAt);
          for (let q = after; q < p; q += 8) this.counts.push(unsigned64(b, q));
          break;
        case 49:
          this.counts.push(unsigned64(b, valueAt));
          break;
        case 58: // explicitBounds, packed
          varint(b, valueAt);
          for (let q = after; q < p; q += 8) this.bounds.push(double(b, q));
          break;
        case 57:
          this.bounds.push(double(b, valueAt));
          break;
        case 66:
          this.addExemplar(b, valueAt, p);
          break;
        case 74:
          this.addAttribute(b, at, valueAt, p);
          break;
        case 80:
          this.hasNoValue = (varint(b, valueAt) & NO_RECORDED_VALUE) !== 0;
          break;
      }
    }
  }

  private readExponential(b: Uint8Array, p: number, end: number): void {
    this.bounds.length = this.counts.length = 0;
    this.scale = this.zeroCount = this.zeroThreshold = 0;
    this.positive.offset = this.negative.offset = 0;
    this.positive.counts.length = this.negative.counts.length = 0;
    while (p < end) {
      const at = p;
      const tag = varint(b, p);
      const valueAt = after;
      p = skip(b, valueAt, tag);
      if (this.readShared(b, valueAt, tag)) continue;
      switch (tag) {
        case 10:
          this.addAttribute(b, at, valueAt, p);
          break;
        case 48:
          this.scale = zigzag(varint(b, valueAt));
          break;
        case 57:
          this.zeroCount = unsigned64(b, valueAt);
          break;
        case 66:
          readBuckets(b, valueAt, p, this.positive);
          break;
        case 74:
          readBuckets(b, valueAt, p, this.negative);
          break;
        case 80:
          this.hasNoValue = (varint(b, valueAt) & NO_RECORDED_VALUE) !== 0;
          break;
        case 90:
          this.addExemplar(b, valueAt, p);
          break;
        case 113:
          this.zeroThreshold = double(b, valueAt);
          break;
      }
    }
  }

  private readSummary(b: Uint8Array, p: number, end: number): void {
    this.quantiles.length = this.quantileValues.length = 0;
    while (p < end) {
      const at = p;
      const tag = varint(b, p);
      const valueAt = after;
      p = skip(b, valueAt, tag);
      if (this.readShared(b, valueAt, tag)) continue;
      switch (tag) {
        case 50:
          this.addQuantile(b, valueAt, p);
          break;
        case 58:
          this.addAttribute(b, at, valueAt, p);
          break;
        case 64:
          this.hasNoValue = (varint(b, valueAt) & NO_RECORDED_VALUE) !== 0;
          break;
      }
    }
  }

  /** Reads fields that all kinds except numbers share under the same tags. */
  private readShared(b: Uint8Array, valueAt: number, tag: number): boolean {
    switch (tag) {
      case 17:
        this.startMs = milliseconds(b, valueAt);
        return true;
      case 25:
        this.timeMs = milliseconds(b, valueAt);
        return true;
      case 33:
        this.count = unsigned64(b, valueAt);
        return true;
      case 41:
        this.sum = double(b, valueAt);
        this.hasSum = true;
        return true;
      default:
        return false;
    }
  }

  private addAttribute(b: Uint8Array, at: number, lengthAt: number, end: number): void {
    varint(b, lengthAt);
    this.attributes.add(at, after, end);
  }

  private addExemplar(b: Uint8Array, lengthAt: number, end: number): void {
    varint(b, lengthAt);
    this.exemplarStarts.push(after);
    this.exemplarEnds.push(end);
  }

  private addQuantile(b: Uint8Array, lengthAt: number, end: number): void {
    varint(b, lengthAt);
    let quantile = 0;
    let value = 0;
    for (let p = after; p < end; ) {
      const tag = varint(b, p);
      const valueAt = after;
      p = skip(b, valueAt, tag);
      if (tag === 9) quantile = double(b, valueAt);
      else if (tag === 17) value = double(b, valueAt);
    }
    this.quantiles.push(quantile);
    this.quantileValues.push(value);
  }
}

function readBuckets(b: Uint8Array, lengthAt: number, end: number, buckets: ExponentialBuckets): void {
  varint(b, lengthAt);
  for (let p = after; p < end; ) {
    const tag = varint(b, p);
    const valueAt = after;
    p = skip(b, valueAt, tag);
    if (tag === 8) buckets.offset = zigzag(varint(b, valueAt));
    else if (tag === 16) buckets.counts.push(Number(varint64(b, valueAt)));
    else if (tag === 18) {
      varint(b, valueAt);
      for (let q = after; q < p; q = after) buckets.counts.push(Number(varint64(b, q)));
    }
  }
}

function zigzag(value: number): number {
  return (value >>> 1) ^ -(value & 1);
}

/** Exact: dividing the nanoseconds as a double would sometimes be off by one. */
export function milliseconds(b: Uint8Array, p: number): number {
  const low = fixed32(b, p);
  const high = fixed32(b, p + 4);
  return high * 4294 + Math.floor((high * 967296 + low) / 1e6);
}

function unsigned64(b: Uint8Array, p: number): number {
  return fixed32(b, p + 4) * 4294967296 + fixed32(b, p);
}

export function signed64(b: Uint8Array, p: number): number {
  return (fixed32(b, p + 4) | 0) * 4294967296 + fixed32(b, p);
}

import { double } from "#otlp/bytes";
import {
  DATA_POINT_START_TIME_TAG,
  DATA_POINT_TIME_TAG,
  EXPONENTIAL_HISTOGRAM_TAG,
  HISTOGRAM_TAG,
  NUMBER_DOUBLE_TAG,
  NUMBER_INT_TAG,
  SUMMARY_TAG,
} from "#otlp/metric-tags";
import { AttributeKey } from "../series/attribute-key.js";
import { ExponentialBuckets, PointFields, QuantileFields } from "./point-fields.generated.js";
import { milliseconds, signed64 } from "./wire-numbers.js";

/**
 * Reads a data point of any kind in place; one reader serves all points in turn. 64-bit numbers become doubles, the
 * only kind of number in Prometheus.
 */
export class PointReader extends PointFields {
  readonly attributes = new AttributeKey();
  /** Set for all but gauges and sums. */
  sum = 0;
  hasSum = false;
  /** Set for summaries, in pairs of quantile and value. */
  readonly quantiles: number[] = [];
  readonly quantileValues: number[] = [];
  /** Set for exponential histograms. */
  readonly positive = new ExponentialBuckets();
  readonly negative = new ExponentialBuckets();
  /** Ranges of the exemplars in the bytes. */
  readonly exemplarStarts: number[] = [];
  readonly exemplarEnds: number[] = [];
  private readonly quantile = new QuantileFields();

  /** `dataTag` is the tag of the metric's data that contains the point. */
  read(b: Uint8Array, start: number, end: number, dataTag: number): void {
    this.readWithoutKey(b, start, end, dataTag);
    this.attributes.finish();
  }

  /** The same, but the caller finishes the key or does without it. */
  readWithoutKey(b: Uint8Array, start: number, end: number, dataTag: number): void {
    this.reset();
    this.attributes.begin(b);
    if (dataTag === HISTOGRAM_TAG) {
      this.clearHistogram();
      this.readHistogram(b, start, end);
    } else if (dataTag === EXPONENTIAL_HISTOGRAM_TAG) {
      this.clearExponential();
      this.readExponential(b, start, end);
    } else if (dataTag === SUMMARY_TAG) {
      this.quantiles.length = this.quantileValues.length = 0;
      this.readSummary(b, start, end);
    } else this.readNumber(b, start, end);
  }

  /**
   * Reads times and value of a gauge or sum and returns where they end; usually only attributes follow. A caller that
   * recognises the attributes by their bytes need not read them; all others use `read`.
   */
  readNumberHead(b: Uint8Array, p: number, end: number): number {
    this.reset();
    for (; p < end; p += 9) {
      const tag = b[p];
      if (tag === DATA_POINT_START_TIME_TAG) this.startMs = milliseconds(b, p + 1);
      else if (tag === DATA_POINT_TIME_TAG) this.timeMs = milliseconds(b, p + 1);
      else if (tag === NUMBER_DOUBLE_TAG) this.value = double(b, p + 1);
      else if (tag === NUMBER_INT_TAG) this.value = signed64(b, p + 1);
      else break;
    }
    return p;
  }

  private reset(): void {
    this.timeMs = this.startMs = this.value = this.count = this.sum = 0;
    this.hasNoValue = this.hasSum = false;
    if (this.exemplarStarts.length > 0) this.exemplarStarts.length = this.exemplarEnds.length = 0;
  }

  protected override setSum(b: Uint8Array, start: number): void {
    this.sum = double(b, start);
    this.hasSum = true;
  }

  protected override addAttribute(_b: Uint8Array, at: number, start: number, end: number): void {
    this.attributes.add(at, start, end);
  }

  protected override addExemplar(_b: Uint8Array, _at: number, start: number, end: number): void {
    this.exemplarStarts.push(start);
    this.exemplarEnds.push(end);
  }

  protected override readPositive(b: Uint8Array, _at: number, start: number, end: number): void {
    this.positive.read(b, start, end);
  }

  protected override readNegative(b: Uint8Array, _at: number, start: number, end: number): void {
    this.negative.read(b, start, end);
  }

  protected override addQuantile(b: Uint8Array, _at: number, start: number, end: number): void {
    this.quantile.read(b, start, end);
    this.quantiles.push(this.quantile.quantile);
    this.quantileValues.push(this.quantile.value);
  }

  private clearHistogram(): void {
    this.bounds.length = this.counts.length = 0;
  }

  private clearExponential(): void {
    this.clearHistogram();
    this.scale = this.zeroCount = this.zeroThreshold = 0;
    this.positive.offset = this.negative.offset = 0;
    this.positive.counts.length = this.negative.counts.length = 0;
  }
}

import type { WireWriter } from "#otlp/bytes";
import {
  DISTRIBUTION_COUNT_TAG,
  DISTRIBUTION_SUM_TAG,
  HISTOGRAM_BOUNDS_TAG,
  HISTOGRAM_BUCKET_COUNTS_TAG,
  HISTOGRAM_EXEMPLARS_TAG,
  QUANTILE_TAG,
  QUANTILE_VALUE_TAG,
  SUMMARY_QUANTILES_TAG,
} from "#otlp/metric-tags";

/** The size of a ValueAtQuantile: two tags and two doubles. */
const QUANTILE_SIZE = 18;

/**
 * A histogram or summary assembled line by line. Its bounds are kept between scrapes, so the lines of an unchanged one
 * only fill in numbers.
 */
export class ScrapedDistribution {
  /** The scrape that the numbers belong to. */
  scrape = -1;
  sum = Number.NaN;
  count = Number.NaN;
  exemplars: Uint8Array[] | undefined;
  /** Upper bounds of buckets, or quantiles, in order. A value is NaN if this scrape had none. */
  private bounds: number[] = [];
  private values: number[] = [];
  private isSet: boolean[] = [];
  private cursor = 0;

  begin(scrape: number): void {
    this.scrape = scrape;
    this.sum = this.count = Number.NaN;
    this.exemplars = undefined;
    this.cursor = 0;
    this.isSet.fill(false);
  }

  /** Returns false if this scrape has already set the bound. */
  set(bound: number, value: number): boolean {
    const { bounds } = this;
    let at = this.cursor;
    if (bounds[at] !== bound) {
      at = bounds.indexOf(bound);
      if (at < 0) at = this.insert(bound);
    }
    this.cursor = at + 1;
    if (this.isSet[at]) return false;
    this.isSet[at] = true;
    this.values[at] = value;
    return true;
  }

  private insert(bound: number): number {
    let at = this.bounds.findIndex((each) => each > bound);
    if (at < 0) at = this.bounds.length;
    this.bounds.splice(at, 0, bound);
    this.values.splice(at, 0, 0);
    this.isSet.splice(at, 0, false);
    return at;
  }

  /** Removes bounds that the scrape did not have. */
  private settle(): void {
    if (!this.isSet.includes(false)) return;
    const keep = (_: unknown, i: number) => this.isSet[i]!;
    this.bounds = this.bounds.filter(keep);
    this.values = this.values.filter(keep);
    this.isSet = this.bounds.map(() => true);
  }

  /**
   * Returns why it is not a valid histogram, or undefined. Takes the count from the last bucket if there is no other.
   */
  histogramProblem(): string | undefined {
    this.settle();
    const { bounds, values } = this;
    // Counts of recorded or sampled histograms may have fractions, which OTLP has no place for.
    for (let i = 0; i < values.length; i++) values[i] = Math.floor(values[i]!);
    this.count = Math.floor(this.count);
    const hasLast = bounds.length > 0 && bounds[bounds.length - 1] === Number.POSITIVE_INFINITY;
    if (Number.isNaN(this.count) && hasLast) this.count = values[values.length - 1]!;
    if (!isCount(this.count)) return "it has no count";
    let before = 0;
    for (const value of values) {
      if (!isCount(value) || value < before) return "the counts of its buckets do not go up";
      before = value;
    }
    // A target that counts while it is being scraped may write a count that is lower than its buckets'.
    this.count = Math.max(this.count, before);
    return undefined;
  }

  /** Writes count, sum, buckets and bounds of a HistogramDataPoint. Call `histogramProblem` first. */
  writeHistogram(writer: WireWriter): void {
    const { bounds, values, count, sum } = this;
    writer.byte(DISTRIBUTION_COUNT_TAG);
    writer.fixed64OfNumber(count);
    if (!Number.isNaN(sum)) {
      writer.byte(DISTRIBUTION_SUM_TAG);
      writer.double(sum);
    }
    const hasLast = bounds[bounds.length - 1] === Number.POSITIVE_INFINITY;
    const finite = hasLast ? bounds.length - 1 : bounds.length;
    writer.byte(HISTOGRAM_BUCKET_COUNTS_TAG);
    writer.varint((finite + 1) * 8);
    let before = 0;
    for (let i = 0; i < finite; i++) {
      writer.fixed64OfNumber(values[i]! - before);
      before = values[i]!;
    }
    writer.fixed64OfNumber(count - before);
    if (finite > 0) {
      writer.byte(HISTOGRAM_BOUNDS_TAG);
      writer.varint(finite * 8);
      for (let i = 0; i < finite; i++) writer.double(bounds[i]!);
    }
    for (const exemplar of this.exemplars ?? []) {
      writer.byte(HISTOGRAM_EXEMPLARS_TAG);
      writer.lengthDelimited(exemplar);
    }
  }

  /** Writes count, sum and quantiles of a SummaryDataPoint. */
  writeSummary(writer: WireWriter): void {
    this.settle();
    if (isCount(this.count)) {
      writer.byte(DISTRIBUTION_COUNT_TAG);
      writer.fixed64OfNumber(this.count);
    }
    if (!Number.isNaN(this.sum)) {
      writer.byte(DISTRIBUTION_SUM_TAG);
      writer.double(this.sum);
    }
    for (const [i, quantile] of this.bounds.entries()) {
      writer.byte(SUMMARY_QUANTILES_TAG);
      writer.varint(QUANTILE_SIZE);
      writer.byte(QUANTILE_TAG);
      writer.double(quantile);
      writer.byte(QUANTILE_VALUE_TAG);
      writer.double(this.values[i]!);
    }
  }
}

/** A count is a whole number; NaN is not one. */
function isCount(value: number): boolean {
  return value >= 0 && Number.isInteger(value) && value < 2 ** 64;
}

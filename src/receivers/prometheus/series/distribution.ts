import type { WireWriter } from "#otlp/bytes";

/**
 * A histogram or summary as it comes together, line by line. Its bounds stay from scrape to scrape, so that the lines of an
 * unchanged one only put numbers into their places.
 */
export class ScrapedDistribution {
  /** The scrape that its numbers are of. */
  scrape = -1;
  sum = Number.NaN;
  count = Number.NaN;
  exemplars: Uint8Array[] | undefined;
  /** Upper bounds of buckets, or quantiles, in order; values are NaN where this scrape had none. */
  private bounds: number[] = [];
  private values: number[] = [];
  private isThere: boolean[] = [];
  private cursor = 0;

  begin(scrape: number): void {
    this.scrape = scrape;
    this.sum = this.count = Number.NaN;
    this.exemplars = undefined;
    this.cursor = 0;
    this.isThere.fill(false);
  }

  /** False when this scrape has said it before. */
  set(bound: number, value: number): boolean {
    const { bounds } = this;
    let at = this.cursor;
    if (bounds[at] !== bound) {
      at = bounds.indexOf(bound);
      if (at < 0) at = this.insert(bound);
    }
    this.cursor = at + 1;
    if (this.isThere[at]) return false;
    this.isThere[at] = true;
    this.values[at] = value;
    return true;
  }

  private insert(bound: number): number {
    let at = this.bounds.findIndex((each) => each > bound);
    if (at < 0) at = this.bounds.length;
    this.bounds.splice(at, 0, bound);
    this.values.splice(at, 0, 0);
    this.isThere.splice(at, 0, false);
    return at;
  }

  /** Leaves out bounds that the scrape did not have. */
  private settle(): void {
    if (!this.isThere.includes(false)) return;
    const keep = (_: unknown, i: number) => this.isThere[i]!;
    this.bounds = this.bounds.filter(keep);
    this.values = this.values.filter(keep);
    this.isThere = this.bounds.map(() => true);
  }

  /** Why it is no histogram; undefined when it is one. Takes the count from the last bucket where nothing else says it. */
  histogramProblem(): string | undefined {
    this.settle();
    const { bounds, values } = this;
    const hasLast = bounds.length > 0 && bounds[bounds.length - 1] === Number.POSITIVE_INFINITY;
    if (Number.isNaN(this.count) && hasLast) this.count = values[values.length - 1]!;
    if (!isCount(this.count)) return "it has no count";
    let before = 0;
    for (const value of values) {
      if (!isCount(value) || value < before) return "the counts of its buckets do not go up";
      before = value;
    }
    // A target that counts while it is asked may say a count that its buckets have already left behind.
    this.count = Math.max(this.count, before);
    return undefined;
  }

  /** Count, sum, buckets and bounds of a HistogramDataPoint. Call `histogramProblem` first. */
  writeHistogram(writer: WireWriter): void {
    const { bounds, values, count, sum } = this;
    writer.byte(33);
    writer.fixed64OfNumber(count);
    if (!Number.isNaN(sum)) {
      writer.byte(41);
      writer.double(sum);
    }
    const hasLast = bounds[bounds.length - 1] === Number.POSITIVE_INFINITY;
    const finite = hasLast ? bounds.length - 1 : bounds.length;
    if (bounds.length > 0) {
      writer.byte(50);
      writer.varint((finite + 1) * 8);
      let before = 0;
      for (let i = 0; i < finite; i++) {
        writer.fixed64OfNumber(values[i]! - before);
        before = values[i]!;
      }
      writer.fixed64OfNumber(count - before);
    }
    if (finite > 0) {
      writer.byte(58);
      writer.varint(finite * 8);
      for (let i = 0; i < finite; i++) writer.double(bounds[i]!);
    }
    for (const exemplar of this.exemplars ?? []) {
      writer.byte(66);
      writer.lengthDelimited(exemplar);
    }
  }

  /** Count, sum and quantiles of a SummaryDataPoint. */
  writeSummary(writer: WireWriter): void {
    this.settle();
    if (isCount(this.count)) {
      writer.byte(33);
      writer.fixed64OfNumber(this.count);
    }
    if (!Number.isNaN(this.sum)) {
      writer.byte(41);
      writer.double(this.sum);
    }
    for (const [i, quantile] of this.bounds.entries()) {
      writer.byte(50);
      writer.varint(18);
      writer.byte(9);
      writer.double(quantile);
      writer.byte(17);
      writer.double(this.values[i]!);
    }
  }
}

/** NaN is none, and neither is half a measurement. */
function isCount(value: number): boolean {
  return value >= 0 && Number.isInteger(value) && value < 2 ** 64;
}

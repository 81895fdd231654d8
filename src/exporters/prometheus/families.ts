import type { PointReader } from "#metrics";
import type { FamilyType, MetricOwner, ResourceOwner } from "./owners.js";

/** All series of one name. */
export class ExposedFamily {
  readonly name: string;
  readonly type: FamilyType;
  readonly help: string;
  /** The series by the text of their labels. */
  readonly series = new Map<string, ExposedSeries>();

  constructor(name: string, type: FamilyType, help: string) {
    this.name = name;
    this.type = type;
    this.help = help;
  }
}

const EMPTY: readonly number[] = [];

/** The shown values of a series. */
export class ExposedSeries {
  readonly family: ExposedFamily;
  /** The labels as they stand between the braces. */
  readonly labels: string;
  readonly resource: ResourceOwner;
  /** Number of keys that lead to this series. */
  keys = 0;
  isGone = false;
  seenAt = 0;
  timeMs = 0;
  /** The value of a gauge or counter. */
  value = 0;
  /** The count of a histogram or summary. */
  count = 0;
  sum = 0;
  hasSum = false;
  /** For a histogram, the bounds and cumulative counts; for a summary, the quantiles and their values. */
  bounds: readonly number[] = EMPTY;
  counts: number[] | readonly number[] = EMPTY;
  /** Copies of OTLP's Exemplar messages. */
  exemplars: readonly Uint8Array[] | undefined;

  constructor(family: ExposedFamily, labels: string, resource: ResourceOwner) {
    this.family = family;
    this.labels = labels;
    this.resource = resource;
  }

  /** Updates the series from a point. Returns false if the shown value is newer. */
  update(point: PointReader, { isDelta }: MetricOwner, b: Uint8Array, keepExemplars: boolean): boolean {
    const isFirst = this.timeMs === 0;
    if (!isFirst && (isDelta ? point.timeMs <= this.timeMs : point.timeMs < this.timeMs)) return false;
    const { type } = this.family;
    const isAdded = isDelta && !isFirst;
    if (type === "summary") this.setSummary(point);
    else if (type === "histogram") this.setHistogram(point, isAdded);
    else this.value = isAdded ? this.value + point.value : point.value;
    this.timeMs = point.timeMs;
    if (keepExemplars && point.exemplarStarts.length > 0) this.exemplars = copyExemplars(point, b);
    return true;
  }

  private setHistogram(point: PointReader, isAdded: boolean): void {
    const isSame = equal(this.bounds, point.bounds);
    if (!isSame) this.bounds = [...point.bounds];
    if (isAdded && isSame && this.counts.length === point.counts.length) {
      this.counts = this.counts.map((count, i) => count + point.counts[i]!);
    } else this.counts = [...point.counts];
    const addsUp = isAdded && isSame;
    this.count = addsUp ? this.count + point.count : point.count;
    this.sum = addsUp ? this.sum + point.sum : point.sum;
    this.hasSum = point.hasSum;
  }

  private setSummary(point: PointReader): void {
    this.bounds = [...point.quantiles];
    this.counts = [...point.quantileValues];
    this.count = point.count;
    this.sum = point.sum;
    this.hasSum = true;
  }
}

function equal(a: readonly number[], b: readonly number[]): boolean {
  return a.length === b.length && a.every((value, i) => value === b[i]);
}

function copyExemplars({ exemplarStarts, exemplarEnds }: PointReader, b: Uint8Array): Uint8Array[] {
  return exemplarStarts.map((start, i) => new Uint8Array(b.subarray(start, exemplarEnds[i]!)));
}

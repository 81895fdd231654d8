import type { PointReader } from "#metrics";
import type { FamilyType, MetricOwner, ResourceOwner } from "./owners.js";

/** All series of a name. */
export class ExposedFamily {
  readonly name: string;
  readonly type: FamilyType;
  readonly help: string;
  /** By the text of their labels. */
  readonly series = new Map<string, ExposedSeries>();

  constructor(name: string, type: FamilyType, help: string) {
    this.name = name;
    this.type = type;
    this.help = help;
  }
}

const EMPTY: readonly number[] = [];

/** What is shown of a series. */
export class ExposedSeries {
  readonly family: ExposedFamily;
  /** As they stand between the braces. */
  readonly labels: string;
  readonly resource: ResourceOwner;
  /** How many keys lead to it. */
  keys = 0;
  isGone = false;
  seenAt = 0;
  timeMs = 0;
  /** Of gauges and counters. */
  value = 0;
  /** Of the others. */
  count = 0;
  sum = 0;
  hasSum = false;
  /** Bounds and the counts up to each of a histogram; quantiles and their values of a summary. */
  bounds: readonly number[] = EMPTY;
  counts: number[] | readonly number[] = EMPTY;
  /** Copies of OTLP's Exemplar messages. */
  exemplars: readonly Uint8Array[] | undefined;

  constructor(family: ExposedFamily, labels: string, resource: ResourceOwner) {
    this.family = family;
    this.labels = labels;
    this.resource = resource;
  }

  /** Takes a point; false when what is shown is newer. */
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

import { nextOwnerId, OwnerTable, PointReader, SeriesTable } from "#metrics";
import { decodeText, double, fieldTag, findField, message, stepOver, valueAt, varint } from "#otlp/bytes";
import { type PlainAttributes, plainAttributes } from "#otlp/json";
import {
  EXPONENTIAL_HISTOGRAM_TAG,
  HISTOGRAM_TAG,
  METRIC_DESCRIPTION_TAG,
  METRIC_NAME_TAG,
  METRIC_UNIT_TAG,
  MONOTONIC_TAG,
  TEMPORALITY_TAG,
} from "#otlp/metric-tags";
import { RESOURCE_ATTRIBUTES_TAG, SCOPE_NAME_TAG, SCOPE_VERSION_TAG } from "#otlp/tags";
import { type MetricData, type MetricVisitor, walkMetrics } from "#otlp/views";
import type { SkippedPoints, SkipReason } from "./vendor-exporter.js";

interface VendorResource {
  readonly id: number;
  readonly attributes: PlainAttributes;
}

interface VendorScope {
  readonly id: number;
  readonly name: string;
  readonly version: string;
}

/** The facts that all points of a metric share. */
export interface VendorMetric {
  readonly id: number;
  readonly resource: PlainAttributes;
  readonly scopeName: string;
  readonly scopeVersion: string;
  readonly name: string;
  readonly unit: string;
  readonly description: string;
  /** The tag of the metric's data, which tells its kind. */
  readonly dataTag: number;
  readonly isMonotonic: boolean;
  readonly isDelta: boolean;
}

interface SeriesVisitor<Series extends object> {
  /** Makes what is kept of a series, such as its tags as JSON. */
  create(metric: VendorMetric, attributes: PlainAttributes): Series;
  /**
   * Called for each point, which `point` has read, with its place in the batch and in its bytes. Returns why nothing of
   * the point is sent, if that is so.
   */
  visit(
    series: Series,
    metric: VendorMetric,
    point: PointReader,
    place: number,
    b: Uint8Array,
    start: number,
    end: number,
  ): SkipReason | undefined;
}

const MAX_SERIES = 200_000;

/** Walks over data points, and remembers what a vendor's format needs of each series. */
export class SeriesWalk<Series extends object> implements MetricVisitor {
  private readonly visitor: SeriesVisitor<Series>;
  private readonly resources = new OwnerTable<VendorResource>();
  private readonly scopes = new OwnerTable<VendorScope>();
  private readonly metrics = new OwnerTable<VendorMetric>();
  private readonly table: SeriesTable<Series>;
  private readonly reader = new PointReader();
  private currentResource!: VendorResource;
  private currentScope: VendorScope = { id: 0, name: "", version: "" };
  private currentMetric!: VendorMetric;
  private place = 0;
  private now = 0;
  private readonly skipped = new Map<SkipReason, number>();

  constructor(visitor: SeriesVisitor<Series>, forgetMs: number) {
    this.visitor = visitor;
    this.table = new SeriesTable<Series>({ maxSeries: MAX_SERIES, expireAfterMs: forgetMs });
  }

  /** Returns how many points the visitor skipped, by reason. */
  walk(bytes: Uint8Array, now: number): SkippedPoints[] {
    this.now = now;
    this.place = 0;
    this.skipped.clear();
    this.table.sweep(now, SWEEP_KEYS);
    walkMetrics(bytes, this);
    return [...this.skipped].map(([reason, skipped]) => ({ reason, skipped }));
  }

  resource(b: Uint8Array, start: number, end: number): void {
    this.currentResource =
      this.resources.find(0, b, start, end) ??
      this.resources.add(0, b, start, end, {
        id: nextOwnerId(),
        attributes: plainAttributes(b, start, end, RESOURCE_ATTRIBUTES_TAG),
      });
  }

  scope(b: Uint8Array, start: number, end: number): void {
    const { id } = this.currentResource;
    this.currentScope =
      this.scopes.find(id, b, start, end) ??
      this.scopes.add(id, b, start, end, {
        id: nextOwnerId(),
        name: decodeText(b, ...message(b, start, end, SCOPE_NAME_TAG)),
        version: decodeText(b, ...message(b, start, end, SCOPE_VERSION_TAG)),
      });
  }

  metric(b: Uint8Array, start: number, end: number, data: MetricData): void {
    let temporality = 0;
    let isMonotonic = false;
    for (let p = data.start; p < data.end; ) {
      p = stepOver(b, p);
      if (fieldTag === TEMPORALITY_TAG) temporality = varint(b, valueAt);
      else if (fieldTag === MONOTONIC_TAG) isMonotonic = varint(b, valueAt) !== 0;
    }
    // Fields after the data matter only if they include a name, which does not occur in practice.
    const isPlain = data.end === end;
    const parent = ((this.currentScope.id * 128 + data.tag) * 4 + (temporality & 3)) * 2 + (isMonotonic ? 1 : 0);
    const known = isPlain ? this.metrics.find(parent, b, start, data.at) : undefined;
    this.currentMetric = known ?? this.readMetric(b, start, end, data.tag, temporality === DELTA, isMonotonic);
    if (known === undefined && isPlain) this.metrics.add(parent, b, start, data.at, this.currentMetric);
  }

  point(b: Uint8Array, start: number, end: number): void {
    const { currentMetric: metric, reader } = this;
    reader.readWithoutKey(b, start, end, metric.dataTag);
    const place = this.place++;
    if (reader.hasNoValue) return;
    const reason = this.visitor.visit(this.series(metric), metric, reader, place, b, start, end);
    if (reason !== undefined) this.skipped.set(reason, (this.skipped.get(reason) ?? 0) + 1);
  }

  private readMetric(
    b: Uint8Array,
    start: number,
    end: number,
    dataTag: number,
    isDelta: boolean,
    isMonotonic: boolean,
  ): VendorMetric {
    const text = (tag: number) => decodeText(b, ...message(b, start, end, tag));
    return {
      id: nextOwnerId(),
      resource: this.currentResource.attributes,
      scopeName: this.currentScope.name,
      scopeVersion: this.currentScope.version,
      name: text(METRIC_NAME_TAG),
      unit: text(METRIC_UNIT_TAG),
      description: text(METRIC_DESCRIPTION_TAG),
      dataTag,
      isMonotonic,
      isDelta,
    };
  }

  private series(metric: VendorMetric): Series {
    const { table, now } = this;
    const { attributes } = this.reader;
    const known = attributes.run()
      ? table.findNext(metric.id, attributes.bytes, attributes.start, attributes.end, now)
      : undefined;
    if (known !== undefined) return known;
    attributes.finish();
    const { bytes, start, end } = attributes;
    const found = table.find(metric.id, bytes, start, end, now);
    if (found !== undefined) return found;
    const plain = start === end ? {} : plainAttributes(bytes, start, end, varint(bytes, start));
    const series = this.visitor.create(metric, plain);
    table.add(metric.id, bytes, start, end, now, series);
    return series;
  }
}

const DELTA = 1;
/** How many keys a batch looks at for series that have expired. */
const SWEEP_KEYS = 1000;

/** Tags of HistogramDataPoint.min and max, and of those of exponential histograms. */
const EXTREMES: Readonly<Record<number, readonly [min: number, max: number]>> = {
  [HISTOGRAM_TAG]: [89, 97],
  [EXPONENTIAL_HISTOGRAM_TAG]: [97, 105],
};

/** Returns the least and the greatest value of a histogram point, which are optional. */
export function extremesOf(
  dataTag: number,
  b: Uint8Array,
  start: number,
  end: number,
): [min: number | undefined, max: number | undefined] {
  const read = (tag: number) => {
    const at = findField(b, start, end, tag);
    return at < 0 ? undefined : double(b, at);
  };
  const [min, max] = EXTREMES[dataTag]!;
  return [read(min), read(max)];
}

/**
 * The last points of a cumulative series, for formats that have only increases.
 *
 * The same point gives the same increase when its request is repeated. A point that is older than the last one gives
 * none: the increase of the newer point contains it.
 */
export class DeltaMemory {
  private readonly times: number[] = [];
  private readonly increases: (readonly number[] | undefined)[] = [];
  private last: readonly number[] = [];

  /**
   * Returns the increase of each value since the point before. The first value decides whether the series was reset: then
   * all values count from zero. Returns undefined for the first point unless it `isNew`, that is, counts from zero.
   */
  increase(timeMs: number, values: readonly number[], isNew: boolean): readonly number[] | undefined {
    const { times, increases, last } = this;
    const known = times.lastIndexOf(timeMs);
    if (known >= 0) return increases[known];
    if (times.length > 0 && timeMs < times.at(-1)!) return undefined;
    const isFirst = times.length === 0;
    const isReset = isFirst || values[0]! < last[0]! || values.length !== last.length;
    const increase = isFirst && !isNew ? undefined : values.map((value, i) => (isReset ? value : value - last[i]!));
    times.push(timeMs);
    increases.push(increase);
    if (times.length > MAX_POINTS) {
      times.shift();
      increases.shift();
    }
    this.last = [...values];
    return increase;
  }
}

/** How many points of a series can be sent again with the same increase. */
const MAX_POINTS = 8;

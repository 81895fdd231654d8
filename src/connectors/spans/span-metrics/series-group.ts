import { SeriesTable } from "#metrics";
import type { WireWriter } from "#otlp/bytes";
import type { Durations, DurationsKind } from "../durations.js";
import type { Exemplar, MetricHead, MetricWriter, Nanos, PointAttributes } from "../metric-writer.js";
import type { ResourceState } from "./resources.js";

/** Spans of one resource with the same dimensions. */
export interface SpanSeries {
  readonly attributes: PointAttributes;
  readonly durations: Durations | undefined;
  /** Start of the count. */
  start: Nanos;
  count: number;
  exemplars: Exemplar[];
  /** True if nothing was counted between the last two flushes. */
  isIdle: boolean;
  /** True until a cumulative count has begun with a point of 0. */
  isNew: boolean;
  isForgotten: boolean;
}

/** The metrics of a group. */
interface GroupMetrics {
  /** The count of its spans or events. */
  readonly sum: MetricHead | undefined;
  readonly histogram: MetricHead | undefined;
  readonly durations: DurationsKind | undefined;
}

/** Series with the same dimensions: one group for all metrics, or one each if they have dimensions of their own. */
export class SeriesGroup {
  readonly index: number;
  /** Indexes of its dimensions in the list of all dimensions. */
  readonly dimensions: readonly number[];
  readonly table: SeriesTable<SpanSeries>;
  private readonly metrics: GroupMetrics;

  constructor(index: number, dimensions: readonly number[], metrics: GroupMetrics, expireAfterMs: number) {
    this.index = index;
    this.dimensions = dimensions;
    this.metrics = metrics;
    // The caller enforces the limit, because expired series may be removed only after they have been passed on.
    this.table = new SeriesTable({
      maxSeries: Number.POSITIVE_INFINITY,
      expireAfterMs,
      release: (series) => {
        series.isForgotten = true;
      },
    });
  }

  createSeries(attributes: PointAttributes, start: Nanos): SpanSeries {
    const durations = this.metrics.durations?.create();
    const isNew = this.metrics.sum?.isDelta === false;
    return { attributes, durations, start, count: 0, exemplars: [], isIdle: false, isNew, isForgotten: false };
  }

  find(owner: number, key: WireWriter, now: number): SpanSeries | undefined {
    return this.table.find(owner, key.bytes, 0, key.length, now);
  }

  add(owner: number, key: WireWriter, now: number, series: SpanSeries, resource: ResourceState): SpanSeries {
    this.table.add(owner, key.bytes, 0, key.length, now, series);
    resource.series[this.index]!.push(series);
    return series;
  }

  /**
   * Writes what new counts begin with: a point of 0 when the series began, and apart from it the count. Returns false if
   * none of the series is new. Call it before `write`, which takes exemplars out.
   */
  writeStarts(
    zeros: MetricWriter,
    counts: MetricWriter,
    body: Uint8Array,
    all: readonly SpanSeries[],
    time: Nanos,
  ): boolean {
    const { sum } = this.metrics;
    const series = all.filter(({ isNew }) => isNew);
    if (sum === undefined || series.length === 0) return false;
    for (const out of [zeros, counts]) {
      out.beginResource(body);
      out.beginSum(sum);
      for (const { start, count, attributes, exemplars } of series) {
        if (out === zeros) out.sumPoint(start, start, 0, attributes, exemplars);
        else out.sumPoint(start, time, count, attributes, []);
      }
      out.endMetric();
      out.endResource();
    }
    return true;
  }

  /** Writes the points of these series, except for counts that are new. Deltas start from zero afterwards. */
  write(out: MetricWriter, body: Uint8Array, series: readonly SpanSeries[], time: Nanos): void {
    const { sum, histogram, durations: kind } = this.metrics;
    const counted = series.some(({ isNew }) => isNew) ? series.filter(({ isNew }) => !isNew) : series;
    const hasSum = sum !== undefined && counted.length > 0;
    const hasHistogram = histogram !== undefined && kind !== undefined;
    if (hasSum || hasHistogram) out.beginResource(body);
    if (hasSum) {
      out.beginSum(sum);
      for (const one of counted) out.sumPoint(one.start, time, one.count, one.attributes, one.exemplars);
      out.endMetric();
    }
    if (hasHistogram) {
      out.beginHistogram(histogram, kind);
      for (const { start, durations, attributes, exemplars } of series) {
        out.histogramPoint(start, time, durations!, kind, attributes, exemplars);
      }
      out.endMetric();
    }
    if (hasSum || hasHistogram) out.endResource();
    const isDelta = (sum ?? histogram)?.isDelta === true;
    for (const one of series) {
      one.isNew = false;
      if (one.exemplars.length > 0) one.exemplars = [];
      if (!isDelta) continue;
      one.count = 0;
      one.durations?.reset();
      one.start = time;
    }
  }
}

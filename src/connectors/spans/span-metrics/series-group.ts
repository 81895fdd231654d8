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
  isForgotten: boolean;
}

/** The metrics of a group. */
export interface GroupMetrics {
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
    return { attributes, durations, start, count: 0, exemplars: [], isIdle: false, isForgotten: false };
  }

  find(owner: number, key: WireWriter, now: number): SpanSeries | undefined {
    return this.table.find(owner, key.bytes, 0, key.length, now);
  }

  add(owner: number, key: WireWriter, now: number, series: SpanSeries, resource: ResourceState): SpanSeries {
    this.table.add(owner, key.bytes, 0, key.length, now, series);
    resource.series[this.index]!.push(series);
    return series;
  }

  /** Writes the points of these series. Deltas start from zero afterwards. */
  write(out: MetricWriter, series: readonly SpanSeries[], time: Nanos): void {
    const { sum, histogram, durations: kind } = this.metrics;
    if (sum !== undefined) {
      out.beginSum(sum);
      for (const one of series) out.sumPoint(one.start, time, one.count, one.attributes, one.exemplars);
      out.endMetric();
    }
    if (histogram !== undefined && kind !== undefined) {
      out.beginHistogram(histogram, kind);
      for (const { start, durations, attributes, exemplars } of series) {
        out.histogramPoint(start, time, durations!, kind, attributes, exemplars);
      }
      out.endMetric();
    }
    const isDelta = (sum ?? histogram)?.isDelta === true;
    for (const one of series) {
      if (one.exemplars.length > 0) one.exemplars = [];
      if (!isDelta) continue;
      one.count = 0;
      one.durations?.reset();
      one.start = time;
    }
  }
}

import type { PointReader } from "#metrics";
import type { PlainAttributes } from "#otlp/json";
import { GAUGE_TAG, SUM_TAG, SUMMARY_TAG } from "#otlp/metric-tags";
import type { Batch } from "../../../plugin.js";
import { DeltaMemory, SeriesWalk, type VendorMetric } from "../series-walk.js";
import type { Destination, VendorPart } from "../vendor-exporter.js";
import type { DatadogConfig } from "./config.js";
import { hostOf, tagOf, tagsOf } from "./tags.js";

/** A known series: how its items begin and end, by the suffix of their names, and its last points. */
interface KeptSeries {
  readonly heads: Map<string, string>;
  readonly tags: readonly string[];
  readonly host: string;
  readonly memory: DeltaMemory;
}

/** The API's types of series. */
const COUNT = 1;
const GAUGE = 3;

/** The API takes 5,242,880 bytes in a request, and 512,000 compressed. Series compress to less than half. */
const MAX_BODY_LENGTH = 1024 * 1024;
const MAX_ITEMS = 10_000;

/** Makes series of Datadog's metrics API, version 2, of data points. */
export class DatadogSeries {
  private readonly config: DatadogConfig;
  private readonly startedAt: number;
  private readonly walk: SeriesWalk<KeptSeries>;
  private pages: SeriesPage[] = [];
  /** Whether anything of the current point is sent, and whether its value was a number. */
  private isSent = false;
  private isFinite = false;

  constructor(config: DatadogConfig, startedAt: number) {
    this.config = config;
    this.startedAt = startedAt;
    this.walk = new SeriesWalk<KeptSeries>(
      {
        create: (metric, attributes) => this.create(metric, attributes),
        visit: (series, metric, point, place) => {
          this.isSent = this.isFinite = false;
          this.visit(series, metric, point, place);
          if (this.isSent) return undefined;
          return this.isFinite ? "no_increase" : "not_finite";
        },
      },
      config.metrics.delta_ttl * 1000,
    );
  }

  requests(batch: Batch, now: number, to: Destination): VendorPart[] {
    this.pages = [new SeriesPage()];
    const skipped = this.walk.walk(batch.bytes, now);
    const requests = this.pages
      .filter(({ text }) => text !== "")
      .map(({ records, itemRecords, text }) => ({
        records: [...records],
        itemRecords,
        to,
        encode: () => Buffer.from(`{"series":[${text}]}`),
      }));
    return [...requests, ...skipped];
  }

  private create(metric: VendorMetric, attributes: PlainAttributes): KeptSeries {
    const { metrics, hostname } = this.config;
    const tags = tagsOf(metric.resource, metrics.resource_attributes_as_tags);
    if (metrics.instrumentation_scope_metadata_as_tags && metric.scopeName !== "")
      tags.push(tagOf("instrumentation_scope", metric.scopeName));
    for (const [key, value] of Object.entries(attributes)) tags.push(tagOf(key, value));
    return { heads: new Map(), tags, host: hostOf(metric.resource, hostname), memory: new DeltaMemory() };
  }

  private visit(series: KeptSeries, metric: VendorMetric, point: PointReader, place: number): void {
    if (metric.dataTag === GAUGE_TAG) return this.add(series, metric, "", GAUGE, point.value, point, place);
    if (metric.dataTag === SUM_TAG) return this.addSum(series, metric, point, place);
    if (metric.dataTag === SUMMARY_TAG) return this.addSummary(series, metric, point, place);
    this.addHistogram(series, metric, point, place);
  }

  private addSum(series: KeptSeries, metric: VendorMetric, point: PointReader, place: number): void {
    const { cumulative_monotonic_mode: mode } = this.config.metrics.sums;
    if (metric.isDelta) return this.add(series, metric, "", COUNT, point.value, point, place);
    if (!metric.isMonotonic || mode === "raw_value")
      return this.add(series, metric, "", GAUGE, point.value, point, place);
    const increase = this.increase(series, metric, point, [point.value]);
    if (increase !== undefined) this.add(series, metric, "", COUNT, increase[0]!, point, place);
  }

  private addHistogram(series: KeptSeries, metric: VendorMetric, point: PointReader, place: number): void {
    const {
      mode,
      send_aggregation_metrics: isAggregated,
      send_count_sum_metrics: isCounted,
    } = this.config.metrics.histograms;
    const increase = this.increase(series, metric, point, [point.count, point.sum, ...point.counts]);
    if (increase === undefined) return;
    if (mode !== "counters" || isAggregated || isCounted) {
      this.add(series, metric, ".count", COUNT, increase[0]!, point, place);
      if (point.hasSum) this.add(series, metric, ".sum", COUNT, increase[1]!, point, place);
    }
    if (mode !== "counters") return;
    for (let i = 0; i < point.counts.length && point.bounds.length > 0; i++) {
      const bounds = [`lower_bound:${point.bounds[i - 1] ?? "-inf"}`, `upper_bound:${point.bounds[i] ?? "inf"}`];
      this.add(series, metric, ".bucket", COUNT, increase[i + 2]!, point, place, bounds);
    }
  }

  private addSummary(series: KeptSeries, metric: VendorMetric, point: PointReader, place: number): void {
    const increase = this.increase(series, metric, point, [point.count, point.sum]);
    if (increase !== undefined) {
      this.add(series, metric, ".count", COUNT, increase[0]!, point, place);
      this.add(series, metric, ".sum", COUNT, increase[1]!, point, place);
    }
    if (this.config.metrics.summaries.mode !== "gauges") return;
    for (const [i, quantile] of point.quantiles.entries())
      this.add(series, metric, ".quantile", GAUGE, point.quantileValues[i]!, point, place, [`quantile:${quantile}`]);
  }

  /** A summary is always cumulative, though it does not say so. */
  private increase(series: KeptSeries, metric: VendorMetric, point: PointReader, values: readonly number[]) {
    this.isFinite = Number.isFinite(values[0]);
    if (metric.isDelta) return values;
    if (!this.isFinite) return undefined; // it would spoil the next increase
    const { initial_cumulative_monotonic_value: initial } = this.config.metrics.sums;
    const isNew = initial === "keep" || (initial === "auto" && point.startMs >= this.startedAt);
    return series.memory.increase(point.timeMs, values, isNew);
  }

  private add(
    series: KeptSeries,
    metric: VendorMetric,
    suffix: string,
    type: number,
    value: number,
    { timeMs }: PointReader,
    place: number,
    tags: readonly string[] = [],
  ): void {
    if (!Number.isFinite(value)) return;
    this.isSent = true;
    const key = tags.length === 0 ? suffix : `${suffix} ${tags.join()}`;
    let head = series.heads.get(key);
    if (head === undefined) {
      const resources = series.host === "" ? undefined : [{ name: series.host, type: "host" }];
      const item = { metric: metric.name + suffix, type, tags: [...series.tags, ...tags], resources };
      head = `${JSON.stringify(item).slice(0, -1)},"points":[{"timestamp":`;
      series.heads.set(key, head);
    }
    let page = this.pages.at(-1)!;
    if (page.text.length > MAX_BODY_LENGTH || page.itemRecords.length >= MAX_ITEMS)
      this.pages.push((page = new SeriesPage()));
    page.add(place, `${head}${Math.floor(timeMs / 1000)},"value":${value}}]}`);
  }
}

/** The items of one request. */
class SeriesPage {
  readonly records = new Set<number>();
  readonly itemRecords: number[] = [];
  text = "";

  add(place: number, item: string): void {
    this.text += this.text === "" ? item : `,${item}`;
    this.records.add(place);
    this.itemRecords.push(place);
  }
}

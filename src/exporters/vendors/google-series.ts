import type { PointReader } from "#metrics";
import { findField } from "#otlp/bytes";
import { type PlainAttributes, plainValueText } from "#otlp/json";
import { EXPONENTIAL_HISTOGRAM_TAG, GAUGE_TAG, HISTOGRAM_TAG, NUMBER_INT_TAG, SUM_TAG } from "#otlp/metric-tags";
import { type Batch, Refusal } from "../../plugin.js";
import type { MonitoredResource } from "./google-resource.js";
import { SeriesWalk, type VendorMetric } from "./series-walk.js";
import type { Destination, UnsendableRecords, VendorRequest } from "./vendor-exporter.js";

/** The differences between Cloud Monitoring's own metrics and those of the managed Prometheus. */
export interface GoogleSeriesSettings {
  readonly resourceOf: (resource: PlainAttributes) => MonitoredResource;
  /** Returns the type of a metric, such as workload.googleapis.com/name. `suffix` is that of a part of a summary. */
  readonly typeOf: (metric: VendorMetric, suffix: string) => string;
  readonly labelsOf: (metric: VendorMetric, attributes: PlainAttributes) => Readonly<Record<string, string>>;
}

/** What is kept of a series: how its items begin, by suffix and kind, and where its values count from. */
interface GoogleSeries {
  readonly labels: Readonly<Record<string, string>>;
  readonly resource: MonitoredResource;
  readonly heads: Map<string, string>;
  start?: { readonly timeMs: number; readonly values: readonly number[] };
}

/** The API takes 200 series in a request, each of them once. */
const MAX_SERIES = 200;
const FORGET_MS = 3_600_000;

/** Makes requests of timeSeries.create of data points. */
export class GoogleMetrics {
  private readonly settings: GoogleSeriesSettings;
  private readonly walk: SeriesWalk<GoogleSeries>;
  private pages: TimeSeriesPage[] = [];
  private deltas: number[] = [];

  constructor(settings: GoogleSeriesSettings) {
    this.settings = settings;
    this.walk = new SeriesWalk<GoogleSeries>(
      {
        create: (metric, attributes) => ({
          labels: settings.labelsOf(metric, attributes),
          resource: settings.resourceOf(metric.resource),
          heads: new Map(),
        }),
        visit: (...args) => this.visit(...args),
      },
      FORGET_MS,
    );
  }

  requests(batch: Batch, now: number, to: Destination): (VendorRequest | UnsendableRecords)[] {
    this.pages = [new TimeSeriesPage()];
    this.deltas = [];
    this.walk.walk(batch.bytes, now);
    const requests: (VendorRequest | UnsendableRecords)[] = this.pages
      .filter(({ items }) => items.length > 0)
      .map(({ items, records }) => ({
        records: [...new Set(records)],
        to,
        encode: () => Buffer.from(`{"timeSeries":[${items.join(",")}]}`),
      }));
    if (this.deltas.length > 0) requests.push({ records: this.deltas, refusal: deltaRefusal() });
    return requests;
  }

  private visit(
    series: GoogleSeries,
    metric: VendorMetric,
    point: PointReader,
    record: number,
    b: Uint8Array,
    start: number,
    end: number,
  ): void {
    const { dataTag } = metric;
    const isCounter = dataTag === SUM_TAG && metric.isMonotonic;
    const isDistribution = dataTag === HISTOGRAM_TAG || dataTag === EXPONENTIAL_HISTOGRAM_TAG;
    if (metric.isDelta && (dataTag === SUM_TAG || isDistribution)) {
      this.deltas.push(record);
      return;
    }
    if (dataTag === GAUGE_TAG || (dataTag === SUM_TAG && !isCounter))
      return this.number(series, metric, "", "GAUGE", point.value, isInteger(b, start, end), point, record);
    const values = isDistribution
      ? [point.count, point.sum, ...point.counts]
      : [isCounter ? point.value : point.count, point.sum];
    const counted = this.sinceStart(series, point, values);
    if (counted === undefined) return;
    if (isCounter)
      return this.number(
        series,
        metric,
        "",
        "CUMULATIVE",
        counted.values[0]!,
        isInteger(b, start, end),
        counted,
        record,
      );
    if (isDistribution) return this.distribution(series, metric, point, counted, record);
    this.number(series, metric, "_count", "CUMULATIVE", counted.values[0]!, true, counted, record);
    this.number(series, metric, "_sum", "CUMULATIVE", counted.values[1]!, false, counted, record);
    for (const [i, quantile] of point.quantiles.entries())
      this.number(series, metric, "", "GAUGE", point.quantileValues[i]!, false, point, record, {
        quantile: String(quantile),
      });
  }

  /**
   * A cumulative value has a start before its end. If a point has none, the first point of the series is the start, and
   * its values are subtracted from those that follow.
   */
  private sinceStart(
    series: GoogleSeries,
    { startMs, timeMs }: PointReader,
    values: readonly number[],
  ): CountedPoint | undefined {
    if (startMs > 0 && startMs < timeMs) return { startMs, timeMs, values };
    const { start } = series;
    if (start === undefined || values[0]! < start.values[0]! || values.length !== start.values.length) {
      series.start = { timeMs, values: [...values] };
      return undefined;
    }
    if (timeMs <= start.timeMs) return undefined;
    return { startMs: start.timeMs, timeMs, values: values.map((value, i) => value - start.values[i]!) };
  }

  private number(
    series: GoogleSeries,
    metric: VendorMetric,
    suffix: string,
    kind: "GAUGE" | "CUMULATIVE",
    value: number,
    isInt: boolean,
    times: { readonly startMs: number; readonly timeMs: number },
    record: number,
    more: Readonly<Record<string, string>> = {},
  ): void {
    if (!Number.isFinite(value)) return;
    const json = isInt ? `{"int64Value":"${Math.round(value)}"}` : `{"doubleValue":${value}}`;
    this.add(series, metric, suffix, kind, isInt ? "INT64" : "DOUBLE", json, times, record, more);
  }

  private distribution(
    series: GoogleSeries,
    metric: VendorMetric,
    point: PointReader,
    { values, ...times }: CountedPoint,
    record: number,
  ): void {
    const [count, sum] = [values[0]!, values[1]!];
    if (!Number.isFinite(sum)) return;
    const isExponential = metric.dataTag === EXPONENTIAL_HISTOGRAM_TAG;
    const { options, counts } = isExponential
      ? exponentialBuckets(point)
      : { options: `{"explicitBuckets":{"bounds":[${point.bounds.join()}]}}`, counts: values.slice(2) };
    const mean = count === 0 ? 0 : sum / count;
    const texts = counts.map((each) => `"${each}"`).join();
    const value = `{"distributionValue":{"count":"${count}","mean":${mean},"bucketOptions":${options},"bucketCounts":[${texts}]}}`;
    this.add(series, metric, "", "CUMULATIVE", "DISTRIBUTION", value, times, record, {});
  }

  private add(
    series: GoogleSeries,
    metric: VendorMetric,
    suffix: string,
    kind: "GAUGE" | "CUMULATIVE",
    valueType: string,
    value: string,
    { startMs, timeMs }: { readonly startMs: number; readonly timeMs: number },
    record: number,
    more: Readonly<Record<string, string>>,
  ): void {
    const key = `${suffix} ${valueType} ${Object.values(more).join()}`;
    let head = series.heads.get(key);
    if (head === undefined) {
      const item = {
        metric: { type: this.settings.typeOf(metric, suffix), labels: { ...series.labels, ...more } },
        resource: series.resource,
        metricKind: kind,
        valueType,
        unit: metric.unit || undefined,
      };
      head = `${JSON.stringify(item).slice(0, -1)},"points":[{"interval":{`;
      series.heads.set(key, head);
    }
    let page = this.pages.at(-1)!;
    if (page.items.length >= MAX_SERIES || page.heads.has(head)) this.pages.push((page = new TimeSeriesPage()));
    const from = kind === "CUMULATIVE" ? `"startTime":"${isoTime(startMs)}",` : "";
    page.heads.add(head);
    page.records.push(record);
    page.items.push(`${head}${from}"endTime":"${isoTime(timeMs)}"},"value":${value}}]}`);
  }
}

interface CountedPoint {
  readonly startMs: number;
  readonly timeMs: number;
  readonly values: readonly number[];
}

/** The items of one request. */
class TimeSeriesPage {
  readonly heads = new Set<string>();
  readonly items: string[] = [];
  readonly records: number[] = [];
}

function isInteger(b: Uint8Array, start: number, end: number): boolean {
  return findField(b, start, end, NUMBER_INT_TAG) >= 0;
}

/** Zeros and negative values are below the first bucket. */
function exponentialBuckets({ scale, positive, negative, zeroCount }: PointReader) {
  const growth = 2 ** (2 ** -scale);
  const below = zeroCount + negative.counts.reduce((sum, count) => sum + count, 0);
  const size = positive.counts.length;
  const options =
    size === 0
      ? '{"explicitBuckets":{"bounds":[0]}}'
      : `{"exponentialBuckets":{"numFiniteBuckets":${size},"growthFactor":${growth},"scale":${growth ** positive.offset}}}`;
  return { options, counts: [below, ...positive.counts, 0] };
}

function isoTime(ms: number): string {
  return new Date(Math.min(ms, MAX_TIME)).toISOString();
}

/** The end of the year 9999, beyond which the API has no times. */
const MAX_TIME = 253_402_300_799_999;

function deltaRefusal(): Refusal {
  return new Refusal(
    "permanent",
    "Cloud Monitoring takes no deltas: put the processor delta_to_cumulative in front of the exporter",
    { category: "schema" },
  );
}

/** Returns labels whose names have only letters, digits and underscores, as the API demands. */
export function googleLabels(attributes: PlainAttributes): Record<string, string> {
  return Object.fromEntries(
    Object.entries(attributes).map(([key, value]) => [
      key.replace(/[^A-Za-z0-9_]/g, "_").replace(/^(?=\d)/, "key_"),
      plainValueText(value),
    ]),
  );
}

const SERVICE_KEYS: readonly string[] = ["service.name", "service.namespace", "service.instance.id"];

/** Returns the resource attributes that are labels of their own. */
export function resourceLabels(
  resource: PlainAttributes,
  hasService: boolean,
  filters: readonly { readonly prefix: string }[] | null | undefined,
): Record<string, string> {
  const isLabel = (key: string) =>
    (hasService && SERVICE_KEYS.includes(key)) || (filters ?? []).some(({ prefix }) => key.startsWith(prefix));
  return googleLabels(Object.fromEntries(Object.entries(resource).filter(([key]) => isLabel(key))));
}

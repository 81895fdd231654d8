import type { PointReader } from "#metrics";
import { findField } from "#otlp/bytes";
import { type PlainAttributes, plainValueText } from "#otlp/json";
import {
  EXPONENTIAL_HISTOGRAM_TAG,
  GAUGE_TAG,
  HISTOGRAM_TAG,
  NUMBER_INT_TAG,
  SUM_TAG,
  SUMMARY_TAG,
} from "#otlp/metric-tags";
import { type Batch, Refusal } from "../../plugin.js";
import type { MonitoredResource } from "./google-resource.js";
import { SeriesWalk, type VendorMetric } from "./series-walk.js";
import type { Destination, SkipReason, VendorPart } from "./vendor-exporter.js";

/** The differences between Cloud Monitoring's own metrics and those of the managed Prometheus. */
interface GoogleSeriesSettings {
  readonly resourceOf: (resource: PlainAttributes) => MonitoredResource;
  /** Returns the type of a metric, such as workload.googleapis.com/name. `suffix` is that of a part of a summary. */
  readonly typeOf: (metric: VendorMetric, suffix: string) => string;
  readonly labelsOf: (metric: VendorMetric, attributes: PlainAttributes) => Readonly<Record<string, string>>;
}

/** A known series: how its items begin, by suffix and kind, and where its values count from. */
interface GoogleSeries {
  readonly labels: Readonly<Record<string, string>>;
  readonly resource: MonitoredResource;
  readonly heads: Map<string, string>;
  start?: SeriesStart;
}

/** The start time of a series that has none, and its last point. */
interface SeriesStart {
  readonly timeMs: number;
  readonly values: readonly number[];
  /** The meaning of the values, such as the scale of an exponential histogram. */
  readonly shape: string;
  last: { readonly timeMs: number; readonly value: number };
}

/** The API takes 200 series in a request, each of them once. */
const MAX_SERIES = 200;
const FORGET_MS = 3_600_000;

/** Makes requests of timeSeries.create of data points. */
export class GoogleMetrics {
  private readonly settings: GoogleSeriesSettings;
  private readonly walk: SeriesWalk<GoogleSeries>;
  private pages: TimeSeriesPage[] = [];
  private startless: number[] = [];

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

  requests(batch: Batch, now: number, to: Destination): VendorPart[] {
    this.pages = [new TimeSeriesPage()];
    this.startless = [];
    const skipped = this.walk.walk(batch.bytes, now);
    const parts: VendorPart[] = this.pages
      .filter(({ items }) => items.length > 0)
      .map(({ items, records }) => ({
        records: [...new Set(records)],
        itemRecords: records,
        to,
        encode: () => Buffer.from(`{"timeSeries":[${items.join(",")}]}`),
      }));
    if (this.startless.length > 0) parts.push({ records: this.startless, refusal: startlessRefusal() });
    return [...parts, ...skipped];
  }

  private visit(
    series: GoogleSeries,
    metric: VendorMetric,
    point: PointReader,
    record: number,
    b: Uint8Array,
    start: number,
    end: number,
  ): SkipReason | undefined {
    const { dataTag } = metric;
    const isCounter = dataTag === SUM_TAG && metric.isMonotonic;
    if (dataTag === GAUGE_TAG || (dataTag === SUM_TAG && !isCounter))
      return this.number(series, metric, "", "GAUGE", point.value, isInteger(b, start, end), point, record);
    const isDistribution = dataTag === HISTOGRAM_TAG || dataTag === EXPONENTIAL_HISTOGRAM_TAG;
    if (dataTag === HISTOGRAM_TAG && (!point.hasSum || point.bounds.length === 0)) return "no_buckets";
    const values = valuesOf(point, dataTag);
    if (!Number.isFinite(values[0]!) || (isDistribution && !Number.isFinite(values[1]!))) return "not_finite";
    const isDelta = metric.isDelta && dataTag !== SUMMARY_TAG;
    const counted = isDelta ? this.ofDelta(point, values, record) : sinceStart(series, point, values, dataTag);
    if (counted === undefined) return isDelta ? undefined : "no_increase";
    const isInt = isCounter && isInteger(b, start, end);
    if (isCounter) return this.number(series, metric, "", "CUMULATIVE", counted.values[0]!, isInt, counted, record);
    if (isDistribution) return this.distribution(series, metric, point, counted, record);
    this.number(series, metric, "_sum", "CUMULATIVE", counted.values[1]!, false, counted, record);
    this.number(series, metric, "_count", "CUMULATIVE", counted.values[0]!, false, counted, record);
    for (const [i, quantile] of point.quantiles.entries())
      this.number(series, metric, "", "GAUGE", point.quantileValues[i]!, false, point, record, {
        quantile: String(quantile),
      });
    return undefined;
  }

  /** A delta is a cumulative value that begins anew with each point, a millisecond after the point before. */
  private ofDelta({ startMs, timeMs }: PointReader, values: readonly number[], record: number) {
    if (startMs > 0 && startMs + 1 < timeMs) return { startMs: startMs + 1, timeMs, values };
    this.startless.push(record);
    return undefined;
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
  ): SkipReason | undefined {
    if (!Number.isFinite(value)) return "not_finite";
    const json = isInt ? `{"int64Value":"${Math.round(value)}"}` : `{"doubleValue":${value}}`;
    this.add(series, metric, suffix, kind, isInt ? "INT64" : "DOUBLE", json, times, record, more);
    return undefined;
  }

  private distribution(
    series: GoogleSeries,
    metric: VendorMetric,
    point: PointReader,
    { values, ...times }: CountedPoint,
    record: number,
  ): SkipReason | undefined {
    const [count, sum, ...counts] = values as [number, number, ...number[]];
    const isExponential = metric.dataTag === EXPONENTIAL_HISTOGRAM_TAG;
    const options = isExponential
      ? exponentialOptions(point)
      : `{"explicitBuckets":{"bounds":[${point.bounds.join()}]}}`;
    if (options === undefined) return "not_finite";
    const mean = count === 0 ? 0 : sum / count;
    const texts = counts.map((each) => `"${each}"`).join();
    const value = `{"distributionValue":{"count":"${count}","mean":${mean},"bucketOptions":${options},"bucketCounts":[${texts}]}}`;
    this.add(series, metric, "", "CUMULATIVE", "DISTRIBUTION", value, times, record, {});
    return undefined;
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
        description: metric.description || undefined,
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

/** Returns count, sum and the counts of buckets. Zeros and negative values are below the first exponential bucket. */
function valuesOf(
  { value, count, sum, counts, positive, negative, zeroCount }: PointReader,
  dataTag: number,
): number[] {
  if (dataTag === SUM_TAG) return [value, 0];
  if (dataTag === HISTOGRAM_TAG) return [count, sum, ...counts];
  if (dataTag !== EXPONENTIAL_HISTOGRAM_TAG) return [count, sum];
  const below = negative.counts.reduce((total, each) => total + each, zeroCount);
  return [count, sum, below, ...positive.counts, 0];
}

/**
 * A cumulative value has a start before its end. If a point has none, the first point of the series is the start, and
 * its values are subtracted from those that follow, until the series begins anew.
 */
function sinceStart(
  series: GoogleSeries,
  { startMs, timeMs, scale, positive }: PointReader,
  values: readonly number[],
  dataTag: number,
): CountedPoint | undefined {
  if (startMs > 0 && startMs < timeMs) return { startMs, timeMs, values };
  const shape = dataTag === EXPONENTIAL_HISTOGRAM_TAG ? `${scale} ${positive.offset}` : "";
  const { start } = series;
  if (start !== undefined && timeMs <= start.timeMs) return undefined;
  const isReset = start !== undefined && timeMs > start.last.timeMs && values[0]! < start.last.value;
  if (start === undefined || isReset || values.length !== start.values.length || shape !== start.shape) {
    series.start = { timeMs, values: [...values], shape, last: { timeMs, value: values[0]! } };
    return undefined;
  }
  if (timeMs > start.last.timeMs) start.last = { timeMs, value: values[0]! };
  return { startMs: start.timeMs, timeMs, values: values.map((value, i) => value - start.values[i]!) };
}

/** Returns undefined if the buckets are too wide for a number. */
function exponentialOptions({ scale, positive }: PointReader): string | undefined {
  const growth = 2 ** (2 ** -scale);
  const first = growth ** positive.offset;
  const size = positive.counts.length;
  if (size === 0) return '{"explicitBuckets":{"bounds":[0]}}';
  if (!Number.isFinite(growth) || !Number.isFinite(first) || first === 0) return undefined;
  return `{"exponentialBuckets":{"numFiniteBuckets":${size},"growthFactor":${growth},"scale":${first}}}`;
}

function isoTime(ms: number): string {
  return new Date(Math.min(ms, MAX_TIME)).toISOString();
}

/** The end of the year 9999, beyond which the API has no times. */
const MAX_TIME = 253_402_300_799_999;

function startlessRefusal(): Refusal {
  return new Refusal(
    "permanent",
    "deltas need a start before their time: put the processor delta_to_cumulative before the exporter",
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

/** Returns the resource attributes that are labels of their own, under their own names. */
export function resourceLabels(
  resource: PlainAttributes,
  hasService: boolean,
  filters: readonly { readonly prefix: string }[] | null | undefined,
): PlainAttributes {
  const isLabel = (key: string) =>
    (hasService && SERVICE_KEYS.includes(key)) || (filters ?? []).some(({ prefix }) => key.startsWith(prefix));
  return Object.fromEntries(Object.entries(resource).filter(([key]) => isLabel(key)));
}

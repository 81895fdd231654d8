import type { PointReader } from "#metrics";
import { type PlainAttributes, plainValueText } from "#otlp/json";
import { GAUGE_TAG, HISTOGRAM_TAG, SUM_TAG, SUMMARY_TAG } from "#otlp/metric-tags";
import { goNumber } from "#text/go";
import { type Batch, Refusal } from "../../../plugin.js";
import { extremesOf, SeriesWalk, type VendorMetric } from "../series-walk.js";
import type { Destination, VendorPart } from "../vendor-exporter.js";
import type { SignalFxConfig } from "./config.js";

const KINDS = ["gauge", "counter", "cumulative_counter"] as const;
type PointKind = (typeof KINDS)[number];

/** A known series: its dimensions, and how its items begin. */
interface SignalFxSeries {
  readonly dimensions: Readonly<Record<string, string>>;
  readonly dimensionCount: number;
  /** By the suffix of the metric's name: the item up to its last dimension; empty if the API does not take the name. */
  readonly heads: Map<string, string>;
}

/** A dimension that tells the items of one point apart. */
type ItemDimension = readonly [name: "le" | "quantile", value: string];

const MAX_ITEMS = 5000;
/** A histogram has a count, a sum, a minimum and a maximum beside its buckets. */
const MAX_OTHER_ITEMS = 4;
const FORGET_MS = 3_600_000;

/** The limits of the data model. A point beyond the first two is lost at Splunk without an error. */
const MAX_NAME_LENGTH = 256;
const MAX_DIMENSIONS = 36;
const MAX_DIMENSION_NAME_LENGTH = 128;
const MAX_DIMENSION_LENGTH = 256;

/** A resource attribute of Splunk's own receivers, which is a secret. */
const TOKEN_ATTRIBUTE = "com.splunk.signalfx.access_token";

/** Makes requests of data points of the API /v2/datapoint. */
export class SignalFxDataPoints {
  private readonly config: SignalFxConfig;
  private readonly walk: SeriesWalk<SignalFxSeries>;
  /** Whether anything of the current point is sent. */
  private isSent = false;
  private readonly notInName: RegExp;
  private pages: PointPage[] = [];
  private readonly unsendable = new Set<number>();

  constructor(config: SignalFxConfig) {
    this.config = config;
    const kept = config.nonalphanumeric_dimension_chars.replace(/[\\\]^-]/g, "\\$&");
    this.notInName = new RegExp(`[^A-Za-z0-9${kept}]`, "g");
    this.walk = new SeriesWalk<SignalFxSeries>(
      {
        create: (metric, attributes) => {
          const dimensions = this.dimensionsOf({ ...metric.resource, ...attributes });
          return { dimensions, dimensionCount: Object.keys(dimensions).length, heads: new Map() };
        },
        visit: (...args) => {
          const [, { dataTag }, point] = args;
          this.isSent = false;
          this.reserve(dataTag, point);
          this.visit(...args);
          return this.isSent ? undefined : "not_finite";
        },
      },
      FORGET_MS,
    );
  }

  requests(batch: Batch, now: number, to: Destination): VendorPart[] {
    this.pages = [new PointPage()];
    this.unsendable.clear();
    const skipped = this.walk.walk(batch.bytes, now);
    const requests: VendorPart[] = this.pages
      .filter(({ count }) => count > 0)
      .map((page) => ({ records: [...page.records], to, encode: () => page.encode() }));
    if (this.unsendable.size > 0) requests.push({ records: [...this.unsendable], refusal: tooLarge() });
    return [...requests, ...skipped];
  }

  private dimensionsOf(attributes: PlainAttributes): Record<string, string> {
    return Object.fromEntries(
      Object.entries(attributes)
        .filter(([key]) => key !== TOKEN_ATTRIBUTE)
        .map(([key, value]) => [
          key.replace(this.notInName, "_").slice(0, MAX_DIMENSION_NAME_LENGTH),
          plainValueText(value).slice(0, MAX_DIMENSION_LENGTH),
        ]),
    );
  }

  /** Keeps the items of a point on one page: they would be sent twice if only the second of two pages were refused. */
  private reserve(dataTag: number, { counts, quantiles }: PointReader): void {
    const isNumber = dataTag === GAUGE_TAG || dataTag === SUM_TAG;
    const items = isNumber ? 1 : MAX_OTHER_ITEMS + counts.length + quantiles.length;
    const { count } = this.pages.at(-1)!;
    if (count > 0 && count + items > MAX_ITEMS) this.pages.push(new PointPage());
  }

  private visit(
    series: SignalFxSeries,
    metric: VendorMetric,
    point: PointReader,
    place: number,
    b: Uint8Array,
    start: number,
    end: number,
  ): void {
    const { dataTag, isDelta } = metric;
    const counter = isDelta ? "counter" : "cumulative_counter";
    if (dataTag === GAUGE_TAG) return this.add(series, metric, "", "gauge", point.value, point, place);
    if (dataTag === SUM_TAG)
      return this.add(series, metric, "", metric.isMonotonic ? counter : "gauge", point.value, point, place);
    this.add(series, metric, "_count", counter, point.count, point, place);
    if (point.hasSum || dataTag === SUMMARY_TAG) this.add(series, metric, "_sum", counter, point.sum, point, place);
    if (dataTag === SUMMARY_TAG) {
      for (const [i, quantile] of point.quantiles.entries())
        this.add(series, metric, "_quantile", "gauge", point.quantileValues[i]!, point, place, [
          "quantile",
          String(quantile),
        ]);
      return;
    }
    const [min, max] = extremesOf(dataTag, b, start, end);
    if (min !== undefined) this.add(series, metric, "_min", "gauge", min, point, place);
    if (max !== undefined) this.add(series, metric, "_max", "gauge", max, point, place);
    if (dataTag !== HISTOGRAM_TAG || this.config.drop_histogram_buckets) return;
    let total = 0;
    for (let i = 0; i < point.counts.length; i++) {
      total += point.counts[i]!;
      this.add(series, metric, "_bucket", counter, total, point, place, [
        "le",
        goNumber(point.bounds[i] ?? Number.POSITIVE_INFINITY),
      ]);
    }
  }

  private add(
    series: SignalFxSeries,
    metric: VendorMetric,
    suffix: string,
    kind: PointKind,
    value: number,
    { timeMs }: PointReader,
    place: number,
    more?: ItemDimension,
  ): void {
    if (!Number.isFinite(value)) return;
    this.isSent = true;
    const head = headOf(series, metric.name, suffix, more);
    if (head === undefined) return void this.unsendable.add(place);
    let page = this.pages.at(-1)!;
    if (page.count >= MAX_ITEMS) this.pages.push((page = new PointPage()));
    // Splunk takes the time of arrival for a point without a time.
    page.add(kind, `${head}${value}${timeMs > 0 ? `,"timestamp":${timeMs}` : ""}}`, place);
  }
}

/**
 * Returns how an item of a series begins; undefined if it is beyond the limits. Only what all points share is remembered:
 * the bounds of a histogram's buckets may change with every point.
 */
function headOf(series: SignalFxSeries, metric: string, suffix: string, more?: ItemDimension): string | undefined {
  const { dimensions, dimensionCount, heads } = series;
  if (more !== undefined && Object.hasOwn(dimensions, more[0])) {
    const replaced = { ...dimensions, [more[0]]: more[1] };
    return headOf({ ...series, dimensions: replaced, heads: new Map() }, metric, suffix);
  }
  let head = heads.get(suffix);
  if (head === undefined) {
    const name = metric + suffix;
    head = name.length > MAX_NAME_LENGTH ? "" : JSON.stringify({ metric: name, dimensions }).slice(0, -2);
    heads.set(suffix, head);
  }
  if (head === "" || dimensionCount + (more === undefined ? 0 : 1) > MAX_DIMENSIONS) return undefined;
  if (more === undefined) return `${head}},"value":`;
  return `${head}${dimensionCount === 0 ? "" : ","}"${more[0]}":"${more[1]}"},"value":`;
}

function tooLarge(): Refusal {
  const message = `Splunk accepts names of up to ${MAX_NAME_LENGTH} characters and up to ${MAX_DIMENSIONS} dimensions`;
  return new Refusal("permanent", message, { category: "schema" });
}

/** The items of one request, by kind. */
class PointPage {
  readonly records = new Set<number>();
  count = 0;
  private readonly items: Readonly<Record<PointKind, string[]>> = { gauge: [], counter: [], cumulative_counter: [] };

  add(kind: PointKind, item: string, place: number): void {
    this.items[kind].push(item);
    this.records.add(place);
    this.count++;
  }

  encode(): Uint8Array {
    const lists = KINDS.filter((kind) => this.items[kind].length > 0).map(
      (kind) => `"${kind}":[${this.items[kind].join(",")}]`,
    );
    return Buffer.from(`{${lists.join(",")}}`);
  }
}

import type { PointReader } from "#metrics";
import { type PlainAttributes, plainValueText } from "#otlp/json";
import { GAUGE_TAG, HISTOGRAM_TAG, SUM_TAG, SUMMARY_TAG } from "#otlp/metric-tags";
import { type Batch, Refusal } from "../../../plugin.js";
import { extremesOf, SeriesWalk, type VendorMetric } from "../series-walk.js";
import type { Destination, VendorPart } from "../vendor-exporter.js";
import type { SignalFxConfig } from "./config.js";

const KINDS = ["gauge", "counter", "cumulative_counter"] as const;
type PointKind = (typeof KINDS)[number];

/** A known series: its dimensions, and how its items begin. */
interface SignalFxSeries {
  readonly dimensions: Readonly<Record<string, string>>;
  /** Undefined for items that the API does not take. */
  readonly heads: Map<string, string | undefined>;
}

const MAX_ITEMS = 5000;
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
        create: (metric, attributes) => ({
          dimensions: this.dimensionsOf({ ...metric.resource, ...attributes }),
          heads: new Map(),
        }),
        visit: (...args) => {
          this.isSent = false;
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
        this.add(series, metric, "_quantile", "gauge", point.quantileValues[i]!, point, place, {
          quantile: String(quantile),
        });
      return;
    }
    const [min, max] = extremesOf(dataTag, b, start, end);
    if (min !== undefined) this.add(series, metric, "_min", "gauge", min, point, place);
    if (max !== undefined) this.add(series, metric, "_max", "gauge", max, point, place);
    if (dataTag !== HISTOGRAM_TAG || this.config.drop_histogram_buckets) return;
    let total = 0;
    for (let i = 0; i < point.counts.length; i++) {
      total += point.counts[i]!;
      this.add(series, metric, "_bucket", counter, total, point, place, { le: boundText(point.bounds[i]) });
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
    more: Readonly<Record<string, string>> = {},
  ): void {
    if (!Number.isFinite(value)) return;
    this.isSent = true;
    const key = `${suffix} ${Object.values(more).join()}`;
    if (!series.heads.has(key)) series.heads.set(key, headOf(metric.name + suffix, { ...series.dimensions, ...more }));
    const head = series.heads.get(key);
    if (head === undefined) return void this.unsendable.add(place);
    let page = this.pages.at(-1)!;
    if (page.count >= MAX_ITEMS) this.pages.push((page = new PointPage()));
    // Splunk takes the time of arrival for a point without a time.
    page.add(kind, `${head}${value}${timeMs > 0 ? `,"timestamp":${timeMs}` : ""}}`, place);
  }
}

/** Returns how items of a series begin; undefined if they are beyond the limits. */
function headOf(metric: string, dimensions: Readonly<Record<string, string>>): string | undefined {
  if (metric.length > MAX_NAME_LENGTH || Object.keys(dimensions).length > MAX_DIMENSIONS) return undefined;
  return `${JSON.stringify({ metric, dimensions }).slice(0, -1)},"value":`;
}

function tooLarge(): Refusal {
  const message = `Splunk accepts names of up to ${MAX_NAME_LENGTH} characters and up to ${MAX_DIMENSIONS} dimensions`;
  return new Refusal("permanent", message, { category: "schema" });
}

/** The text of a bucket's upper bound in the Collector, so that the series of a mixed fleet join. */
function boundText(bound: number | undefined): string {
  if (bound === undefined || bound === Number.POSITIVE_INFINITY) return "+Inf";
  if (bound === 0 || (Math.abs(bound) >= 1e-4 && Math.abs(bound) < 1e6)) return String(bound);
  return bound.toExponential().replace(/e([+-])(\d)$/, "e$10$2");
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

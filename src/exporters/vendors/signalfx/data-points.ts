import type { PointReader } from "#metrics";
import { type PlainAttributes, plainValueText } from "#otlp/json";
import { GAUGE_TAG, HISTOGRAM_TAG, SUM_TAG, SUMMARY_TAG } from "#otlp/metric-tags";
import type { Batch } from "../../../plugin.js";
import { SeriesWalk, type VendorMetric } from "../series-walk.js";
import type { Destination, VendorPart } from "../vendor-exporter.js";
import type { SignalFxConfig } from "./config.js";

const KINDS = ["gauge", "counter", "cumulative_counter"] as const;
type PointKind = (typeof KINDS)[number];

/** What is kept of a series: its dimensions, and how its items begin. */
interface SignalFxSeries {
  readonly dimensions: Readonly<Record<string, string>>;
  readonly heads: Map<string, string>;
}

const MAX_ITEMS = 5000;
const FORGET_MS = 3_600_000;
const MAX_DIMENSION_LENGTH = 256;

/** Makes requests of data points of the API /v2/datapoint. */
export class SignalFxDataPoints {
  private readonly config: SignalFxConfig;
  private readonly walk: SeriesWalk<SignalFxSeries>;
  /** Whether anything of the current point is sent. */
  private isSent = false;
  private readonly notInName: RegExp;
  private pages: PointPage[] = [];

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
        visit: (series, metric, point, place) => {
          this.isSent = false;
          this.visit(series, metric, point, place);
          return this.isSent ? undefined : "not_finite";
        },
      },
      FORGET_MS,
    );
  }

  requests(batch: Batch, now: number, to: Destination): VendorPart[] {
    this.pages = [new PointPage()];
    const skipped = this.walk.walk(batch.bytes, now);
    const requests = this.pages
      .filter(({ count }) => count > 0)
      .map((page) => ({ records: [...page.records], to, encode: () => page.encode() }));
    return [...requests, ...skipped];
  }

  private dimensionsOf(attributes: PlainAttributes): Record<string, string> {
    return Object.fromEntries(
      Object.entries(attributes).map(([key, value]) => [
        key.replace(this.notInName, "_").slice(0, MAX_DIMENSION_LENGTH / 2),
        plainValueText(value).slice(0, MAX_DIMENSION_LENGTH),
      ]),
    );
  }

  private visit(series: SignalFxSeries, metric: VendorMetric, point: PointReader, place: number): void {
    const { dataTag, isDelta } = metric;
    const counter = isDelta ? "counter" : "cumulative_counter";
    if (dataTag === GAUGE_TAG) return this.add(series, metric, "", "gauge", point.value, point, place);
    if (dataTag === SUM_TAG)
      return this.add(series, metric, "", metric.isMonotonic ? counter : "gauge", point.value, point, place);
    this.add(series, metric, "_count", counter, point.count, point, place);
    if (dataTag === SUMMARY_TAG) {
      this.add(series, metric, "", counter, point.sum, point, place);
      for (const [i, quantile] of point.quantiles.entries())
        this.add(series, metric, "_quantile", "gauge", point.quantileValues[i]!, point, place, {
          quantile: String(quantile),
        });
      return;
    }
    if (point.hasSum) this.add(series, metric, "_sum", counter, point.sum, point, place);
    if (dataTag !== HISTOGRAM_TAG || this.config.drop_histogram_buckets) return;
    let total = 0;
    for (let i = 0; i < point.counts.length; i++) {
      total += point.counts[i]!;
      const upper_bound = String(point.bounds[i] ?? "+Inf");
      this.add(series, metric, "_bucket", counter, total, point, place, { upper_bound });
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
    let head = series.heads.get(key);
    if (head === undefined) {
      const item = { metric: metric.name + suffix, dimensions: { ...series.dimensions, ...more } };
      head = `${JSON.stringify(item).slice(0, -1)},"value":`;
      series.heads.set(key, head);
    }
    let page = this.pages.at(-1)!;
    if (page.count >= MAX_ITEMS) this.pages.push((page = new PointPage()));
    page.add(kind, `${head}${value},"timestamp":${timeMs}}`, place);
  }
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

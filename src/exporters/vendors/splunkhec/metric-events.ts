import type { PointReader } from "#metrics";
import { type PlainAttributes, plainValueText } from "#otlp/json";
import { GAUGE_TAG, HISTOGRAM_TAG, SUM_TAG, SUMMARY_TAG } from "#otlp/metric-tags";
import { goNumber } from "#text/go";
import type { Batch } from "../../../plugin.js";
import { SeriesWalk, type VendorMetric } from "../series-walk.js";
import type { SplunkHecConfig } from "./config.js";
import { defaultMetadata, eventText, type HecEvent, type HecMetadata, readMetadata, setField } from "./event-head.js";

/** The parts of a series that are the same in all of its events. */
interface HecSeries {
  readonly token: string;
  readonly metadata: HecMetadata;
  /** Its dimensions and type, as the beginning of a JSON object. */
  readonly fields: string;
  /** Everything that series of one event have in common. */
  readonly head: string;
}

/** An event with one value, or with several in the format for several metrics. */
interface MetricEvent {
  readonly series: HecSeries;
  readonly dimension: string;
  readonly seconds: number;
  readonly values: Map<string, string>;
  readonly records: number[];
}

const FORGET_MS = 3_600_000;
const KINDS: Readonly<Record<number, string>> = {
  [GAUGE_TAG]: "Gauge",
  [SUM_TAG]: "Sum",
  [HISTOGRAM_TAG]: "Histogram",
  [SUMMARY_TAG]: "Summary",
};

/** Writes data points as events of the type `metric`. */
export class MetricEvents {
  private readonly config: SplunkHecConfig;
  private readonly walk: SeriesWalk<HecSeries>;
  private events: MetricEvent[] = [];
  /** Events by everything but their values, for the format with several metrics. */
  private byHead = new Map<string, MetricEvent>();

  constructor(config: SplunkHecConfig, tokenOf: (resource: VendorMetric["resource"]) => string) {
    this.config = config;
    this.walk = new SeriesWalk<HecSeries>(
      {
        create: (metric, attributes) => this.seriesOf(metric, attributes, tokenOf(metric.resource)),
        // Every point is sent: NaN and infinite values as texts.
        visit: (series, metric, point, place) => {
          this.visit(series, metric, point, place);
          return undefined;
        },
      },
      FORGET_MS,
    );
  }

  /** Returns the events of a batch by token. */
  ofBatch(batch: Batch, now: number): Map<string, HecEvent[]> {
    this.events = [];
    this.byHead = new Map();
    this.walk.walk(batch.bytes, now);
    const byToken = new Map<string, HecEvent[]>();
    for (const event of this.events) {
      const { token } = event.series;
      const list = byToken.get(token) ?? [];
      byToken.set(token, list);
      list.push({ text: textOf(event), records: event.records });
    }
    return byToken;
  }

  private seriesOf(metric: VendorMetric, attributes: PlainAttributes, token: string): HecSeries {
    const values: Record<string, unknown> = {};
    const names = this.config.otel_attrs_to_hec_metadata;
    const metadata = readMetadata(metric.resource, defaultMetadata(this.config), names, (key, value) =>
      setField(values, key, plainValueText(value)),
    );
    for (const key in attributes) setField(values, key, plainValueText(attributes[key]));
    setField(values, "metric_type", KINDS[metric.dataTag] ?? "ExponentialHistogram");
    const fields = JSON.stringify(values).slice(0, -1);
    return { token, metadata, fields, head: JSON.stringify([token, metadata, fields]) };
  }

  private visit(series: HecSeries, metric: VendorMetric, point: PointReader, place: number): void {
    const { dataTag } = metric;
    const add = (suffix: string, value: number, dimension = "") =>
      this.add(series, dimension, point.timeMs / 1000, `metric_name:${metric.name}${suffix}`, value, place);
    if (dataTag === GAUGE_TAG || dataTag === SUM_TAG) return add("", point.value);
    const hasSum = dataTag === SUMMARY_TAG || point.hasSum;
    if (hasSum && !Number.isNaN(point.sum)) add("_sum", point.sum);
    add("_count", point.count);
    if (dataTag === SUMMARY_TAG) {
      for (const [i, quantile] of point.quantiles.entries())
        add(`_${quantile}`, point.quantileValues[i]!, `,"qt":"${goNumber(quantile)}"`);
    }
    if (dataTag !== HISTOGRAM_TAG || point.counts.length !== point.bounds.length + 1) return;
    let total = 0;
    for (let i = 0; i < point.counts.length; i++) {
      total += point.counts[i]!;
      const bound = point.bounds[i] ?? Number.POSITIVE_INFINITY;
      add("_bucket", total, `,"le":"${goNumber(bound)}"`);
    }
  }

  private add(
    series: HecSeries,
    dimension: string,
    seconds: number,
    name: string,
    value: number,
    record: number,
  ): void {
    const text = Number.isFinite(value) ? String(value) : `"${goNumber(value)}"`;
    const head = this.config.use_multi_metric_format ? `${series.head}${dimension} ${seconds}` : "";
    const known = head === "" ? undefined : this.byHead.get(head);
    if (known !== undefined && !known.values.has(name)) {
      known.values.set(name, text);
      known.records.push(record);
      return;
    }
    const event = { series, dimension, seconds, values: new Map([[name, text]]), records: [record] };
    if (head !== "") this.byHead.set(head, event);
    this.events.push(event);
  }
}

function textOf({ series, dimension, seconds, values }: MetricEvent): string {
  const list = [...values].map(([name, value]) => `,${JSON.stringify(name)}:${value}`).join("");
  return eventText(seconds, series.metadata, '"metric"', `${series.fields}${dimension}${list}}`);
}

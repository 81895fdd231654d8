import { SeriesTable } from "#metrics";
import { WireWriter } from "#otlp/bytes";
import type { Batch } from "../../../plugin.js";
import type { Durations, DurationsKind } from "../durations.js";
import { MetricWriter, type Nanos, nanosOf, PointAttributes, TRUE_VALUE, writeAttributes } from "../metric-writer.js";

/** Requests that have the same attributes. */
interface EdgeSeries {
  readonly attributes: PointAttributes;
  readonly start: Nanos;
  readonly client: Durations;
  readonly server: Durations;
  count: number;
  failed: number;
}

/** A request between two services with both sides known. Durations are in seconds. */
interface CompleteEdge {
  readonly attributes: ReadonlyMap<string, Uint8Array>;
  readonly clientSeconds: number;
  readonly serverSeconds: number;
  readonly isFailed: boolean;
}

const EXPIRE_AFTER_MS = 15 * 60_000;
const CHUNK_SERIES = 500;
const PIECE_BYTES = 1024 * 1024;
/** Limit for the bytes of all keys, because names and dimensions may be as long as a request. */
const MAX_KEY_BYTES = 128 * 1024 * 1024;
/** A buffer that grew larger for one request is not kept. */
const MAX_KEPT_BYTES = 64 * 1024;
const PREFIX = "traces_service_graph_request";
const NO_RESOURCE = new Uint8Array(0);
const NO_EXEMPLARS: readonly never[] = [];

/** The cumulative metrics of requests. A series without requests for fifteen minutes is forgotten. */
export class EdgeSeriesSet {
  private readonly kind: DurationsKind;
  private readonly maxSeries: number;
  // The limit is enforced below, because expired series may be removed only after they have been passed on.
  private readonly table = new SeriesTable<EdgeSeries>({
    maxSeries: Number.POSITIVE_INFINITY,
    expireAfterMs: EXPIRE_AFTER_MS,
  });
  private readonly writer = new MetricWriter("sluice/connector/service_graph");
  /** The attributes of the request that is being counted. */
  private key = new WireWriter(256);
  private overflow: EdgeSeries | undefined;

  constructor(kind: DurationsKind, maxSeries: number) {
    this.kind = kind;
    this.maxSeries = maxSeries;
  }

  count(edge: CompleteEdge, now: number): void {
    const series = this.find(edge.attributes, now);
    series.count++;
    if (edge.isFailed) series.failed++;
    series.client.observe(edge.clientSeconds, 1);
    series.server.observe(edge.serverSeconds, 1);
  }

  *pieces(time: Nanos): Generator<Batch> {
    const { writer } = this;
    const all = [...this.table.values(), ...(this.overflow === undefined ? [] : [this.overflow])];
    for (let i = 0; i < all.length; i += CHUNK_SERIES) {
      writer.beginResource(NO_RESOURCE);
      this.write(all.slice(i, i + CHUNK_SERIES), time);
      writer.endResource();
      if (writer.byteLength > PIECE_BYTES) yield writer.take();
    }
    if (writer.byteLength > 0) yield writer.take();
  }

  expire(now: number): void {
    this.table.sweep(now);
  }

  private find(attributes: CompleteEdge["attributes"], now: number): EdgeSeries {
    const { key } = this;
    if (key.bytes.length > MAX_KEPT_BYTES) this.key = new WireWriter(256);
    key.clear();
    writeAttributes(key, attributes);
    const known = this.table.find(0, key.bytes, 0, key.length, now);
    if (known !== undefined) return known;
    if (this.table.size < this.maxSeries && this.table.byteLength < MAX_KEY_BYTES) {
      const series = this.create(new PointAttributes(attributes), now);
      this.table.add(0, key.bytes, 0, key.length, now, series);
      return series;
    }
    return (this.overflow ??= this.create(new PointAttributes(new Map([["otel.metric.overflow", TRUE_VALUE]])), now));
  }

  private create(attributes: PointAttributes, now: number): EdgeSeries {
    const { kind } = this;
    return { attributes, start: nanosOf(now), client: kind.create(), server: kind.create(), count: 0, failed: 0 };
  }

  private write(series: readonly EdgeSeries[], time: Nanos): void {
    const { writer, kind } = this;
    const isDelta = false;
    writer.beginSum({ name: `${PREFIX}_total`, isDelta });
    for (const one of series) writer.sumPoint(one.start, time, one.count, one.attributes, NO_EXEMPLARS);
    writer.endMetric();
    const failed = series.filter((one) => one.failed > 0);
    if (failed.length > 0) {
      writer.beginSum({ name: `${PREFIX}_failed_total`, isDelta });
      for (const one of failed) writer.sumPoint(one.start, time, one.failed, one.attributes, NO_EXEMPLARS);
      writer.endMetric();
    }
    for (const side of ["server", "client"] as const) {
      writer.beginHistogram({ name: `${PREFIX}_${side}`, unit: "s", isDelta }, kind);
      for (const one of series) {
        writer.histogramPoint(one.start, time, one[side], kind, one.attributes, NO_EXEMPLARS);
      }
      writer.endMetric();
    }
  }
}

import { putVarint, varintSize, WireWriter } from "#otlp/bytes";
import {
  DATA_POINT_START_TIME_TAG,
  DATA_POINT_TAG,
  DATA_POINT_TIME_TAG,
  NUMBER_DOUBLE_TAG,
  NUMBER_EXEMPLARS_TAG,
} from "#otlp/metric-tags";
import { OWNER_TAG, RESOURCE_CONTAINER_TAG, SCHEMA_URL_TAG, SCOPE_CONTAINER_TAG, SCOPE_ITEM_TAG } from "#otlp/tags";
import { Batch } from "../../../plugin.js";
import { NanosecondsWriter, writeTime } from "./exemplar.js";
import type { Metric, ScrapedScope } from "./metrics.js";
import type { ScrapeSeries } from "./scrape-series.js";

/** A larger scrape becomes several batches, which are encoded and handed in one at a time. */
const MAX_BATCH_BYTES = 2 * 1024 * 1024;
/** The size of a field with a time or a double. */
const TAG_AND_NUMBER = 9;
/** DataPointFlags: the series has no more values. */
const NO_RECORDED_VALUE = 1;

/** Called for a point that cannot be written, with the reason. */
type OnUnwritable = (metric: Metric, problem: string) => void;

/** Yields the points of a scrape as batches; each is encoded when it is asked for. */
export function* writeBatches(scrape: ScrapeSeries, timeMs: number, onUnwritable: OnUnwritable): Generator<Batch> {
  const order = groupedByMetric(scrape);
  const batches = new BatchWriter(scrape, timeMs, onUnwritable);
  let at = 0;
  for (const owner of scrape.owners.all()) {
    for (const metric of owner.metrics.values()) {
      for (const end = at + metric.points; at < end; at++) {
        batches.write(owner, metric, order[at]!);
        if (batches.isFull) yield* batches.flush();
      }
      metric.points = 0;
    }
  }
  yield* batches.flush();
}

/** The numbers of all points, grouped by metric, in order of arrival within a metric. */
function groupedByMetric({ points, pointSeries, owners }: ScrapeSeries): Int32Array {
  const { length, series } = points;
  for (let i = 0; i < length; i++) pointSeries.metrics[slotOf(series[i]!)]!.points++;
  let next = 0;
  for (const owner of owners.all()) {
    for (const metric of owner.metrics.values()) {
      metric.next = next;
      next += metric.points;
    }
  }
  const order = new Int32Array(length);
  for (let i = 0; i < length; i++) order[pointSeries.metrics[slotOf(series[i]!)]!.next++] = i;
  return order;
}

function slotOf(series: number): number {
  return series < 0 ? ~series : series;
}

/** Writes points, and opens and closes the messages around them as needed. */
class BatchWriter {
  private readonly scrape: ScrapeSeries;
  private readonly timeMs: number;
  private readonly onUnwritable: OnUnwritable;
  private writer: WireWriter | undefined;
  private owner: ScrapedScope | undefined;
  private metric: Metric | undefined;
  private count = 0;
  private readonly time = new NanosecondsWriter();
  private readonly start = new NanosecondsWriter();

  constructor(scrape: ScrapeSeries, timeMs: number, onUnwritable: OnUnwritable) {
    this.scrape = scrape;
    this.timeMs = timeMs;
    this.onUnwritable = onUnwritable;
  }

  get isFull(): boolean {
    return this.writer !== undefined && this.writer.length > MAX_BATCH_BYTES;
  }

  write(owner: ScrapedScope, metric: Metric, point: number): void {
    const { pointSeries, points } = this.scrape;
    const series = points.series[point]!;
    if (series >= 0 && metric.shapeName === "histogram") {
      const problem = pointSeries.distributions[series]!.histogramProblem();
      if (problem !== undefined) return this.onUnwritable(metric, problem);
    }
    const native = points.natives.size === 0 ? undefined : points.natives.get(point);
    if (typeof native === "string") return this.onUnwritable(metric, native);
    const writer = this.open(owner, metric);
    this.count++;
    const isNumber = series >= 0 && native === undefined && pointSeries.distributions[series] === undefined;
    if (isNumber) this.writeNumber(writer, metric, series, point);
    else this.writeMessage(writer, metric, series, point, native);
  }

  *flush(): Generator<Batch> {
    const { writer } = this;
    if (writer === undefined) return;
    this.closeMetric(writer);
    this.closeOwner(writer);
    this.writer = undefined;
    const batch = Batch.trusted("metrics", writer.written(), this.count);
    this.count = 0;
    yield batch;
  }

  /**
   * Writes a NumberDataPoint. Its length is known in advance, so nothing needs patching afterwards; most points are of
   * this kind.
   */
  private writeNumber(writer: WireWriter, metric: Metric, series: number, point: number): void {
    const { pointSeries, points } = this.scrape;
    const value = points.values[point]!;
    const exemplar = points.exemplars.size === 0 ? undefined : points.exemplars.get(point);
    const ownTime = points.times[point]!;
    const time = Number.isNaN(ownTime) ? this.timeMs : ownTime;
    const { isCumulative } = metric.shape;
    const attributes = pointSeries.attributesLength(series);
    const exemplarSize = exemplar === undefined ? 0 : 1 + varintSize(exemplar.length) + exemplar.length;
    const size = attributes + (isCumulative ? 3 : 2) * TAG_AND_NUMBER + exemplarSize;
    writer.reserve(size + 32);
    const { bytes } = writer;
    const { view } = writer;
    let at = writer.length;
    bytes[at++] = DATA_POINT_TAG;
    at = putVarint(bytes, at, size);
    if (isCumulative) {
      bytes[at++] = DATA_POINT_START_TIME_TAG;
      at = this.start.put(view, at, pointSeries.startOf(series, time, value));
    }
    bytes[at++] = DATA_POINT_TIME_TAG;
    at = this.time.put(view, at, time);
    bytes[at++] = NUMBER_DOUBLE_TAG;
    view.setFloat64(at, value, true);
    writer.length = at + 8;
    if (exemplar !== undefined) {
      writer.byte(NUMBER_EXEMPLARS_TAG);
      writer.lengthDelimited(exemplar);
    }
    this.writeAttributes(writer, series);
  }

  /** Writes a histogram, a summary, or the end of a series of any kind. */
  private writeMessage(
    writer: WireWriter,
    metric: Metric,
    series: number,
    point: number,
    native: Uint8Array | undefined,
  ): void {
    const { pointSeries, points } = this.scrape;
    const slot = slotOf(series);
    const ownTime = points.times[point]!;
    const time = Number.isNaN(ownTime) ? this.timeMs : ownTime;
    writer.byte(DATA_POINT_TAG);
    writer.begin(256);
    const distribution = pointSeries.distributions[slot];
    if (series >= 0) {
      writer.byte(DATA_POINT_START_TIME_TAG);
      writeTime(writer, pointSeries.startOf(slot, time, distribution?.count ?? points.values[point]!));
    }
    writer.byte(DATA_POINT_TIME_TAG);
    writeTime(writer, time);
    if (series < 0) {
      writer.byte(metric.shape.flagsTag);
      writer.byte(NO_RECORDED_VALUE);
    } else if (native !== undefined) writer.copy(native, 0, native.length);
    else if (metric.shapeName === "histogram") distribution!.writeHistogram(writer);
    else distribution!.writeSummary(writer);
    this.writeAttributes(writer, slot);
    writer.end();
  }

  private writeAttributes(writer: WireWriter, slot: number): void {
    const { pointSeries } = this.scrape;
    const size = pointSeries.attributesLength(slot);
    writer.copyView(pointSeries.attributeBytes, pointSeries.attributesStart(slot), size);
  }

  private open(owner: ScrapedScope, metric: Metric): WireWriter {
    const writer = (this.writer ??= new WireWriter(
      Math.min(this.scrape.points.length * 160 + 1024, MAX_BATCH_BYTES + 4096),
    ));
    if (metric === this.metric) return writer;
    this.closeMetric(writer);
    if (owner !== this.owner) {
      this.closeOwner(writer);
      this.openOwner(writer, owner);
    }
    writer.byte(SCOPE_ITEM_TAG);
    writer.begin(1000);
    const head = metric.head();
    writer.copy(head, 0, head.length);
    writer.byte(metric.shape.dataTag);
    writer.begin(1000);
    this.metric = metric;
    return writer;
  }

  private openOwner(writer: WireWriter, owner: ScrapedScope): void {
    writer.byte(RESOURCE_CONTAINER_TAG);
    writer.begin(100_000);
    writer.byte(OWNER_TAG);
    writer.lengthDelimited(owner.resource.bytes(this.scrape.scrape));
    writer.byte(SCOPE_CONTAINER_TAG);
    writer.begin(100_000);
    writer.byte(OWNER_TAG);
    writer.lengthDelimited(owner.scope);
    this.owner = owner;
  }

  private closeMetric(writer: WireWriter): void {
    if (this.metric === undefined) return;
    for (const byte of this.metric.shape.rest) writer.byte(byte);
    writer.end();
    writer.end();
    this.metric = undefined;
  }

  private closeOwner(writer: WireWriter): void {
    if (this.owner === undefined) return;
    if (this.owner.schemaUrl !== "") {
      writer.byte(SCHEMA_URL_TAG);
      writer.text(this.owner.schemaUrl);
    }
    writer.end();
    writer.end();
    this.owner = undefined;
  }
}

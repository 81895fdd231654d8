import { type AttributeKey, PointReader, SeriesTable } from "#metrics";
import { decodeMessage, MESSAGES } from "#otlp/bytes";
import { type KeyValueTree, plainValue, plainValueText } from "#otlp/json";
import { EXPONENTIAL_HISTOGRAM_TAG } from "#otlp/metric-tags";
import { type MetricData, type MetricVisitor, walkMetrics } from "#otlp/views";
import { plainGoNumber } from "#text/go";
import type { PartialRejection } from "../../../plugin.js";
import type { Label } from "../labels.js";
import { type MetricOwner, OwnerReader, type OwnerSettings, type ResourceOwner } from "../owners.js";
import { encodeNativeHistogram, nativeProblem } from "./native-histogram.js";
import { labelsOf, RemoteSeries, type SampleLabels } from "./remote-series.js";
import type { RemoteExemplar, RemoteSample, WriteRequestBody } from "./write-request.js";

interface TranslateSettings extends OwnerSettings {
  /** The name of the metric that describes resources; empty to leave it out. */
  readonly targetInfoName: string;
  readonly maxRequestBytes: number;
  readonly createWriter: () => WriteRequestBody;
}

interface TranslatedBatch {
  /** Compressed request bodies, to be sent one after the other. */
  readonly bodies: readonly Uint8Array[];
  readonly samples: number;
  readonly rejection: PartialRejection | undefined;
}

/** Limits for remembered series: their labels take a few hundred bytes each. A series may have two keys. */
const MAX_KEYS = 200_000;
const FORGET_MS = 600_000;
/** OpenMetrics forbids exemplars with longer labels. */
const MAX_EXEMPLAR_CHARACTERS = 128;

/**
 * Translates a batch into remote write requests. Samples of one series must be in the order of time: if a batch has
 * them in another order, all its samples are sorted. Points that Prometheus cannot represent are rejected with the
 * reason.
 */
export class Translator implements MetricVisitor {
  private readonly settings: TranslateSettings;
  private readonly owners: OwnerReader;
  private readonly table = new SeriesTable<RemoteSeries>({ maxSeries: MAX_KEYS, expireAfterMs: FORGET_MS });
  private readonly reader = new PointReader();
  private readonly targets = new Map<ResourceOwner, SampleLabels>();
  private currentResource: ResourceOwner | undefined;
  private currentScope: ReturnType<OwnerReader["scope"]> | undefined;
  private currentMetric: MetricOwner | undefined;
  private latestMs = 0;
  private now = 0;
  private request = 0;
  private isInOrder = true;
  private unsorted: RemoteSample[] | undefined;
  private writer: WriteRequestBody;
  private bodies: Uint8Array[] = [];
  private samples = 0;
  private rejected = 0;
  private message = "";

  constructor(settings: TranslateSettings) {
    this.settings = settings;
    this.owners = new OwnerReader(settings);
    this.writer = settings.createWriter();
  }

  translate(bytes: Uint8Array, now: number): TranslatedBatch {
    this.now = now;
    this.table.sweep(now, SWEEP_KEYS);
    this.walk(bytes, undefined);
    if (!this.isInOrder) this.walk(bytes, []);
    if (this.unsorted !== undefined) {
      const sorted = this.unsorted.sort((a, b) => a.timeMs - b.timeMs);
      this.unsorted = undefined;
      for (const sample of sorted) this.write(sample);
    }
    this.endRequest();
    const rejection = this.rejected === 0 ? undefined : { rejected: this.rejected, message: this.message };
    return { bodies: this.bodies, samples: this.samples, rejection };
  }

  resource(b: Uint8Array, start: number, end: number): void {
    this.currentResource = this.owners.resource(b, start, end);
    this.latestMs = 0;
  }

  scope(b: Uint8Array, start: number, end: number, urlStart: number, urlEnd: number): void {
    this.currentScope = this.owners.scope(this.currentResource!, b, start, end, urlStart, urlEnd);
  }

  metric(b: Uint8Array, start: number, end: number, data: MetricData): void {
    this.currentMetric = this.owners.metric(this.currentScope!, b, start, end, data);
  }

  point(b: Uint8Array, start: number, end: number): void {
    const metric = this.currentMetric!;
    const problem = metric.problem ?? (metric.isDelta ? DELTA : undefined);
    if (problem !== undefined) return this.reject(metric, problem);
    const { reader } = this;
    const isNumber = metric.type === "gauge" || metric.type === "counter";
    if (isNumber && this.addExpected(metric, b, start, end)) return;
    reader.readWithoutKey(b, start, end, metric.dataTag);
    const isExponential = metric.dataTag === EXPONENTIAL_HISTOGRAM_TAG;
    const native = isExponential ? nativeProblem(reader) : undefined;
    if (native !== undefined) return this.reject(metric, native);
    if (reader.timeMs > this.latestMs) this.latestMs = reader.timeMs;
    const series = this.series(metric, reader.attributes);
    if (isExponential) this.addNative(series, b);
    else if (metric.type === "histogram") this.addHistogram(series, b);
    else if (metric.type === "summary") this.addSummary(series);
    else this.add(series, series.plain, reader.value, metric.type === "counter" ? this.exemplars(b) : undefined);
  }

  /** Handles a point that has only times, a value and the attributes of the series that was expected next. */
  private addExpected(metric: MetricOwner, b: Uint8Array, start: number, end: number): boolean {
    const { reader } = this;
    const at = reader.readNumberHead(b, start, end);
    const series = this.table.findExpected(metric.id, b, at, end, this.now);
    if (series === undefined) return false;
    if (reader.timeMs > this.latestMs) this.latestMs = reader.timeMs;
    this.add(series, series.plain, reader.value);
    return true;
  }

  /** As in the Collector, only a resource with more attributes than its identity gets a target_info. */
  resourceEnd(): void {
    const resource = this.currentResource!;
    const { targetInfoName } = this.settings;
    if (targetInfoName === "" || this.latestMs === 0) return;
    if (!resource.hasOtherAttributes || resource.identity.length === 0) return;
    let labels = this.targets.get(resource);
    if (labels === undefined) {
      if (this.targets.size >= MAX_TARGETS) this.targets.clear();
      this.targets.set(resource, (labels = labelsOf(targetInfoName, resource.targetLabels)));
    }
    this.push({ ...NO_EXTRAS, labels, value: 1, timeMs: this.latestMs, metric: undefined });
  }

  private walk(bytes: Uint8Array, unsorted: RemoteSample[] | undefined): void {
    this.request++;
    this.isInOrder = true;
    this.unsorted = unsorted;
    this.writer = this.settings.createWriter();
    this.bodies = [];
    this.samples = 0;
    this.rejected = 0;
    walkMetrics(bytes, this);
  }

  /**
   * A series is recognised by the bytes of its attributes, which then need not be parsed. If the attributes come in
   * another order, it is recognised by their canonical key.
   */
  private series(metric: MetricOwner, attributes: AttributeKey): RemoteSeries {
    const { table, now } = this;
    const isAdjacent = attributes.run();
    const { bytes, start, end } = attributes;
    const known = isAdjacent ? table.findNext(metric.id, bytes, start, end, now) : undefined;
    if (known !== undefined) return known;
    attributes.finish();
    const { bytes: key, start: keyStart, end: keyEnd } = attributes;
    const isOwnKey = key === bytes && keyStart === start && keyEnd === end && isAdjacent;
    const found = isOwnKey ? undefined : table.find(metric.id, key, keyStart, keyEnd, now);
    const series = found ?? new RemoteSeries(metric, this.owners.labels(metric, key, keyStart, keyEnd));
    if (found === undefined) table.add(metric.id, key, keyStart, keyEnd, now, series);
    if (isAdjacent && !isOwnKey) table.add(metric.id, bytes, start, end, now, series);
    return series;
  }

  private addHistogram(series: RemoteSeries, b: Uint8Array): void {
    const { reader } = this;
    if (reader.hasSum) this.add(series, series.part("_sum"), reader.sum);
    this.add(series, series.part("_count"), reader.count);
    const exemplars = this.exemplars(b);
    let total = 0;
    let last = Number.NEGATIVE_INFINITY;
    for (let i = 0; i < reader.bounds.length && i < reader.counts.length; i++) {
      const bound = reader.bounds[i]!;
      total += reader.counts[i]!;
      if (!(bound > last) || bound === Number.POSITIVE_INFINITY) continue;
      this.add(series, series.part("_bucket", ["le", plainGoNumber(bound)]), total, within(exemplars, last, bound));
      last = bound;
    }
    const rest = within(exemplars, last, Number.POSITIVE_INFINITY);
    this.add(series, series.part("_bucket", ["le", "+Inf"]), reader.count, rest);
  }

  private addSummary(series: RemoteSeries): void {
    const { reader } = this;
    this.add(series, series.part("_sum"), reader.sum);
    this.add(series, series.part("_count"), reader.count);
    reader.quantiles.forEach((quantile, i) => {
      this.add(series, series.part("", ["quantile", plainGoNumber(quantile)]), reader.quantileValues[i]!);
    });
  }

  private addNative(series: RemoteSeries, b: Uint8Array): void {
    const { timeMs, hasNoValue: isStale } = this.reader;
    const histogram = encodeNativeHistogram(this.reader);
    const exemplars = this.exemplars(b);
    this.push({ labels: series.plain, value: 0, timeMs, isStale, histogram, exemplars, metric: series.metric });
  }

  private add(
    { metric }: RemoteSeries,
    labels: SampleLabels,
    value: number,
    exemplars?: readonly RemoteExemplar[] | undefined,
  ): void {
    const { timeMs, hasNoValue: isStale } = this.reader;
    this.push({ labels, value, timeMs, isStale, histogram: undefined, exemplars, metric });
  }

  private push(sample: RemoteSample): void {
    if (this.unsorted !== undefined) return void this.unsorted.push(sample);
    const { labels, timeMs } = sample;
    if (labels.request === this.request && timeMs < labels.lastTimeMs) this.isInOrder = false;
    labels.request = this.request;
    labels.lastTimeMs = timeMs;
    this.write(sample);
  }

  private write(sample: RemoteSample): void {
    this.writer.add(sample);
    this.samples++;
    if (this.writer.size >= this.settings.maxRequestBytes) this.endRequest();
  }

  private endRequest(): void {
    if (this.writer.size === 0) return;
    this.bodies.push(this.writer.finish());
    this.writer = this.settings.createWriter();
  }

  private exemplars(b: Uint8Array): RemoteExemplar[] | undefined {
    const { exemplarStarts: starts, exemplarEnds: ends } = this.reader;
    if (starts.length === 0) return undefined;
    return starts.map((start, i) => readExemplar(b, start, ends[i]!));
  }

  private reject({ originalName }: MetricOwner, why: string): void {
    if (this.rejected++ === 0) this.message = `${originalName}: ${why}`;
  }
}

const SWEEP_KEYS = 200;
const MAX_TARGETS = 10_000;
const DELTA =
  "remote write does not support deltas; configure the SDK for cumulative metrics, or use delta_to_cumulative before this exporter";
const NO_EXTRAS = { isStale: false, histogram: undefined, exemplars: undefined };

function within(exemplars: readonly RemoteExemplar[] | undefined, above: number, upTo: number) {
  const found = exemplars?.filter(({ value }) => value > above && value <= upTo);
  return found?.length ? found : undefined;
}

function readExemplar(b: Uint8Array, start: number, end: number): RemoteExemplar {
  const exemplar = decodeMessage(MESSAGES["Exemplar"]!, b, start, end);
  const labels: Label[] = [];
  for (const [label, field] of [
    ["span_id", "spanId"],
    ["trace_id", "traceId"],
  ] as const) {
    const id = exemplar[field] as Uint8Array | undefined;
    if (id !== undefined && id.length > 0) labels.push([label, Buffer.from(id).toString("hex")]);
  }
  const own = attributesOf((exemplar["filteredAttributes"] ?? []) as KeyValueTree[]);
  return {
    labels: lengthOf([...labels, ...own]) <= MAX_EXEMPLAR_CHARACTERS ? [...labels, ...own] : labels,
    value: Number(exemplar["asDouble"] ?? exemplar["asInt"] ?? 0),
    timeMs: Number(((exemplar["timeUnixNano"] as bigint | undefined) ?? 0n) / 1_000_000n),
  };
}

/** Attributes of an exemplar have the names that they were given, as in the Collector. */
function attributesOf(attributes: readonly KeyValueTree[]): Label[] {
  return attributes.map(({ key = "", value }): Label => [key, plainValueText(plainValue(value))]);
}

function lengthOf(labels: readonly Label[]): number {
  return labels.reduce((sum, [name, value]) => sum + [...name].length + [...value].length, 0);
}

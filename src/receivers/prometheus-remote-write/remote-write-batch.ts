import { ucumUnit, writeExponentialCounts } from "#metrics";
import { Batch } from "#otlp";
import { WireWriter } from "#otlp/bytes";
import {
  DATA_POINT_START_TIME_TAG,
  DATA_POINT_TAG,
  DATA_POINT_TIME_TAG,
  DISTRIBUTION_COUNT_TAG,
  DISTRIBUTION_SUM_TAG,
  EXPONENTIAL_ATTRIBUTES_TAG,
  EXPONENTIAL_EXEMPLARS_TAG,
  EXPONENTIAL_FLAGS_TAG,
  EXPONENTIAL_HISTOGRAM_TAG,
  GAUGE_TAG,
  HISTOGRAM_ATTRIBUTES_TAG,
  HISTOGRAM_BOUNDS_TAG,
  HISTOGRAM_BUCKET_COUNTS_TAG,
  HISTOGRAM_EXEMPLARS_TAG,
  HISTOGRAM_FLAGS_TAG,
  HISTOGRAM_TAG,
  METRIC_DESCRIPTION_TAG,
  METRIC_METADATA_TAG,
  METRIC_NAME_TAG,
  METRIC_UNIT_TAG,
  MONOTONIC_TAG,
  NUMBER_ATTRIBUTES_TAG,
  NUMBER_DOUBLE_TAG,
  NUMBER_EXEMPLARS_TAG,
  SUM_TAG,
  TEMPORALITY_TAG,
} from "#otlp/metric-tags";
import {
  OWNER_TAG,
  RESOURCE_ATTRIBUTES_TAG,
  RESOURCE_CONTAINER_TAG,
  SCHEMA_URL_TAG,
  SCOPE_ATTRIBUTES_TAG,
  SCOPE_CONTAINER_TAG,
  SCOPE_ITEM_TAG,
  SCOPE_NAME_TAG,
  SCOPE_VERSION_TAG,
} from "#otlp/tags";
import { packageVersion } from "#system";
import type { Steps } from "#work";
import { MalformedError } from "../../plugin.js";
import {
  CUSTOM_BUCKETS,
  customCounts,
  exponentialCounts,
  type NativeHistogram,
  readHistogram,
} from "./native-histogram.js";
import {
  METRIC_TYPE,
  NO_VALUE,
  type SeriesRequest,
  seriesKey,
  type WrittenExemplar,
  type WrittenSeries,
} from "./read-request.js";
import {
  isSameResource,
  isSameScope,
  readLabels,
  resourceKeyOf,
  type SeriesLabels,
  scopeKeyOf,
} from "./series-labels.js";
import { writeExemplar, writeMilliseconds, writeTextAttribute } from "./write-fields.js";

/** Attributes of resources that `target_info` has told, by job and instance. The least recently used are forgotten. */
export class KnownResources {
  private readonly known = new Map<string, ReadonlyMap<string, string>>();

  get(key: string): ReadonlyMap<string, string> | undefined {
    const found = this.known.get(key);
    if (found !== undefined) this.set(key, found);
    return found;
  }

  set(key: string, attributes: ReadonlyMap<string, string>): void {
    let size = key.length;
    for (const [name, value] of attributes) size += name.length + value.length;
    this.known.delete(key);
    if (size > MAX_RESOURCE_LENGTH) return;
    this.known.set(key, attributes);
    if (this.known.size > MAX_RESOURCES) this.known.delete(this.known.keys().next().value!);
  }
}

const MAX_RESOURCES = 1000;
const MAX_METRICS = 10_000;
const MAX_RESOURCE_LENGTH = 64 * 1024;
/** Labels are repeated in every point, so a request may grow, but to this only. */
const MAX_BATCH_BYTES = 64 * 1024 * 1024;

interface WrittenResource {
  readonly attributes: Map<string, string>;
  readonly scopes: Map<string, ScopeState>;
  /** The scope of its last series. */
  lastScope: ScopeState | undefined;
}

interface ScopeState {
  readonly labels: SeriesLabels;
  readonly metrics: Map<string, MetricState>;
}

interface MetricState {
  readonly scope: ScopeState;
  readonly name: string;
  /** The unit as it was sent. */
  readonly sentUnit: string;
  readonly unit: string;
  readonly form: MetricForm;
  description: string;
  readonly points: WireWriter;
}

/** How a type of metric is written: the tag of its data, whether that says how it adds up, and its name in metadata. */
interface MetricForm {
  readonly tag: number;
  readonly type: string;
  readonly isCumulative: boolean;
  readonly isMonotonic: boolean;
}

const form = (tag: number, type: string, isMonotonic = false): MetricForm => ({
  tag,
  type,
  isCumulative: tag !== GAUGE_TAG,
  isMonotonic,
});

/** Samples by their type. Parts of classic histograms and summaries are gauges with names of their own. */
const SAMPLE_FORMS: Readonly<Record<number, MetricForm>> = {
  [METRIC_TYPE.unspecified]: form(GAUGE_TAG, "unknown"),
  [METRIC_TYPE.counter]: form(SUM_TAG, "counter", true),
  [METRIC_TYPE.gauge]: form(GAUGE_TAG, "gauge"),
  [METRIC_TYPE.histogram]: form(GAUGE_TAG, "histogram"),
  [METRIC_TYPE.gaugeHistogram]: form(GAUGE_TAG, "gaugehistogram"),
  [METRIC_TYPE.summary]: form(GAUGE_TAG, "summary"),
  [METRIC_TYPE.info]: form(SUM_TAG, "info"),
  [METRIC_TYPE.stateSet]: form(SUM_TAG, "stateset"),
};

/** Makes a batch of metrics of a request, series by series. */
export class RemoteWriteBatch {
  /** How much of the request was taken. */
  readonly written = { samples: 0, histograms: 0, exemplars: 0 };
  private readonly request: SeriesRequest;
  private readonly known: KnownResources;
  private readonly maxPoints: number;
  private readonly resources = new Map<string, WrittenResource>();
  private readonly out = new WireWriter(65_536);
  /** Those of all resources that are not written yet. */
  private metrics = 0;
  private readonly labelWriter = new WireWriter();
  /** Of the last series: the next one mostly has the same, and comparing is faster than making keys. */
  private lastOwner: { readonly labels: SeriesLabels; readonly resource: WrittenResource } | undefined;
  private lastMetric: MetricState | undefined;
  private count = 0;
  private size = 0;

  constructor(request: SeriesRequest, known: KnownResources, maxPoints: number) {
    this.request = request;
    this.known = known;
    this.maxPoints = maxPoints;
  }

  /** Reads the request, and stops from time to time. Throws a `MalformedError` if it is invalid. */
  *read(): Steps<void> {
    const { request } = this;
    yield* request.prepare();
    for (let series = request.nextSeries(); series !== undefined; series = request.nextSeries()) {
      yield* this.add(series);
      yield;
    }
  }

  private *add(series: WrittenSeries): Steps<void> {
    const labels = readLabels(series.labels);
    const resource = this.resourceOf(labels);
    if (labels.name === "target_info") this.addTargetInfo(series, labels, resource);
    else {
      if (series.samples.length > 0) this.addSamples(series, labels, resource);
      if (series.histograms.length > 0) yield* this.addHistograms(series, labels, resource);
    }
    if (this.resources.size >= MAX_RESOURCES || this.metrics >= MAX_METRICS) this.writeResources();
  }

  private resourceOf(labels: SeriesLabels): WrittenResource {
    const { lastOwner } = this;
    if (lastOwner !== undefined && isSameResource(lastOwner.labels, labels)) return lastOwner.resource;
    const resource = this.findResource(labels);
    this.lastOwner = { labels, resource };
    return resource;
  }

  private findResource(labels: SeriesLabels): WrittenResource {
    const key = resourceKeyOf(labels);
    const state = this.resources.get(key);
    if (state !== undefined) return state;
    const attributes = new Map(this.known.get(key) ?? resourceAttributes(labels.job, labels.instance));
    const created = { attributes, scopes: new Map(), lastScope: undefined };
    this.resources.set(key, created);
    return created;
  }

  private addTargetInfo(series: WrittenSeries, labels: SeriesLabels, { attributes }: WrittenResource): void {
    eachLabel(series.labels, (name, value) => {
      if (!NOT_OF_TARGET.has(name)) attributes.set(name, value);
    });
    this.known.set(resourceKeyOf(labels), new Map(attributes));
    this.written.samples += series.samples.length;
  }

  private addSamples(series: WrittenSeries, labels: SeriesLabels, resource: WrittenResource): void {
    const metricForm = SAMPLE_FORMS[series.type];
    if (metricForm === undefined) throw new MalformedError(`there is no metric type ${series.type}`, -1);
    const { points } = this.metricOf(series, labels, resource, metricForm);
    const attributes = this.encodeLabels(labels, NUMBER_ATTRIBUTES_TAG);
    let exemplars = metricForm.tag === SUM_TAG ? this.exemplarsOf(series) : [];
    for (const { valueAt, timestamp, startTimestamp } of series.samples) {
      this.grow(attributes.length);
      points.byte(DATA_POINT_TAG);
      points.begin(attributes.length + 27);
      writeMilliseconds(points, DATA_POINT_START_TIME_TAG, startTimestamp);
      writeMilliseconds(points, DATA_POINT_TIME_TAG, timestamp);
      points.byte(NUMBER_DOUBLE_TAG);
      // Copied, because a NaN may say that the series has ended.
      if (valueAt === NO_VALUE) points.double(0);
      else points.copy(this.request.bytes, valueAt, valueAt + 8);
      points.copy(attributes, 0, attributes.length);
      for (const exemplar of exemplars) writeExemplar(points, NUMBER_EXEMPLARS_TAG, exemplar);
      points.end();
      exemplars = [];
    }
    this.written.samples += series.samples.length;
  }

  private *addHistograms(series: WrittenSeries, labels: SeriesLabels, resource: WrittenResource): Steps<void> {
    let exemplars = this.exemplarsOf(series);
    for (const message of series.histograms) {
      yield;
      const histogram = readHistogram(message, this.request.bytes);
      // OTLP has no gauges of histograms.
      if (histogram.isGauge || !this.addHistogram(histogram, series, labels, resource, exemplars)) continue;
      exemplars = [];
      this.written.histograms++;
    }
  }

  /** Returns false for histograms that OTLP cannot hold. */
  private addHistogram(
    histogram: NativeHistogram,
    series: WrittenSeries,
    labels: SeriesLabels,
    resource: WrittenResource,
    exemplars: readonly WrittenExemplar[],
  ): boolean {
    const { schema } = histogram;
    const isCustom = schema === CUSTOM_BUCKETS;
    if (isCustom ? histogram.bounds.length === 0 : schema < -4 || schema > 8) return false;
    const counts = isCustom ? undefined : exponentialCounts(histogram);
    if (!isCustom && counts === undefined) return false;
    const type = SAMPLE_FORMS[series.type]?.type ?? "unknown";
    const metricForm = form(isCustom ? HISTOGRAM_TAG : EXPONENTIAL_HISTOGRAM_TAG, type);
    const { points } = this.metricOf(series, labels, resource, metricForm);
    const tags = isCustom ? HISTOGRAM_TAGS : EXPONENTIAL_TAGS;
    const attributes = this.encodeLabels(labels, tags.attributes);
    const buckets = (counts?.positive.counts.length ?? 0) + (counts?.negative.counts.length ?? 0);
    this.grow(attributes.length + (histogram.bounds.length + buckets) * 16);
    points.byte(DATA_POINT_TAG);
    points.begin(attributes.length + 120);
    writeMilliseconds(points, DATA_POINT_START_TIME_TAG, histogram.startTimestamp);
    writeMilliseconds(points, DATA_POINT_TIME_TAG, histogram.timestamp);
    if (counts === undefined) writeCustomCounts(points, histogram);
    else writeExponentialCounts(points, counts);
    if (histogram.isStale) {
      points.byte(tags.flags);
      points.byte(1);
    }
    points.copy(attributes, 0, attributes.length);
    for (const exemplar of exemplars) writeExemplar(points, tags.exemplars, exemplar);
    points.end();
    return true;
  }

  /** The first point of a series gets its exemplars, even if the request has several series with the same labels. */
  private exemplarsOf(series: WrittenSeries): readonly WrittenExemplar[] {
    const { exemplars } = this.request;
    if (exemplars.size === 0) return [];
    const key = seriesKey(series.labels);
    const found = exemplars.get(key) ?? [];
    exemplars.delete(key);
    this.written.exemplars += found.length;
    return found;
  }

  /** Counts a point. Throws a `MalformedError` if the batch would become too large. */
  private grow(size: number): void {
    this.size += size + 60;
    if (++this.count > this.maxPoints || this.size > MAX_BATCH_BYTES)
      throw new MalformedError("the request has too many points and labels; send it in parts", -1);
  }

  private encodeLabels({ attributes }: SeriesLabels, tag: number): Uint8Array {
    const writer = this.labelWriter;
    writer.clear();
    for (let i = 0; i < attributes.length; i += 2) writeTextAttribute(writer, tag, attributes[i]!, attributes[i + 1]!);
    return writer.written();
  }

  private metricOf(
    series: WrittenSeries,
    labels: SeriesLabels,
    resource: WrittenResource,
    metricForm: MetricForm,
  ): MetricState {
    const scope = scopeOf(resource, labels);
    const { help: description, unit } = series;
    const metric = this.findMetric(scope, metricForm, labels.name, unit);
    if (metric.description.length < description.length) metric.description = description;
    return metric;
  }

  private findMetric(scope: ScopeState, metricForm: MetricForm, name: string, sentUnit: string): MetricState {
    const { lastMetric: last } = this;
    if (last !== undefined && last.scope === scope && last.name === name && last.sentUnit === sentUnit)
      if (last.form.tag === metricForm.tag && last.form.type === metricForm.type) return last;
    const key = `${metricForm.tag} ${metricForm.type} ${sentUnit} ${name}`;
    let metric = scope.metrics.get(key);
    if (metric === undefined) {
      const [unit, points] = [ucumUnit(sentUnit), new WireWriter(256)];
      metric = { scope, name, sentUnit, unit, form: metricForm, description: "", points };
      scope.metrics.set(key, metric);
      this.metrics++;
    }
    this.lastMetric = metric;
    return metric;
  }

  finish(): Batch[] {
    if (this.count === 0) return [];
    this.writeResources();
    return [Batch.trusted("metrics", Buffer.from(this.out.written()), this.count)];
  }

  /** Writes the points so far, lest very many resources or metrics are written in one go. Later points are in others. */
  private writeResources(): void {
    for (const resource of this.resources.values()) if (resource.scopes.size > 0) writeResource(this.out, resource);
    this.resources.clear();
    this.metrics = 0;
    this.lastOwner = undefined;
    this.lastMetric = undefined;
  }
}

const HISTOGRAM_TAGS = {
  attributes: HISTOGRAM_ATTRIBUTES_TAG,
  flags: HISTOGRAM_FLAGS_TAG,
  exemplars: HISTOGRAM_EXEMPLARS_TAG,
};
const EXPONENTIAL_TAGS = {
  attributes: EXPONENTIAL_ATTRIBUTES_TAG,
  flags: EXPONENTIAL_FLAGS_TAG,
  exemplars: EXPONENTIAL_EXEMPLARS_TAG,
};
/** Labels of target_info that are no attributes of the resource. */
const NOT_OF_TARGET = new Set(["job", "instance", "__name__", "__type__", "__unit__"]);
const DEFAULT_SCOPE = "Sluice";
const version = packageVersion();

/** A job may have a namespace in front of the name of the service. */
function resourceAttributes(job: string, instance: string): [string, string][] {
  const attributes: [string, string][] = instance === "" ? [] : [["service.instance.id", instance]];
  if (job === "") return attributes;
  const [namespace, name, ...rest] = job.split("/");
  if (name === undefined || rest.length > 0) return [...attributes, ["service.name", job]];
  return [...attributes, ["service.namespace", namespace!], ["service.name", name]];
}

function eachLabel(labels: readonly string[], visit: (name: string, value: string) => void): void {
  for (let i = 0; i < labels.length; i += 2) visit(labels[i]!, labels[i + 1]!);
}

function scopeOf(resource: WrittenResource, labels: SeriesLabels): ScopeState {
  const { scopes, lastScope } = resource;
  if (lastScope !== undefined && isSameScope(lastScope.labels, labels)) return lastScope;
  const key = scopeKeyOf(labels);
  let scope = scopes.get(key);
  if (scope === undefined) {
    scope = { labels, metrics: new Map() };
    scopes.set(key, scope);
  }
  resource.lastScope = scope;
  return scope;
}

function writeResource(writer: WireWriter, { attributes, scopes }: WrittenResource): void {
  writer.byte(RESOURCE_CONTAINER_TAG);
  writer.begin(1000);
  writer.byte(OWNER_TAG);
  writer.begin(100);
  for (const [name, value] of attributes) writeTextAttribute(writer, RESOURCE_ATTRIBUTES_TAG, name, value);
  writer.end();
  for (const scope of scopes.values()) writeScope(writer, scope);
  writer.end();
}

function writeScope(writer: WireWriter, { labels, metrics }: ScopeState): void {
  writer.byte(SCOPE_CONTAINER_TAG);
  writer.begin(1000);
  writer.byte(OWNER_TAG);
  writer.begin(50);
  writer.byte(SCOPE_NAME_TAG);
  writer.text(labels.scopeName || DEFAULT_SCOPE);
  writer.byte(SCOPE_VERSION_TAG);
  writer.text(labels.scopeVersion || version);
  eachLabel(labels.scopeAttributes, (name, value) => writeTextAttribute(writer, SCOPE_ATTRIBUTES_TAG, name, value));
  writer.end();
  for (const metric of metrics.values()) writeMetric(writer, metric);
  if (labels.schemaUrl !== "") {
    writer.byte(SCHEMA_URL_TAG);
    writer.text(labels.schemaUrl);
  }
  writer.end();
}

function writeMetric(
  writer: WireWriter,
  { name, unit, description, form: { tag, type, ...adds }, points }: MetricState,
): void {
  writer.byte(SCOPE_ITEM_TAG);
  writer.begin(points.length + 100);
  for (const [field, text] of [
    [METRIC_NAME_TAG, name],
    [METRIC_DESCRIPTION_TAG, description],
    [METRIC_UNIT_TAG, unit],
  ] as const) {
    if (text === "") continue;
    writer.byte(field);
    writer.text(text);
  }
  writer.byte(tag);
  writer.begin(points.length + 4);
  writer.copy(points.bytes, 0, points.length);
  if (adds.isCumulative) {
    writer.byte(TEMPORALITY_TAG);
    writer.byte(2);
  }
  if (adds.isMonotonic) {
    writer.byte(MONOTONIC_TAG);
    writer.byte(1);
  }
  writer.end();
  writeTextAttribute(writer, METRIC_METADATA_TAG, "prometheus.type", type);
  writer.end();
}

function writeCustomCounts(writer: WireWriter, histogram: NativeHistogram): void {
  if (!histogram.isStale) {
    writer.byte(DISTRIBUTION_COUNT_TAG);
    writer.fixed64OfNumber(Math.max(0, Math.trunc(histogram.count)));
    writer.byte(DISTRIBUTION_SUM_TAG);
    writer.double(histogram.sum);
  }
  const counts = customCounts(histogram);
  writer.byte(HISTOGRAM_BUCKET_COUNTS_TAG);
  writer.begin(counts.length * 8);
  for (const count of counts) writer.fixed64OfNumber(count);
  writer.end();
  writer.byte(HISTOGRAM_BOUNDS_TAG);
  writer.begin(histogram.bounds.length * 8);
  for (const bound of histogram.bounds) writer.double(bound);
  writer.end();
}

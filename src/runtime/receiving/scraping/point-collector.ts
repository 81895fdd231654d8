import { Batch } from "#otlp";
import { WireWriter } from "#otlp/bytes";
import {
  DATA_POINT_START_TIME_TAG,
  DATA_POINT_TAG,
  DATA_POINT_TIME_TAG,
  GAUGE_TAG,
  METRIC_DESCRIPTION_TAG,
  METRIC_NAME_TAG,
  METRIC_UNIT_TAG,
  MONOTONIC_TAG,
  NUMBER_ATTRIBUTES_TAG,
  NUMBER_DOUBLE_TAG,
  NUMBER_INT_TAG,
  SUM_TAG,
  TEMPORALITY_TAG,
} from "#otlp/metric-tags";
import {
  ARRAY_VALUE_TAG,
  BOOL_VALUE_TAG,
  DOUBLE_VALUE_TAG,
  ELEMENT_TAG,
  INT_VALUE_TAG,
  KEY_TAG,
  OWNER_TAG,
  RESOURCE_ATTRIBUTES_TAG,
  RESOURCE_CONTAINER_TAG,
  SCHEMA_URL_TAG,
  SCOPE_CONTAINER_TAG,
  SCOPE_ITEM_TAG,
  SCOPE_NAME_TAG,
  STRING_VALUE_TAG,
  VALUE_TAG,
} from "#otlp/tags";
import type { MetricSelection, MetricTable, PointAggregation, ScrapedMetric } from "./scraped-metric.js";

type PointLabels = Readonly<Record<string, string | number | boolean | readonly string[]>>;
/** The attributes of a resource. */
export type PointResource = Readonly<Record<string, string | number | boolean>>;

interface CollectedPoint {
  value: number;
  readonly attributes: PointLabels;
  /** How many values are in `value`, if it is their average. */
  parts?: number;
}

interface CollectedMetric {
  readonly metric: ScrapedMetric;
  readonly points: CollectedPoint[];
  /** Points that others with the same attributes are merged into. */
  readonly merged: Map<string, CollectedPoint>;
}

/** The instrumentation scope and the schema of the attributes, as the Collector names them. */
export interface PointOrigin {
  readonly scope?: string;
  readonly schemaUrl?: string;
}

/** The latest time that fits into 64 bits of nanoseconds, in milliseconds. */
const MAX_TIME_MS = 18_446_744_073_709;

/** Collects the points of one resource, by metric. */
export class PointCollector {
  private readonly startMs: number;
  private readonly resource: PointResource;
  private readonly origin: PointOrigin;
  private readonly metrics = new Map<string, CollectedMetric>();

  /** `startMs` is the time when counters were 0. What is no time, because the source is damaged, counts as unknown. */
  constructor(startMs: number, resource: PointResource = {}, origin: PointOrigin = {}) {
    this.startMs = startMs >= 0 && startMs < MAX_TIME_MS ? startMs : 0;
    this.resource = resource;
    this.origin = origin;
  }

  get isEmpty(): boolean {
    return this.metrics.size === 0;
  }

  /** A collector for another resource with the same start time. */
  forResource(resource: PointResource): PointCollector {
    return new PointCollector(this.startMs, resource, this.origin);
  }

  add(metric: ScrapedMetric, name: string, value: number, attributes: PointLabels): void {
    this.metricOf(metric, name).points.push({ value, attributes });
  }

  /** Like `add`, but values with the same attributes become one point. */
  merge(metric: ScrapedMetric, name: string, value: number, attributes: PointLabels, strategy: PointAggregation): void {
    const { points, merged } = this.metricOf(metric, name);
    const key = JSON.stringify(attributes);
    const known = merged.get(key);
    if (known !== undefined) return mergeValue(known, value, strategy);
    const point: CollectedPoint = { value, attributes, ...(strategy === "avg" && { parts: 1 }) };
    merged.set(key, point);
    points.push(point);
  }

  private metricOf(metric: ScrapedMetric, name: string): CollectedMetric {
    const known = this.metrics.get(name);
    if (known !== undefined) return known;
    const added = { metric, points: [], merged: new Map() };
    this.metrics.set(name, added);
    return added;
  }

  /** Writes the points as a ResourceMetrics. */
  write(writer: WireWriter, timeMs: number): void {
    const { scope, schemaUrl } = this.origin;
    writer.byte(RESOURCE_CONTAINER_TAG);
    writer.begin(USUAL_SIZE);
    writer.byte(OWNER_TAG);
    writer.begin();
    writeAttributes(writer, RESOURCE_ATTRIBUTES_TAG, this.resource);
    writer.end();
    writer.byte(SCOPE_CONTAINER_TAG);
    writer.begin(USUAL_SIZE);
    writer.byte(OWNER_TAG);
    writer.begin();
    if (scope !== undefined) writeTextField(writer, SCOPE_NAME_TAG, scope);
    writer.end();
    const times = { start: nanoseconds(this.startMs), now: nanoseconds(timeMs) };
    for (const [name, metric] of this.metrics) writeMetric(writer, name, metric, times);
    writer.end();
    if (schemaUrl !== undefined) writeTextField(writer, SCHEMA_URL_TAG, schemaUrl);
    writer.end();
  }
}

/** Any number of two bytes: smaller messages are moved by one byte. */
const USUAL_SIZE = 1000;
const CUMULATIVE = 2;

/** Times of points, in nanoseconds. */
interface PointNanoseconds {
  readonly start: bigint;
  readonly now: bigint;
}

function writeMetric(
  writer: WireWriter,
  name: string,
  { metric, points }: CollectedMetric,
  times: PointNanoseconds,
): void {
  const { unit, description, kind, isInteger } = metric;
  writer.byte(SCOPE_ITEM_TAG);
  writer.begin(USUAL_SIZE);
  writeTextField(writer, METRIC_NAME_TAG, name);
  writeTextField(writer, METRIC_UNIT_TAG, unit);
  writeTextField(writer, METRIC_DESCRIPTION_TAG, description);
  writer.byte(kind === "gauge" ? GAUGE_TAG : SUM_TAG);
  writer.begin(points.length * 50);
  for (const point of points) writePoint(writer, point, isInteger, times);
  if (kind !== "gauge") {
    writer.byte(TEMPORALITY_TAG);
    writer.byte(CUMULATIVE);
    writer.byte(MONOTONIC_TAG);
    writer.byte(kind === "counter" ? 1 : 0);
  }
  writer.end();
  writer.end();
}

function writePoint(
  writer: WireWriter,
  point: CollectedPoint,
  isInteger: boolean,
  { start, now }: PointNanoseconds,
): void {
  const { value, attributes, parts = 1 } = point;
  const number = isInteger ? Math.round(value / parts) : value / parts;
  if (isInteger && !(Math.abs(number) < MAX_INTEGER)) return; // a sum of others that no longer fits
  writer.byte(DATA_POINT_TAG);
  writer.begin();
  writer.byte(DATA_POINT_START_TIME_TAG);
  writer.fixed64(start);
  writer.byte(DATA_POINT_TIME_TAG);
  writer.fixed64(now);
  writer.byte(isInteger ? NUMBER_INT_TAG : NUMBER_DOUBLE_TAG);
  if (isInteger) writer.fixed64OfNumber(number);
  else writer.double(number);
  writeAttributes(writer, NUMBER_ATTRIBUTES_TAG, attributes);
  writer.end();
}

function writeAttributes(writer: WireWriter, tag: number, attributes: PointLabels): void {
  for (const key in attributes) {
    writer.byte(tag);
    writer.begin();
    writeTextField(writer, KEY_TAG, key);
    writer.byte(VALUE_TAG);
    writer.begin();
    writeLabel(writer, attributes[key]!);
    writer.end();
    writer.end();
  }
}

function writeLabel(writer: WireWriter, value: PointLabels[string]): void {
  if (typeof value === "string") writeTextField(writer, STRING_VALUE_TAG, value);
  else if (typeof value === "boolean") {
    writer.byte(BOOL_VALUE_TAG);
    writer.byte(value ? 1 : 0);
  } else if (typeof value !== "number") {
    writer.byte(ARRAY_VALUE_TAG);
    writer.begin();
    for (const text of value) {
      writer.byte(ELEMENT_TAG);
      writer.begin(text.length + 2);
      writeTextField(writer, STRING_VALUE_TAG, text);
      writer.end();
    }
    writer.end();
  } else if (Number.isSafeInteger(value)) {
    writer.byte(INT_VALUE_TAG);
    writer.varintOfNumber(value);
  } else {
    writer.byte(DOUBLE_VALUE_TAG);
    writer.double(value);
  }
}

function writeTextField(writer: WireWriter, tag: number, text: string): void {
  writer.byte(tag);
  writer.text(text);
}

function mergeValue(point: CollectedPoint, value: number, strategy: PointAggregation): void {
  if (strategy === "min") point.value = Math.min(point.value, value);
  else if (strategy === "max") point.value = Math.max(point.value, value);
  else {
    point.value += value;
    if (strategy === "avg") point.parts! += 1;
  }
}

/** The enabled metrics of a table, as the target of measurements. */
export class MetricOutput<Table extends MetricTable> {
  private readonly table: Table;
  private readonly wanted: ReadonlyMap<string, PointSelection>;

  /** `metrics` is the config: `{ enabled, attributes, aggregation_strategy }` by name. */
  constructor(table: Table, metrics: Readonly<Record<string, unknown>>) {
    this.table = table;
    this.wanted = wantedMetrics(table, metrics);
  }

  wants(name: keyof Table & string): boolean {
    return this.wanted.has(name);
  }

  /** A value that is not a number, or does not fit into a point, is skipped. */
  add(
    points: PointCollector,
    name: keyof Table & string,
    value: number | undefined,
    attributes: PointLabels = {},
  ): void {
    const selection = this.wanted.get(name);
    if (value === undefined || !Number.isFinite(value) || selection === undefined) return;
    const metric = this.table[name]!;
    if (metric.isInteger && Math.abs(value) >= MAX_INTEGER) return;
    const { keeps, strategy } = selection;
    if (keepsAll(attributes, keeps)) return points.add(metric, name, value, attributes);
    const kept = Object.entries(attributes).filter(([key]) => keeps(key));
    points.merge(metric, name, value, Object.fromEntries(kept), strategy);
  }
}

function keepsAll(attributes: PointLabels, keeps: (attribute: string) => boolean): boolean {
  for (const key in attributes) if (!keeps(key)) return false;
  return true;
}

/** The attributes that points of a metric keep, and how to merge points that differ only in the others. */
interface PointSelection {
  readonly keeps: (attribute: string) => boolean;
  readonly strategy: PointAggregation;
}

/** Integers of points have 64 bits and a sign. */
const MAX_INTEGER = 2 ** 63;

function wantedMetrics(table: MetricTable, metrics: Readonly<Record<string, unknown>>): Map<string, PointSelection> {
  const wanted = new Map<string, PointSelection>();
  for (const [name, metric] of Object.entries(table)) {
    const written = metrics[name] as MetricSelection | undefined;
    if (!(written?.enabled ?? metric.isOptional !== true)) continue;
    const { optIn = [] } = metric;
    const chosen = written?.attributes;
    wanted.set(name, {
      keeps: chosen === undefined ? (key) => !optIn.includes(key) : (key) => chosen.includes(key),
      strategy: written?.aggregation_strategy ?? (metric.kind === "gauge" ? "avg" : "sum"),
    });
  }
  return wanted;
}

export function batchOfPoints(collectors: readonly PointCollector[], timeMs: number): Batch {
  const writer = new WireWriter(4096);
  for (const each of collectors) if (!each.isEmpty) each.write(writer, timeMs);
  return Batch.admit("metrics", writer.written());
}

function nanoseconds(ms: number): bigint {
  return BigInt(Math.floor(ms)) * 1_000_000n;
}

import type { Batch } from "#otlp";
import { encodeTree } from "#otlp/json";
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

  /** A ResourceMetrics tree with the names of OTLP/JSON. */
  tree(timeMs: number) {
    const metrics = [...this.metrics].map(([name, { metric, points }]) => {
      const { unit, description, kind, isInteger } = metric;
      const dataPoints = points.map(({ value, attributes, parts = 1 }) => ({
        startTimeUnixNano: nanoseconds(this.startMs),
        timeUnixNano: nanoseconds(timeMs),
        ...(isInteger ? { asInt: BigInt(Math.round(value / parts)) } : { asDouble: value / parts }),
        attributes: keyValues(attributes),
      }));
      const sum = { dataPoints, aggregationTemporality: 2, isMonotonic: kind === "counter" };
      return { name, unit, description, ...(kind === "gauge" ? { gauge: { dataPoints } } : { sum }) };
    });
    const { scope: name, schemaUrl } = this.origin;
    return {
      resource: { attributes: keyValues(this.resource) },
      scopeMetrics: [{ scope: name === undefined ? {} : { name }, metrics }],
      ...(schemaUrl !== undefined && { schemaUrl }),
    };
  }
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
    const kept = Object.entries(attributes).filter(([key]) => keeps(key));
    if (kept.length === Object.keys(attributes).length) points.add(metric, name, value, attributes);
    else points.merge(metric, name, value, Object.fromEntries(kept), strategy);
  }
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
  const resourceMetrics = collectors.filter(({ isEmpty }) => !isEmpty).map((each) => each.tree(timeMs));
  return encodeTree("metrics", { resourceMetrics } as Parameters<typeof encodeTree>[1]);
}

function nanoseconds(ms: number): bigint {
  return BigInt(Math.floor(ms)) * 1_000_000n;
}

function keyValues(attributes: PointLabels) {
  return Object.entries(attributes).map(([key, value]) => ({ key, value: anyValue(value) }));
}

function anyValue(value: PointLabels[string]) {
  if (typeof value === "number")
    return Number.isSafeInteger(value) ? { intValue: BigInt(value) } : { doubleValue: value };
  if (typeof value === "string") return { stringValue: value };
  if (typeof value === "boolean") return { boolValue: value };
  return { arrayValue: { values: value.map((stringValue) => ({ stringValue })) } };
}

import type { Batch } from "#otlp";
import { encodeTree } from "#otlp/json";
import type { MetricTable, ScrapedMetric } from "./scraped-metric.js";

type PointLabels = Readonly<Record<string, string | number | readonly string[]>>;

interface CollectedPoint {
  readonly value: number;
  readonly attributes: PointLabels;
}

/** The latest time that fits into 64 bits of nanoseconds, in milliseconds. */
const MAX_TIME_MS = 18_446_744_073_709;

/** Collects the points of one resource, by metric. */
export class PointCollector {
  private readonly startMs: number;
  private readonly resource: Readonly<Record<string, string | number>>;
  private readonly metrics = new Map<string, { metric: ScrapedMetric; points: CollectedPoint[] }>();

  /** `startMs` is the time when counters were 0. What is no time, because the source is damaged, counts as unknown. */
  constructor(startMs: number, resource: Readonly<Record<string, string | number>> = {}) {
    this.startMs = startMs >= 0 && startMs < MAX_TIME_MS ? startMs : 0;
    this.resource = resource;
  }

  get isEmpty(): boolean {
    return this.metrics.size === 0;
  }

  /** A collector for another resource with the same start time. */
  forResource(resource: Readonly<Record<string, string | number>>): PointCollector {
    return new PointCollector(this.startMs, resource);
  }

  add(metric: ScrapedMetric, name: string, value: number, attributes: PointLabels): void {
    let known = this.metrics.get(name);
    if (known === undefined) {
      known = { metric, points: [] };
      this.metrics.set(name, known);
    }
    known.points.push({ value, attributes });
  }

  /** A ResourceMetrics tree with the names of OTLP/JSON. */
  tree(timeMs: number) {
    const metrics = [...this.metrics].map(([name, { metric, points }]) => {
      const { unit, description, kind, isInteger } = metric;
      const dataPoints = points.map(({ value, attributes }) => ({
        ...(kind === "counter" && { startTimeUnixNano: nanoseconds(this.startMs) }),
        timeUnixNano: nanoseconds(timeMs),
        ...(isInteger ? { asInt: BigInt(Math.round(value)) } : { asDouble: value }),
        attributes: keyValues(attributes),
      }));
      const sum = { dataPoints, aggregationTemporality: 2, isMonotonic: kind === "counter" };
      return { name, unit, description, ...(kind === "gauge" ? { gauge: { dataPoints } } : { sum }) };
    });
    return { resource: { attributes: keyValues(this.resource) }, scopeMetrics: [{ scope: {}, metrics }] };
  }
}

/** The enabled metrics of a table, as the target of measurements. */
export class MetricOutput<Table extends MetricTable> {
  private readonly table: Table;
  private readonly wanted: ReadonlySet<string>;

  /** `metrics` is the config: `{ enabled }` by name. */
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
    if (value === undefined || !Number.isFinite(value) || !this.wanted.has(name)) return;
    const metric = this.table[name]!;
    if (metric.isInteger && Math.abs(value) >= MAX_INTEGER) return;
    points.add(metric, name, value, attributes);
  }
}

/** Integers of points have 64 bits and a sign. */
const MAX_INTEGER = 2 ** 63;

function wantedMetrics(table: MetricTable, metrics: Readonly<Record<string, unknown>>): ReadonlySet<string> {
  const names = Object.entries(table).flatMap(([name, { isOptional }]) => {
    const written = metrics[name] as { enabled?: boolean } | undefined;
    return (written?.enabled ?? isOptional !== true) ? [name] : [];
  });
  return new Set(names);
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
  return { arrayValue: { values: value.map((stringValue) => ({ stringValue })) } };
}

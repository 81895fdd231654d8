import { type Batch, encodeTree } from "../../plugin.js";
import { HOST_METRICS, type HostMetric, type ScraperName } from "./metrics.js";

type PointLabels = Readonly<Record<string, string>>;

interface CollectedPoint {
  readonly value: number;
  readonly attributes: PointLabels;
}

/** The points of one resource, metric by metric. */
export class PointCollector {
  private readonly startMs: number;
  private readonly resource: Readonly<Record<string, string | number>>;
  private readonly metrics = new Map<string, { metric: HostMetric; points: CollectedPoint[] }>();

  /** `startMs` is when counters were 0. */
  constructor(startMs: number, resource: Readonly<Record<string, string | number>> = {}) {
    this.startMs = startMs;
    this.resource = resource;
  }

  get isEmpty(): boolean {
    return this.metrics.size === 0;
  }

  add(metric: HostMetric, name: string, value: number, attributes: PointLabels): void {
    let known = this.metrics.get(name);
    if (known === undefined) {
      known = { metric, points: [] };
      this.metrics.set(name, known);
    }
    known.points.push({ value, attributes });
  }

  /** ResourceMetrics, with the names of OTLP/JSON. */
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

/** What a scraper measures into: the metrics of it that are wanted. */
export class ScraperOutput<Name extends ScraperName> {
  private readonly scraper: Name;
  private readonly wanted: ReadonlySet<string>;

  constructor(scraper: Name, metrics: Readonly<Record<string, unknown>>) {
    this.scraper = scraper;
    this.wanted = wantedMetrics(scraper, metrics);
  }

  wants(name: keyof (typeof HOST_METRICS)[Name] & string): boolean {
    return this.wanted.has(name);
  }

  /** A value that is no number is not known, and left out. */
  add(
    points: PointCollector,
    name: keyof (typeof HOST_METRICS)[Name] & string,
    value: number | undefined,
    attributes: PointLabels = {},
  ): void {
    if (value === undefined || !Number.isFinite(value) || !this.wanted.has(name)) return;
    const metrics: Readonly<Record<string, HostMetric>> = HOST_METRICS[this.scraper];
    points.add(metrics[name]!, name, value, attributes);
  }
}

function wantedMetrics(scraper: ScraperName, metrics: Readonly<Record<string, unknown>>): ReadonlySet<string> {
  const names = Object.entries<HostMetric>(HOST_METRICS[scraper]).flatMap(([name, { isOptional }]) => {
    const written = metrics[name] as { enabled?: boolean } | undefined;
    return (written?.enabled ?? isOptional !== true) ? [name] : [];
  });
  return new Set(names);
}

export function batchOf(collectors: readonly PointCollector[], timeMs: number): Batch {
  const resourceMetrics = collectors.filter(({ isEmpty }) => !isEmpty).map((each) => each.tree(timeMs));
  return encodeTree("metrics", { resourceMetrics } as Parameters<typeof encodeTree>[1]);
}

function nanoseconds(ms: number): bigint {
  return BigInt(Math.floor(ms)) * 1_000_000n;
}

function keyValues(attributes: Readonly<Record<string, string | number>>) {
  return Object.entries(attributes).map(([key, value]) => ({
    key,
    value: typeof value === "number" ? { intValue: BigInt(value) } : { stringValue: value },
  }));
}

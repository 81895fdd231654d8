import type { MetricAttributes, MetricDescription } from "#contract";
import type { MetricFamily, MetricRegistry } from "#host";

/** All metrics of a worker at one moment. */
export interface MetricsSnapshot {
  readonly families: readonly FamilySnapshot[];
}

export interface FamilySnapshot {
  readonly name: string;
  readonly description: MetricDescription;
  readonly kind: MetricFamily["kind"];
  readonly boundaries: readonly number[];
  readonly series: readonly SeriesSnapshot[];
}

export interface SeriesSnapshot {
  readonly attributes: MetricAttributes;
  /** The value of a counter or gauge. */
  readonly value: number;
  /** For a histogram, of each bucket: the number of values in it, and their sum. */
  readonly buckets: readonly Bucket[];
}

export interface Bucket {
  readonly count: number;
  readonly sum: number;
}

/** Takes the place of OpenTelemetry in a worker: keeps the values of its histograms, by bucket. */
export class WorkerMetrics {
  private readonly registry: MetricRegistry;
  /** By the attributes of the series, which are one object for each. */
  private readonly histograms = new Map<string, Map<MetricAttributes, { count: number; sum: number }[]>>();

  constructor(registry: MetricRegistry) {
    this.registry = registry;
    registry.watch((family) => {
      if (family.kind === "histogram") this.collect(family);
    });
  }

  snapshot(): MetricsSnapshot {
    return { families: [...this.registry.all()].map((family) => this.familySnapshot(family)) };
  }

  private collect(family: Extract<MetricFamily, { kind: "histogram" }>): void {
    const all = new Map<MetricAttributes, { count: number; sum: number }[]>();
    this.histograms.set(family.name, all);
    family.sink = (value, attributes) => {
      let buckets = all.get(attributes);
      if (buckets === undefined) {
        buckets = Array.from({ length: family.boundaries.length + 1 }, () => ({ count: 0, sum: 0 }));
        all.set(attributes, buckets);
      }
      const found = family.boundaries.findIndex((boundary) => value <= boundary);
      const bucket = buckets[found < 0 ? family.boundaries.length : found]!;
      bucket.count += 1;
      bucket.sum += value;
    };
    for (const series of family.series.values()) series.flush();
  }

  private familySnapshot(family: MetricFamily): FamilySnapshot {
    const { name, description, kind } = family;
    if (family.kind === "histogram") {
      const all = this.histograms.get(name) ?? new Map<MetricAttributes, Bucket[]>();
      const series = [...all].map(([attributes, buckets]) => ({ attributes, value: 0, buckets }));
      return { name, description, kind, boundaries: family.boundaries, series };
    }
    const series = [...family.series.values()].flatMap((one) => {
      const value = readSafely(one.read.bind(one));
      return value === undefined ? [] : [{ attributes: one.attributes, value, buckets: [] }];
    });
    return { name, description, kind, boundaries: [], series };
  }
}

/** A failing gauge must not prevent the others from being read. */
function readSafely(read: () => number): number | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}

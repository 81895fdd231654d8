import type { MetricAttributes } from "#contract";
import type { MetricRegistry } from "#host";
import type { Bucket, FamilySnapshot, MetricsSnapshot, SeriesSnapshot } from "./metrics-snapshot.js";

/** How the values of a gauge in several workers become one. All others are added up. */
const GAUGE_RULES: Readonly<Record<string, (values: readonly number[]) => number>> = {
  sluice_breaker_state: largest,
  sluice_exporter_paused: largest,
  sluice_exporter_queue_oldest_age: largest,
  sluice_exporter_queue_unwritable: largest,
  sluice_exporter_queue_disk_free: smallest,
  sluice_dead_letters_oldest_age: largest,
  sluice_failover_level: largest,
  sluice_adaptive_sampling_factor: smallest,
  sluice_adaptive_sampling_error_spike: largest,
  sluice_receiver_last_message_age: smallest,
  sluice_receiver_up: smallest,
  sluice_shared_state_up: smallest,
};

/** The parent, which has figures of its process too. */
export const PARENT = 0;

/** Not added up: only the parent's is shown. */
const ONLY_OF_PARENT: ReadonlySet<string> = new Set(["otelcol_process_uptime", "sluice_config_generation"]);

interface MergedGauge {
  readonly values: Map<number, number>;
  readonly remove: () => void;
}

/**
 * Puts the metrics of all workers into the registry of their parent. Counters and histograms go on when a worker is
 * started again, because only what was added since the last snapshot counts.
 */
export class MergedMetrics {
  private readonly registry: MetricRegistry;
  private readonly isDetailed: boolean;
  /** The last values of each worker, by series. */
  private readonly last = new Map<number, Map<string, SeriesSnapshot>>();
  private readonly gauges = new Map<string, MergedGauge>();

  /** With `isDetailed` the series of each worker stay apart, with the label `worker`. */
  constructor(registry: MetricRegistry, isDetailed: boolean) {
    this.registry = registry;
    this.isDetailed = isDetailed;
  }

  take(worker: number, { families }: MetricsSnapshot): void {
    const before = this.last.get(worker) ?? new Map<string, SeriesSnapshot>();
    const now = new Map<string, SeriesSnapshot>();
    const gauges = new Set<string>();
    for (const family of families) {
      if (worker !== PARENT && ONLY_OF_PARENT.has(family.name)) continue;
      for (const series of family.series) {
        const key = keyOf(family, series.attributes);
        now.set(key, series);
        if (family.kind === "gauge") gauges.add(this.setGauge(worker, family, series));
        else this.add(worker, family, series, before.get(key));
      }
    }
    this.last.set(worker, now);
    this.dropGauges(worker, gauges);
  }

  /** The worker has ended: its counters stay, its gauges go. */
  forget(worker: number): void {
    this.last.delete(worker);
    this.dropGauges(worker, new Set());
  }

  private attributesOf(worker: number, attributes: MetricAttributes): MetricAttributes {
    return this.isDetailed ? { ...attributes, worker: worker === PARENT ? "parent" : String(worker) } : attributes;
  }

  private add(
    worker: number,
    family: FamilySnapshot,
    { attributes, value, buckets }: SeriesSnapshot,
    before: SeriesSnapshot | undefined,
  ): void {
    const { name, description, boundaries } = family;
    const shown = this.attributesOf(worker, attributes);
    if (family.kind === "counter") {
      const added = value - (before?.value ?? 0);
      return this.registry.counter(name, description, shown).add(added);
    }
    const histogram = this.registry.histogram(name, { ...description, boundaries }, shown);
    for (const [index, bucket] of buckets.entries()) {
      const { count, mean } = addedTo(bucket, before?.buckets[index]);
      for (let recorded = 0; recorded < count; recorded++) histogram.record(mean);
    }
  }

  private setGauge(worker: number, family: FamilySnapshot, { attributes, value }: SeriesSnapshot): string {
    const shown = this.attributesOf(worker, attributes);
    const key = keyOf(family, shown);
    let gauge = this.gauges.get(key);
    if (gauge === undefined) {
      const values = new Map<number, number>();
      const { name, description } = family;
      const merge = GAUGE_RULES[name] ?? sum;
      const remove = this.registry.gauge(name, description, () => merge([...values.values()]), shown);
      gauge = { values, remove };
      this.gauges.set(key, gauge);
    }
    gauge.values.set(worker, value);
    return key;
  }

  private dropGauges(worker: number, kept: ReadonlySet<string>): void {
    for (const [key, { values, remove }] of this.gauges) {
      if (kept.has(key) || !values.delete(worker) || values.size > 0) continue;
      remove();
      this.gauges.delete(key);
    }
  }
}

/** The values that came into a bucket since then, each as their mean: their number and sum are exact. */
function addedTo(
  now: Bucket,
  before: Bucket = { count: 0, sum: 0 },
): { readonly count: number; readonly mean: number } {
  const count = now.count - before.count;
  return { count, mean: count === 0 ? 0 : (now.sum - before.sum) / count };
}

function keyOf({ name }: FamilySnapshot, attributes: MetricAttributes): string {
  return JSON.stringify([name, Object.entries(attributes).sort(([a], [b]) => (a < b ? -1 : 1))]);
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

function largest(values: readonly number[]): number {
  return Math.max(...values);
}

function smallest(values: readonly number[]): number {
  return Math.min(...values);
}

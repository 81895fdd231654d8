import type { InsightBy } from "#contract/insight";
import type { Clock, Metrics } from "../../plugin.js";
import type { InsightMeter } from "./insight-meter.js";

const STEP_MS = 60_000;
const SHOWN: readonly InsightBy[] = ["service", "metric", "span", "pattern"];

/**
 * The agent's own metrics about the largest names. There are at most `top` of each kind, so that they do not explode
 * themselves. A name that is not among the largest any more has no metric any more.
 */
export class TopMetrics {
  private readonly meter: InsightMeter;
  private readonly top: number;
  private readonly metrics: Metrics;
  private readonly clock: Clock;
  private readonly gauges = new Map<string, () => void>();
  private values = new Map<string, number>();
  private cancel = () => {};

  constructor(meter: InsightMeter, top: number, metrics: Metrics, clock: Clock) {
    this.meter = meter;
    this.top = top;
    this.metrics = metrics;
    this.clock = clock;
  }

  start(): void {
    if (this.top === 0) return;
    this.cancel = this.clock.after(STEP_MS, () => {
      this.start();
      this.refresh();
    });
  }

  stop(): void {
    this.cancel();
    for (const remove of this.gauges.values()) remove();
    this.gauges.clear();
  }

  refresh(): void {
    const values = new Map<string, number>();
    const names = new Map<string, Readonly<Record<string, string>>>();
    for (const by of SHOWN) {
      for (const [name, bytes] of this.largest(by)) {
        const key = `${by} ${name}`;
        values.set(key, bytes);
        names.set(key, { by, name });
      }
    }
    this.values = values;
    for (const [key, remove] of this.gauges) {
      if (values.has(key)) continue;
      remove();
      this.gauges.delete(key);
    }
    for (const [key, attributes] of names) if (!this.gauges.has(key)) this.gauges.set(key, this.gauge(key, attributes));
  }

  private gauge(key: string, attributes: Readonly<Record<string, string>>): () => void {
    const description = "Estimated bytes of the largest services, metrics, spans and patterns in the last hour.";
    const read = () => this.values.get(key) ?? 0;
    return this.metrics.gauge("sluice_insight_bytes", { description, unit: "By" }, read, attributes);
  }

  /** Bytes by name, over all places, scaled to what has passed. */
  private largest(by: InsightBy): readonly (readonly [string, number])[] {
    const { rows, places } = this.meter.snapshot(by);
    const scales = new Map(
      places.map(({ id, bytes, weightedBytes }) => [id, weightedBytes > 0 ? bytes / weightedBytes : 1]),
    );
    const sums = new Map<string, number>();
    for (const { name, bytes, place } of rows) sums.set(name, (sums.get(name) ?? 0) + bytes * (scales.get(place) ?? 1));
    return [...sums].sort(([, a], [, b]) => b - a).slice(0, this.top);
  }
}

import { ByteTable } from "#metrics";
import { ScrapedDistribution } from "./distribution.js";
import type { Metric } from "./metrics.js";

/**
 * State kept for every series of data points between scrapes: its attributes as OTLP bytes, its start time and its last
 * value. Arrays by slot avoid an object per series: there may be a million.
 */
export class PointSeries {
  /** By slot. */
  readonly metrics: (Metric | undefined)[] = [];
  readonly distributions: (ScrapedDistribution | undefined)[] = [];
  /** The last scrape that had the series. */
  seen = new Int32Array(16);
  /** 1 if its last point had a value without its own timestamp, so the end of the series must be reported. */
  isLive = new Uint8Array(16);
  /** The start time in milliseconds; 0 if it was never written. */
  start = new Float64Array(16);
  /** The last value of a counter; a smaller one means a reset. */
  last = new Float64Array(16);
  /** The start time reported by the target; 0 if there is none. */
  created = new Float64Array(16);
  /** The number of cached lines that belong to it. */
  lines = new Int32Array(16);
  private readonly table = new ByteTable();

  get size(): number {
    return this.table.size;
  }

  get slotLimit(): number {
    return this.table.slotLimit;
  }

  has(slot: number): boolean {
    return this.table.has(slot);
  }

  /** Returns the series of a metric with these attributes and creates it if needed. */
  slotOf(metric: Metric, attributes: Uint8Array): number {
    const found = this.table.find(metric.id, attributes, 0, attributes.length);
    if (found >= 0) return found;
    const slot = this.table.add(metric.id, attributes, 0, attributes.length);
    if (slot >= this.seen.length) this.grow();
    this.metrics[slot] = metric;
    const isDistribution = metric.shapeName === "histogram" || metric.shapeName === "summary";
    this.distributions[slot] = isDistribution ? new ScrapedDistribution() : undefined;
    this.seen[slot] = -1;
    this.isLive[slot] = this.start[slot] = this.last[slot] = this.created[slot] = this.lines[slot] = 0;
    metric.series++;
    return slot;
  }

  get attributeBytes(): DataView {
    return this.table.keyBytes;
  }

  attributesStart(slot: number): number {
    return this.table.keyStart(slot);
  }

  attributesLength(slot: number): number {
    return this.table.keyLength(slot);
  }

  remove(slot: number): void {
    const metric = this.metrics[slot]!;
    if (--metric.series === 0) metric.owner.metrics.delete(metric.key);
    this.metrics[slot] = this.distributions[slot] = undefined;
    this.table.remove(slot);
  }

  /**
   * The start time for the point being written. Without a time from the target, that is the time of the first point, or
   * of the first one after a reset. Never later than the point itself, whatever the clock does.
   */
  startOf(slot: number, timeMs: number, value: number): number {
    const last = this.last[slot]!;
    this.last[slot] = value;
    const created = this.created[slot]!;
    if (created > 0) return Math.min(created, timeMs);
    const known = this.start[slot]!;
    if (known > 0 && known <= timeMs && !(value < last)) return known;
    this.start[slot] = timeMs;
    return timeMs;
  }

  private grow(): void {
    const size = this.seen.length * 2;
    this.seen = copied(this.seen, new Int32Array(size));
    this.isLive = copied(this.isLive, new Uint8Array(size));
    this.start = copied(this.start, new Float64Array(size));
    this.last = copied(this.last, new Float64Array(size));
    this.created = copied(this.created, new Float64Array(size));
    this.lines = copied(this.lines, new Int32Array(size));
  }
}

export function copied<T extends { set(from: T): void }>(from: T, to: T): T {
  to.set(from);
  return to;
}

import { copied } from "./point-series.js";

/** The points of one scrape, in the order in which they came, until all of it is known to be good. */
export class ScrapePoints {
  length = 0;
  /** The slot of each; `~slot` for one that says that its series has ended. */
  series = new Int32Array(64);
  values = new Float64Array(64);
  /** NaN: the time of the scrape. */
  times = new Float64Array(64);
  /** Encoded Exemplar messages, by the number of the point. */
  readonly exemplars = new Map<number, Uint8Array>();
  /** By the number of the point, what a native histogram says; the reason, where it cannot be written. */
  readonly natives = new Map<number, Uint8Array | string>();

  clear(): void {
    this.length = 0;
    this.exemplars.clear();
    this.natives.clear();
    if (this.series.length > 1024 * 1024) this.resize(64);
  }

  push(series: number, value: number, timeMs: number): number {
    const at = this.length++;
    if (at >= this.series.length) this.resize(this.series.length * 2);
    this.series[at] = series;
    this.values[at] = value;
    this.times[at] = timeMs;
    return at;
  }

  private resize(size: number): void {
    const isSmaller = size < this.series.length;
    this.series = isSmaller ? new Int32Array(size) : copied(this.series, new Int32Array(size));
    this.values = isSmaller ? new Float64Array(size) : copied(this.values, new Float64Array(size));
    this.times = isSmaller ? new Float64Array(size) : copied(this.times, new Float64Array(size));
  }
}

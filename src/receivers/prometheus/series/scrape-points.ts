import { copied } from "./point-series.js";

/** The points of one scrape in order of arrival, until the whole scrape is known to be good. */
export class ScrapePoints {
  length = 0;
  /** The slot of each point's series; `~slot` for a point that marks the end of its series. */
  series = new Int32Array(64);
  values = new Float64Array(64);
  /** NaN means the time of the scrape. */
  times = new Float64Array(64);
  /** Encoded Exemplar messages, by point number. */
  readonly exemplars = new Map<number, Uint8Array>();
  /** By point number: the body of a native histogram, or why it cannot be written. */
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

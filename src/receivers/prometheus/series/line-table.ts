import { ByteTable } from "#metrics";
import { copied } from "./point-series.js";

/** Kinds of cached lines. */
export const DROPPED = 0;
export const VALUE = 1;
export const BUCKET = 2;
export const QUANTILE = 3;
export const SUM = 4;
export const COUNT = 5;
export const CREATED = 6;
export const TARGET_INFO = 7;
export const NATIVE = 8;

/** The names and labels of a target's lines as written, and the destination of each, by slot. */
export class LineTable {
  readonly keys = new ByteTable();
  kinds = new Uint8Array(16);
  /** The slot in `PointSeries` that the line belongs to, or the index of its `target_info`. */
  targets = new Int32Array(16);
  /** Bounds of buckets, and quantiles. */
  bounds = new Float64Array(16);
  /** The last scrape that had the line. */
  seen = new Int32Array(16);
  /** The line that followed it the last time, or -1. */
  following = new Int32Array(16);

  add(context: number, b: Uint8Array, start: number, end: number): number {
    const slot = this.keys.add(context, b, start, end);
    if (slot >= this.kinds.length) this.grow();
    this.following[slot] = -1;
    this.seen[slot] = -1;
    this.kinds[slot] = DROPPED;
    return slot;
  }

  private grow(): void {
    const size = this.kinds.length * 2;
    this.kinds = copied(this.kinds, new Uint8Array(size));
    this.targets = copied(this.targets, new Int32Array(size));
    this.bounds = copied(this.bounds, new Float64Array(size));
    this.seen = copied(this.seen, new Int32Array(size));
    this.following = copied(this.following, new Int32Array(size));
  }
}

import { ByteTable } from "./byte-table.js";

/** How many series are kept, for how long, and what they are made by. */
export interface SeriesSettings<Series extends object> {
  readonly maxSeries: number;
  /** A series that was not seen for so many milliseconds is forgotten; 0: never. */
  readonly expireAfterMs: number;
  /**
   * What stands in for every new series while there is no room. Without it `add` gives undefined, and it is the caller
   * who says what was not taken.
   */
  readonly overflow?: () => Series;
  /** Told of every key that is forgotten. A series that stands under several keys hears of each. */
  readonly release?: (series: Series) => void;
}

/**
 * The state of series: found by an owner (a number for all that their points share: resource, scope, metric) and the
 * bytes that tell them apart, bounded in number, forgotten when they were not seen for long. It is for whatever keeps
 * something for each series: an exporter that shows the last value, a connector that counts, a processor that needs the
 * value before.
 *
 * Times are milliseconds of whatever clock the caller has; only differences count.
 */
export class SeriesTable<Series extends object> {
  private readonly settings: SeriesSettings<Series>;
  private readonly table = new ByteTable();
  private readonly series: (Series | undefined)[] = [];
  private lastSeen = new Float64Array(16);
  /** By slot + 1 (0: none has come yet), which slot + 1 came behind it; 0: none did. */
  private following = new Int32Array(17);
  private lastSlot = -1;
  private overflowSeries: Series | undefined;
  private sweptAt = Number.NEGATIVE_INFINITY;
  private sweepSlot = 0;
  /** How often there was no room for a new series. */
  overflows = 0;

  constructor(settings: SeriesSettings<Series>) {
    this.settings = settings;
  }

  /** How many keys there are. */
  get size(): number {
    return this.table.size;
  }

  /** What keys and their places take in memory; the series themselves are the caller's. */
  get byteLength(): number {
    return this.table.byteLength + this.lastSeen.byteLength + this.following.byteLength + this.series.length * 8;
  }

  /** The series of a key, which is seen now; undefined when there is none. */
  find(owner: number, b: Uint8Array, start: number, end: number, now: number): Series | undefined {
    const slot = this.table.find(owner, b, start, end);
    if (slot < 0) return undefined;
    this.lastSeen[slot] = now;
    return this.series[slot];
  }

  /**
   * The same where keys mostly come in the same order: the one that came behind the last is compared first, and only looked
   * up when it is another.
   */
  findNext(owner: number, b: Uint8Array, start: number, end: number, now: number): Series | undefined {
    const expected = this.findExpected(owner, b, start, end, now);
    if (expected !== undefined) return expected;
    const slot = this.table.find(owner, b, start, end);
    if (slot < 0) return undefined;
    this.following[this.lastSlot + 1] = slot + 1;
    return this.see(slot, now);
  }

  /** The series that came behind the last one the time before, if this is its key; undefined when it is another. */
  findExpected(owner: number, b: Uint8Array, start: number, end: number, now: number): Series | undefined {
    const slot = this.following[this.lastSlot + 1]! - 1;
    return slot >= 0 && this.table.isAt(slot, owner, b, start, end) ? this.see(slot, now) : undefined;
  }

  /**
   * Puts a series under a key that has none. The same series may stand under several keys. Gives it back, or what stands
   * in for it when there is no room.
   */
  add(owner: number, b: Uint8Array, start: number, end: number, now: number, series: Series): Series | undefined {
    if (!this.hasRoom(now)) return this.overflowed();
    const slot = this.table.add(owner, b, start, end);
    if (slot >= this.lastSeen.length) this.growTimes();
    this.lastSeen[slot] = now;
    this.series[slot] = series;
    this.following[this.lastSlot + 1] = slot + 1;
    this.lastSlot = slot;
    return series;
  }

  /** Whether another series would be taken. When there is no room, what has expired makes some, at most once a second. */
  hasRoom(now: number): boolean {
    if (this.table.size < this.settings.maxSeries) return true;
    if (now - this.sweptAt < MIN_SWEEP_MS) return false;
    this.sweep(now);
    return this.table.size < this.settings.maxSeries;
  }

  /** Forgets what has expired. Looks at `maxKeys` keys at most, and goes on there the next time; true: it was through. */
  sweep(now: number, maxKeys = Number.POSITIVE_INFINITY): boolean {
    const { expireAfterMs } = this.settings;
    if (expireAfterMs === 0) return true;
    const before = now - expireAfterMs;
    const end = Math.min(this.table.slotLimit, this.sweepSlot + maxKeys);
    for (; this.sweepSlot < end; this.sweepSlot++) {
      if (this.lastSeen[this.sweepSlot]! < before && this.table.has(this.sweepSlot)) this.remove(this.sweepSlot);
    }
    if (this.sweepSlot < this.table.slotLimit) return false;
    this.sweepSlot = 0;
    this.sweptAt = now;
    return true;
  }

  /** Forgets every key whose series is such a one. */
  removeWhere(isGone: (series: Series) => boolean): void {
    for (let slot = 0; slot < this.table.slotLimit; slot++) {
      const series = this.series[slot];
      if (series !== undefined && isGone(series)) this.remove(slot);
    }
  }

  /** Forgets one key; false when there is none. */
  delete(owner: number, b: Uint8Array, start: number, end: number): boolean {
    const slot = this.table.find(owner, b, start, end);
    if (slot >= 0) this.remove(slot);
    return slot >= 0;
  }

  /** All series; one that stands under several keys comes as often. What is added meanwhile may be among them. */
  *values(): Generator<Series> {
    for (let slot = 0; slot < this.table.slotLimit; slot++) {
      const series = this.series[slot];
      if (series !== undefined) yield series;
    }
    if (this.overflowSeries !== undefined) yield this.overflowSeries;
  }

  private see(slot: number, now: number): Series {
    this.lastSlot = slot;
    this.lastSeen[slot] = now;
    return this.series[slot]!;
  }

  private overflowed(): Series | undefined {
    this.overflows++;
    return (this.overflowSeries ??= this.settings.overflow?.());
  }

  private remove(slot: number): void {
    const series = this.series[slot]!;
    this.table.remove(slot);
    this.series[slot] = undefined;
    this.settings.release?.(series);
  }

  private growTimes(): void {
    const times = new Float64Array(this.lastSeen.length * 2);
    times.set(this.lastSeen);
    this.lastSeen = times;
    const following = new Int32Array(times.length + 1);
    following.set(this.following);
    this.following = following;
  }
}

const MIN_SWEEP_MS = 1000;

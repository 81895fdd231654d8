import { ByteTable } from "./byte-table.js";

/** How many series are kept and for how long, and how they are created. */
interface SeriesSettings<Series extends object> {
  readonly maxSeries: number;
  /** A series not seen for this many milliseconds is forgotten; 0 means never. */
  readonly expireAfterMs: number;
  /**
   * Creates the series that replaces every new one while there is no room. Without it `add` returns undefined, and the
   * caller reports what was not accepted.
   */
  readonly overflow?: () => Series;
  /** Called for every key that is forgotten. A series under several keys gets a call for each. */
  readonly release?: (series: Series) => void;
}

/**
 * The state of series: found by an owner (a number for everything that points share: resource, scope and metric) and
 * the bytes that tell them apart, limited in number, and forgotten when not seen for long. It serves every component
 * that keeps state per series: an exporter that shows the last value, a connector that counts, a processor that needs
 * the previous value.
 *
 * Times are milliseconds of any clock of the caller; only differences count.
 */
export class SeriesTable<Series extends object> {
  private readonly settings: SeriesSettings<Series>;
  private readonly table = new ByteTable();
  private readonly series: (Series | undefined)[] = [];
  private lastSeen = new Float64Array(16);
  /** Maps slot + 1 (0 for the start) to the slot + 1 that followed it the last time; 0 if none did. */
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

  /** The number of keys. */
  get size(): number {
    return this.table.size;
  }

  /** The memory of the keys and the table in bytes, without the caller's series. */
  get byteLength(): number {
    return this.table.byteLength + this.lastSeen.byteLength + this.following.byteLength + this.series.length * 8;
  }

  /** Returns the series of a key and marks it as seen now; undefined if there is none. */
  find(owner: number, b: Uint8Array, start: number, end: number, now: number): Series | undefined {
    const slot = this.table.find(owner, b, start, end);
    if (slot < 0) return undefined;
    this.lastSeen[slot] = now;
    return this.series[slot];
  }

  /**
   * The same for keys that mostly come in the same order: compares the key that followed the last one the previous
   * time, and only looks up any other.
   */
  findNext(owner: number, b: Uint8Array, start: number, end: number, now: number): Series | undefined {
    const expected = this.findExpected(owner, b, start, end, now);
    if (expected !== undefined) return expected;
    const slot = this.table.find(owner, b, start, end);
    if (slot < 0) return undefined;
    this.following[this.lastSlot + 1] = slot + 1;
    return this.see(slot, now);
  }

  /** Returns the series that followed the last one the previous time, if this is its key; otherwise undefined. */
  findExpected(owner: number, b: Uint8Array, start: number, end: number, now: number): Series | undefined {
    const slot = this.following[this.lastSlot + 1]! - 1;
    return slot >= 0 && this.table.isAt(slot, owner, b, start, end) ? this.see(slot, now) : undefined;
  }

  /**
   * Adds a series under a new key. The same series may have several keys. Returns the series, or its replacement if
   * there is no room.
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

  /**
   * Whether another series would be accepted. If there is no room, expired series are removed first, at most once a
   * second.
   */
  hasRoom(now: number): boolean {
    if (this.table.size < this.settings.maxSeries) return true;
    if (now - this.sweptAt < MIN_SWEEP_MS) return false;
    this.sweep(now);
    return this.table.size < this.settings.maxSeries;
  }

  /**
   * Forgets expired series. Examines at most `maxKeys` keys and continues there the next time; returns true when it has
   * been through all.
   */
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

  /** Forgets every key whose series matches. */
  removeWhere(isGone: (series: Series) => boolean): void {
    for (let slot = 0; slot < this.table.slotLimit; slot++) {
      const series = this.series[slot];
      if (series !== undefined && isGone(series)) this.remove(slot);
    }
  }

  /** Forgets one key; returns false if there is none. */
  delete(owner: number, b: Uint8Array, start: number, end: number): boolean {
    const slot = this.table.find(owner, b, start, end);
    if (slot >= 0) this.remove(slot);
    return slot >= 0;
  }

  /** All series; a series under several keys comes several times. Series added meanwhile may be included. */
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

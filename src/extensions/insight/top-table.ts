import { INSIGHT_BUCKETS } from "#contract/insight";

/** The batch that is being read, for all tables. `weight` tells how many batches it stands for. */
export interface BatchState {
  serial: number;
  weight: number;
  records: number;
  bytes: number;
  /** Milliseconds since the epoch. */
  now: number;
  /** Minutes since the start. */
  minute: number;
}

/** The subject of a row. */
interface RowName {
  readonly place: number;
  readonly name: string;
  readonly context?: string;
}

/** Sums for the error are kept in this many parts of the window. */
const PARTS = 6;
const PART_MINUTES = INSIGHT_BUCKETS / PARTS;
const SUMS = 4;
const FREE = -1;
/** When a row has to leave, so many of the smallest are found at once. */
const LEAVING_SHARE = 64;

/** Rows of the current batch leave last. */
const BUSY = 1e15;

/** Bytes of one row without its name, for the memory limit. */
export const ROW_BYTES = INSIGHT_BUCKETS * 2 * 4 + PARTS * SUMS * 4 + 88;

/**
 * The names with the most bytes in the last hour, in fixed memory: Space-Saving (Metwally et al.) over a window.
 *
 * Invariants:
 * - A row's sums are at most the truth (of the batches that were read), and at least the truth minus `missed`.
 * - A name without a row has at most `unlisted` bytes, because only the row with the fewest bytes makes room for another.
 * - What the current batch adds is kept beside the sums until `endBatch`, because the error needs its square.
 */
export class TopTable {
  readonly capacity: number;
  /** How many rows had to leave. */
  evicted = 0;
  readonly names: (RowName | undefined)[];
  /** Called with a row that has left or has expired. */
  onFree: (row: number) => void = () => {};
  /** Called before a row becomes a part of another one. */
  onMerge: (target: number, row: number) => void = () => {};

  private readonly state: BatchState;
  private readonly slots: Int32Array;
  private readonly mask: number;
  private readonly lows: Uint32Array;
  private readonly highs: Uint32Array;
  private readonly slotOf: Int32Array;
  private readonly recordSums: Float64Array;
  private readonly byteSums: Float64Array;
  private readonly recordRing: Float32Array;
  private readonly byteRing: Float32Array;
  private readonly squares: Float32Array;
  private readonly firsts: Float64Array;
  private readonly lasts: Float64Array;
  private readonly missed: Float64Array;
  private readonly missedAt: Int32Array;
  private readonly serials: Uint32Array;
  private readonly batchRecords: Float64Array;
  private readonly batchBytes: Float64Array;
  private readonly touched: Int32Array;
  private touchedCount = 0;
  private used = 0;
  private readonly freeRows: number[] = [];
  private leaving: number[] = [];
  /** No row in `leaving` had more when they were found. */
  private leavingWeight = 0;
  /** The largest weight of a row that left, by minute. */
  private readonly largestEvicted = new Float64Array(INSIGHT_BUCKETS);

  constructor(capacity: number, state: BatchState) {
    this.capacity = capacity;
    this.state = state;
    this.names = new Array(capacity).fill(undefined);
    const size = 2 ** Math.ceil(Math.log2(capacity * 2));
    this.slots = new Int32Array(size).fill(FREE);
    this.mask = size - 1;
    this.lows = new Uint32Array(capacity);
    this.highs = new Uint32Array(capacity);
    this.slotOf = new Int32Array(capacity);
    this.recordSums = new Float64Array(capacity);
    this.byteSums = new Float64Array(capacity);
    this.recordRing = new Float32Array(capacity * INSIGHT_BUCKETS);
    this.byteRing = new Float32Array(capacity * INSIGHT_BUCKETS);
    this.squares = new Float32Array(capacity * PARTS * SUMS);
    this.firsts = new Float64Array(capacity);
    this.lasts = new Float64Array(capacity);
    this.missed = new Float64Array(capacity);
    this.missedAt = new Int32Array(capacity);
    this.serials = new Uint32Array(capacity);
    this.batchRecords = new Float64Array(capacity);
    this.batchBytes = new Float64Array(capacity);
    this.touched = new Int32Array(capacity);
  }

  /** Returns the row of a name by its hash, or -1. */
  find(low: number, high: number): number {
    const { slots, mask, lows, highs } = this;
    for (let slot = low & mask; ; slot = (slot + 1) & mask) {
      const row = slots[slot]!;
      if (row === FREE || (lows[row] === low && highs[row] === high)) return row;
    }
  }

  /** Makes a row for a name that has none. The smallest one leaves if there is no room. */
  insert(low: number, high: number, name: RowName): number {
    const row = this.freeRows.pop() ?? (this.used < this.capacity ? this.used++ : this.evict());
    this.names[row] = name;
    this.lows[row] = low;
    this.highs[row] = high;
    this.firsts[row] = this.state.now;
    this.missed[row] = this.unlisted();
    this.missedAt[row] = this.state.minute;
    let slot = low & this.mask;
    while (this.slots[slot] !== FREE) slot = (slot + 1) & this.mask;
    this.slots[slot] = row;
    this.slotOf[row] = slot;
    return row;
  }

  /** Adds what one record, or one message around records, of the current batch has. */
  add(row: number, records: number, bytes: number): void {
    if (this.serials[row] === this.state.serial) {
      this.batchRecords[row]! += records;
      this.batchBytes[row]! += bytes;
      return;
    }
    this.serials[row] = this.state.serial;
    this.batchRecords[row] = records;
    this.batchBytes[row] = bytes;
    this.touched[this.touchedCount++] = row;
  }

  /** Adds the batch to the sums of the rows that it has touched. */
  endBatch(): void {
    const { state } = this;
    const bucket = state.minute % INSIGHT_BUCKETS;
    const part = Math.floor(bucket / PART_MINUTES);
    const { weight } = state;
    const spread = weight * weight - weight;
    for (let i = 0; i < this.touchedCount; i++) {
      const row = this.touched[i]!;
      const records = this.batchRecords[row]!;
      const bytes = this.batchBytes[row]!;
      this.lasts[row] = state.now;
      this.recordSums[row]! += weight * records;
      this.byteSums[row]! += weight * bytes;
      this.recordRing[row * INSIGHT_BUCKETS + bucket]! += weight * records;
      this.byteRing[row * INSIGHT_BUCKETS + bucket]! += weight * bytes;
      if (spread === 0) continue;
      const at = (row * PARTS + part) * SUMS;
      this.squares[at]! += spread * records * records;
      this.squares[at + 1]! += spread * bytes * bytes;
      this.squares[at + 2]! += spread * records * state.records;
      this.squares[at + 3]! += spread * bytes * state.bytes;
    }
    this.touchedCount = 0;
  }

  /** Forgets the minute that leaves the window. Rows without anything left in it are free again. */
  beginMinute(minute: number): void {
    const bucket = minute % INSIGHT_BUCKETS;
    const part = bucket % PART_MINUTES === 0 ? bucket / PART_MINUTES : -1;
    this.leaving = [];
    this.largestEvicted[bucket] = 0;
    for (let row = 0; row < this.used; row++) {
      if (this.names[row] === undefined) continue;
      const at = row * INSIGHT_BUCKETS + bucket;
      this.recordSums[row]! -= this.recordRing[at]!;
      this.byteSums[row]! -= this.byteRing[at]!;
      this.recordRing[at] = 0;
      this.byteRing[at] = 0;
      if (part >= 0) this.squares.fill(0, (row * PARTS + part) * SUMS, (row * PARTS + part + 1) * SUMS);
      if (this.recordSums[row]! < 0.5 && this.byteSums[row]! < 0.5) this.free(row);
    }
  }

  /** Adds one row to another that stands for the same from now on. */
  mergeInto(target: number, row: number): void {
    const { state } = this;
    if (this.serials[row] === state.serial) {
      this.add(target, this.batchRecords[row]!, this.batchBytes[row]!);
      this.batchRecords[row] = 0;
      this.batchBytes[row] = 0;
    }
    for (let i = 0; i < INSIGHT_BUCKETS; i++) {
      this.recordRing[target * INSIGHT_BUCKETS + i]! += this.recordRing[row * INSIGHT_BUCKETS + i]!;
      this.byteRing[target * INSIGHT_BUCKETS + i]! += this.byteRing[row * INSIGHT_BUCKETS + i]!;
    }
    for (let i = 0; i < PARTS * SUMS; i++)
      this.squares[target * PARTS * SUMS + i]! += this.squares[row * PARTS * SUMS + i]!;
    this.recordSums[target]! += this.recordSums[row]!;
    this.byteSums[target]! += this.byteSums[row]!;
    this.firsts[target] = Math.min(this.firsts[target]!, this.firsts[row]!);
    this.lasts[target] = Math.max(this.lasts[target]!, this.lasts[row]!);
    this.onMerge(target, row);
    this.free(row);
  }

  /** Frees all rows of a place that is used for something else from now on. */
  forgetPlace(place: number): void {
    for (let row = 0; row < this.used; row++) if (this.names[row]?.place === place) this.free(row);
  }

  get rowCount(): number {
    return this.used - this.freeRows.length;
  }

  /** The rows in use. */
  *rows(): Iterable<number> {
    for (let row = 0; row < this.used; row++) if (this.names[row] !== undefined) yield row;
  }

  /** The sums of a row, as a snapshot has them. */
  read(row: number) {
    const sums = [0, 0, 0, 0];
    for (let i = 0; i < PARTS * SUMS; i++) sums[i % SUMS]! += this.squares[row * PARTS * SUMS + i]!;
    const isInWindow = this.state.minute - this.missedAt[row]! < INSIGHT_BUCKETS;
    return {
      records: this.recordSums[row]!,
      bytes: this.byteSums[row]!,
      missedBytes: isInWindow ? this.missed[row]! : 0,
      squaredRecords: sums[0]!,
      squaredBytes: sums[1]!,
      crossRecords: sums[2]!,
      crossBytes: sums[3]!,
      firstSeen: this.firsts[row]!,
      lastSeen: this.lasts[row]!,
      byteSeries: this.series(row),
    };
  }

  /** The most bytes that a name without a row has in the window: the most that any row had when it left. */
  unlisted(): number {
    return this.evicted === 0 ? 0 : this.largestEvicted.reduce((most, each) => Math.max(most, each), 0);
  }

  private series(row: number): Float32Array {
    const series = new Float32Array(INSIGHT_BUCKETS);
    const start = (this.state.minute + 1) % INSIGHT_BUCKETS;
    for (let i = 0; i < INSIGHT_BUCKETS; i++)
      series[i] = this.byteRing[row * INSIGHT_BUCKETS + ((start + i) % INSIGHT_BUCKETS)]!;
    return series;
  }

  private weightOf(row: number): number {
    const isInWindow = this.state.minute - this.missedAt[row]! < INSIGHT_BUCKETS;
    return this.byteSums[row]! + (isInWindow ? this.missed[row]! : 0);
  }

  /** Makes a row free. Those that the current batch has touched leave only if there is no other. */
  private evict(): number {
    const row = this.nextLeaving() ?? this.findLeaving();
    const bucket = this.state.minute % INSIGHT_BUCKETS;
    this.evicted += 1;
    this.largestEvicted[bucket] = Math.max(this.largestEvicted[bucket]!, this.weightOf(row));
    this.free(row);
    return this.freeRows.pop()!;
  }

  /** A row that has grown since it was found does not leave. */
  private nextLeaving(): number | undefined {
    for (let row = this.leaving.pop(); row !== undefined; row = this.leaving.pop()) {
      const isBusy = this.serials[row] === this.state.serial;
      if (!isBusy && this.names[row] !== undefined && this.weightOf(row) <= this.leavingWeight) return row;
    }
    return undefined;
  }

  /** Finds the rows that leave next, and returns the first of them. */
  private findLeaving(): number {
    const { used } = this;
    const weights = new Float64Array(used);
    for (let row = 0; row < used; row++) {
      const isBusy = this.serials[row] === this.state.serial;
      weights[row] = this.weightOf(row) + (isBusy ? BUSY : 0);
    }
    const wanted = Math.ceil(used / LEAVING_SHARE);
    const limit = Float64Array.from(weights).sort()[wanted - 1]!;
    const found: number[] = [];
    for (let row = 0; row < used && found.length < wanted; row++) if (weights[row]! <= limit) found.push(row);
    found.sort((a, b) => weights[b]! - weights[a]!);
    this.leaving = found;
    this.leavingWeight = limit;
    return found.pop()!;
  }

  private free(row: number): void {
    this.onFree(row);
    this.names[row] = undefined;
    this.recordSums[row] = 0;
    this.byteSums[row] = 0;
    this.recordRing.fill(0, row * INSIGHT_BUCKETS, (row + 1) * INSIGHT_BUCKETS);
    this.byteRing.fill(0, row * INSIGHT_BUCKETS, (row + 1) * INSIGHT_BUCKETS);
    this.squares.fill(0, row * PARTS * SUMS, (row + 1) * PARTS * SUMS);
    if (this.serials[row] === this.state.serial) {
      this.batchRecords[row] = 0;
      this.batchBytes[row] = 0;
    }
    this.removeSlot(this.slotOf[row]!);
    this.freeRows.push(row);
  }

  /** Open addressing without gaps: rows behind the removed one move up. */
  private removeSlot(gap: number): void {
    const { slots, mask } = this;
    slots[gap] = FREE;
    for (let slot = (gap + 1) & mask; slots[slot] !== FREE; slot = (slot + 1) & mask) {
      const row = slots[slot]!;
      const home = this.lows[row]! & mask;
      if (((slot - home) & mask) < ((slot - gap) & mask)) continue;
      slots[gap] = row;
      this.slotOf[row] = gap;
      slots[slot] = FREE;
      gap = slot;
    }
  }
}

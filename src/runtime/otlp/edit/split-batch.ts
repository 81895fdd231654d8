import { Batch } from "../batch.js";
import {
  type FieldRange,
  fieldsBesideRecords,
  leadsToRecord,
  SHAPES,
  type SignalShape,
} from "../bytes/signal-shape.js";
import { after, fieldTag, stepOver, valueAt, varint, varintSize } from "../bytes/wire.js";
import { WireWriter } from "../bytes/writer.js";

/** Limits for a piece; a single record larger than `bytes` becomes its own piece. */
export interface SplitLimits {
  readonly records?: number;
  readonly bytes?: number;
  /**
   * The limit for all pieces together, because the fields around records are repeated; beyond it a `SplitOverflow` is
   * thrown.
   */
  readonly total?: number;
}

/** Splitting this batch as asked would multiply its size. */
export class SplitOverflow extends Error {
  override readonly name = "SplitOverflow";

  constructor(total: number) {
    super(`the pieces would take more than ${total} bytes together`);
  }
}

/**
 * Cuts a batch between records into pieces within the limits. The pieces contain all records in order; the fields
 * around a record (resource, scope, metric, unknown fields) are repeated in every piece with records of theirs.
 *
 * @example
 * const pieces = (batch: Batch) => splitBatch(batch, { records: 1000, bytes: 1024 * 1024 });
 */
export function splitBatch(batch: Batch, limits: SplitLimits): Batch[] {
  if (batch.count <= maxRecords(limits) && batch.byteLength <= maxBytes(limits)) return [batch];
  return [...new Splitter(batch, () => limits).run()];
}

/** Limits for a piece that is cut off from a batch. */
export interface PieceLimits extends SplitLimits {
  /** The points of a metric stay together, also beyond the other limits, as long as they are at most this many. */
  readonly metricPoints?: number;
}

/** Cuts off one piece after the other, when it is asked for. The limits of a piece are asked for before it. */
export function cutBatch(batch: Batch, nextLimits: () => PieceLimits): Generator<Batch> {
  return new Splitter(batch, nextLimits).run();
}

function maxRecords({ records = Number.POSITIVE_INFINITY }: SplitLimits): number {
  return Math.max(1, records);
}

function maxBytes({ bytes = Number.POSITIVE_INFINITY }: SplitLimits): number {
  return Math.max(1, bytes);
}

/** A message around records, with the fields that are repeated in each piece of it. */
interface SplitFrame {
  tag: number;
  heads: FieldRange[];
  headSize: number;
  emitted: boolean;
}

class Splitter {
  private readonly batch: Batch;
  private readonly bytes: Uint8Array;
  private readonly shape: SignalShape;
  private readonly nextLimits: () => PieceLimits;
  private maxRecords = 0;
  private maxBytes = 0;
  private maxTotal = 0;
  private maxMetricPoints = 0;
  private readonly frames: SplitFrame[] = [];
  private writer: WireWriter;
  private count = 0;
  private total = 0;
  /** The number of frames open in the current piece. */
  private open = 0;
  /** The number of points of the current metric in the current piece. */
  private metricPoints = 0;

  constructor(batch: Batch, nextLimits: () => PieceLimits) {
    this.batch = batch;
    this.bytes = batch.bytes;
    this.shape = SHAPES[batch.signal];
    this.nextLimits = nextLimits;
    this.writer = this.beginPiece();
  }

  *run(): Generator<Batch> {
    for (const [from, to] of this.headsOf(0, 0, this.bytes.length)) this.writer.copy(this.bytes, from, to);
    yield* this.children(0, 0, this.bytes.length);
    const last = this.endPiece();
    if (last !== undefined) yield last;
  }

  private *children(depth: number, p: number, end: number): Generator<Batch> {
    while (p < end) {
      const at = p;
      p = stepOver(this.bytes, p);
      const tag = fieldTag;
      if (!leadsToRecord(this.shape, depth, tag)) continue;
      if (depth < this.shape.levels.length) yield* this.frame(depth, tag, valueAt, p);
      else {
        if (this.mustCutBefore(p - at)) yield* this.nextPiece();
        this.record(at, p);
      }
    }
  }

  private *frame(depth: number, tag: number, lengthAt: number, end: number): Generator<Batch> {
    varint(this.bytes, lengthAt);
    const start = after;
    const heads = this.headsOf(depth + 1, start, end);
    const headSize = heads.reduce((sum, [from, to]) => sum + to - from, 0);
    const frame: SplitFrame = { tag, heads, headSize, emitted: false };
    this.frames.push(frame);
    yield* this.children(depth + 1, start, end);
    if (!frame.emitted) {
      if (this.isTooLarge(0)) yield* this.nextPiece(); // a frame without records is kept too
      this.openFrames();
    }
    if (this.open === this.frames.length) this.closeFrame();
    this.frames.pop();
  }

  /** Whether a record of this size belongs to the next piece. */
  private mustCutBefore(size: number): boolean {
    if (this.count < this.maxRecords && !this.isTooLarge(size)) return false;
    const isInMetric = this.open > METRIC_DEPTH && this.metricPoints > 0;
    return !(isInMetric && this.metricPoints < this.maxMetricPoints);
  }

  private record(at: number, end: number): void {
    if (this.open <= METRIC_DEPTH) this.metricPoints = 0;
    this.openFrames();
    this.writer.copy(this.bytes, at, end);
    this.count++;
    this.metricPoints++;
  }

  private *nextPiece(): Generator<Batch> {
    const piece = this.endPiece();
    if (piece !== undefined) yield piece;
    this.writer = this.beginPiece();
  }

  /** Whether a record of this size would take the piece over the limit. */
  private isTooLarge(record: number): boolean {
    let size = this.writer.length + record;
    for (let i = this.open; i < this.frames.length; i++) size += this.frames[i]!.headSize + 1 + LENGTH_ROOM;
    return size > this.maxBytes;
  }

  private openFrames(): void {
    for (; this.open < this.frames.length; this.open++) {
      const frame = this.frames[this.open]!;
      this.writer.byte(frame.tag);
      this.writer.begin(MAX_LENGTH);
      for (const [from, to] of frame.heads) this.writer.copy(this.bytes, from, to);
      frame.emitted = true;
    }
  }

  private closeFrame(): void {
    this.writer.end();
    this.open--;
  }

  /** Returns the current piece, unless it is empty. */
  private endPiece(): Batch | undefined {
    while (this.open > 0) this.closeFrame();
    if (this.writer.length === 0) return undefined;
    this.total += this.writer.length + PIECE_OVERHEAD;
    if (this.total > this.maxTotal) throw new SplitOverflow(this.maxTotal);
    return Batch.trusted(this.batch.signal, this.writer.written(), this.count);
  }

  private beginPiece(): WireWriter {
    const limits = this.nextLimits();
    this.maxRecords = maxRecords(limits);
    this.maxBytes = maxBytes(limits);
    this.maxTotal = limits.total ?? Number.POSITIVE_INFINITY;
    this.maxMetricPoints = this.batch.signal === "metrics" ? (limits.metricPoints ?? 0) : 0;
    this.count = 0;
    this.metricPoints = 0;
    const share = Math.min(1, this.maxRecords / this.batch.count);
    return new WireWriter(Math.min(this.maxBytes, this.batch.byteLength * share * 1.1) + 64);
  }

  private headsOf(depth: number, start: number, end: number): FieldRange[] {
    return fieldsBesideRecords(this.bytes, start, end, this.shape, depth);
  }
}

/** The depth of metrics among the frames around a data point. */
const METRIC_DEPTH = 2;

/** The memory of a piece besides its bytes. */
const PIECE_OVERHEAD = 512;

/** A length as large as any piece's, so `end` can only make a piece smaller. */
const MAX_LENGTH = 0x0fffffff;
const LENGTH_ROOM = varintSize(MAX_LENGTH);

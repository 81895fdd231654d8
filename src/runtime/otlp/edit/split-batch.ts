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
  const records = Math.max(1, limits.records ?? Number.POSITIVE_INFINITY);
  const bytes = Math.max(1, limits.bytes ?? Number.POSITIVE_INFINITY);
  if (batch.count <= records && batch.byteLength <= bytes) return [batch];
  return new Splitter(batch, records, bytes, limits.total ?? Number.POSITIVE_INFINITY).run();
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
  private readonly maxRecords: number;
  private readonly maxBytes: number;
  private readonly maxTotal: number;
  private readonly frames: SplitFrame[] = [];
  private readonly pieces: Batch[] = [];
  private writer: WireWriter;
  private count = 0;
  private total = 0;
  /** The number of frames open in the current piece. */
  private open = 0;

  constructor(batch: Batch, maxRecords: number, maxBytes: number, maxTotal: number) {
    this.batch = batch;
    this.bytes = batch.bytes;
    this.shape = SHAPES[batch.signal];
    this.maxRecords = maxRecords;
    this.maxBytes = maxBytes;
    this.maxTotal = maxTotal;
    this.writer = this.newWriter();
  }

  run(): Batch[] {
    for (const [from, to] of this.headsOf(0, 0, this.bytes.length)) this.writer.copy(this.bytes, from, to);
    this.children(0, 0, this.bytes.length);
    this.endPiece();
    return this.pieces;
  }

  private children(depth: number, p: number, end: number): void {
    while (p < end) {
      const at = p;
      p = stepOver(this.bytes, p);
      const tag = fieldTag;
      if (!leadsToRecord(this.shape, depth, tag)) continue;
      if (depth === this.shape.levels.length) this.record(at, p);
      else this.frame(depth, tag, valueAt, p);
    }
  }

  private frame(depth: number, tag: number, lengthAt: number, end: number): void {
    varint(this.bytes, lengthAt);
    const start = after;
    const heads = this.headsOf(depth + 1, start, end);
    const headSize = heads.reduce((sum, [from, to]) => sum + to - from, 0);
    const frame: SplitFrame = { tag, heads, headSize, emitted: false };
    this.frames.push(frame);
    this.children(depth + 1, start, end);
    if (!frame.emitted) this.emptyFrame();
    if (this.open === this.frames.length) this.closeFrame();
    this.frames.pop();
  }

  private record(at: number, end: number): void {
    if (this.count >= this.maxRecords || this.isTooLarge(end - at)) this.endPiece();
    this.openFrames();
    this.writer.copy(this.bytes, at, end);
    this.count++;
  }

  /** A frame without records is kept too. */
  private emptyFrame(): void {
    if (this.isTooLarge(0)) this.endPiece();
    this.openFrames();
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

  private endPiece(): void {
    while (this.open > 0) this.closeFrame();
    if (this.writer.length === 0) return;
    this.total += this.writer.length + PIECE_OVERHEAD;
    if (this.total > this.maxTotal) throw new SplitOverflow(this.maxTotal);
    this.pieces.push(Batch.trusted(this.batch.signal, this.writer.written(), this.count));
    this.writer = this.newWriter();
    this.count = 0;
  }

  private newWriter(): WireWriter {
    const share = Math.min(1, this.maxRecords / this.batch.count);
    return new WireWriter(Math.min(this.maxBytes, this.batch.byteLength * share * 1.1) + 64);
  }

  private headsOf(depth: number, start: number, end: number): FieldRange[] {
    return fieldsBesideRecords(this.bytes, start, end, this.shape, depth);
  }
}

/** The memory of a piece besides its bytes. */
const PIECE_OVERHEAD = 512;

/** A length as large as any piece's, so `end` can only make a piece smaller. */
const MAX_LENGTH = 0x0fffffff;
const LENGTH_ROOM = varintSize(MAX_LENGTH);

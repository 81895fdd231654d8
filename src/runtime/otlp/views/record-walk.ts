import { Batch } from "../batch.js";
import { type RecordPath, SHAPES } from "../bytes/signal-shape.js";
import { after, skip, varint } from "../bytes/wire.js";
import { Rewriter, type WireWriter } from "../bytes/writer.js";

/** Keeps the record. */
export const KEEP = 0;
/** Drops the record. */
export const DROP = 1;
/** A visitor's decision about a record. */
export type Verdict = typeof KEEP | typeof DROP;

/** Sees every record of a batch in order, as a message [start, end) of `walk.bytes`. */
export interface RecordVisitor {
  visit(walk: RecordWalk, start: number, end: number): Verdict;
}

/**
 * The messages that a walk treats as records: usually those of the signal, but any repeated message of a request is
 * possible, such as metrics or span events. The batch's count stays correct only for records of the signal.
 */
export interface WalkShape extends RecordPath {
  /** Frames from this depth on stay even after they have lost all their records. */
  readonly keepEmptyFrom?: number;
  /** Whether resources and scopes that came without records are dropped too, and metric data without points. */
  readonly dropsEmpty?: true;
  /** The tag of the records for each tag of the metric's data, if they differ; 0 if the data has none. */
  readonly recordsByData?: Readonly<Record<number, number>>;
}

/** A change to a message around records (a resource, a scope, a metric), applied after its records. */
export interface FrameEdit {
  /** `out` contains the message's body from `start` to its end, with all changes to its records. */
  apply(out: WireWriter, start: number): void;
}

/** A message around records: 0 resource container, 1 scope container, 2 metric, 3 a metric's data. */
export interface Frame {
  /** Its tag, which tells for instance the kind of a metric's data. */
  readonly tag: number;
  /** The range of its body in the batch. */
  readonly start: number;
  readonly end: number;
}

/**
 * One pass over the records of a batch, with any changes the visitor makes.
 *
 * Invariants:
 * - Nothing is copied until something changes: an untouched batch is returned as it is.
 * - A frame's length is corrected when the frame closes, if its body has changed size; then the frames around it
 *   follow.
 * - A frame that has lost all its records is removed with its content; one that never had any stays. The shape can
 *   change both rules.
 */
export class RecordWalk {
  readonly batch: Batch;
  readonly bytes: Uint8Array;
  /** The frames around the current record, outermost first. */
  readonly frames: readonly Frame[];
  /** The number of frames opened at each depth: tells whether a frame is still the same one. */
  readonly serials: number[];

  private readonly openFrames: OpenFrame[];
  private readonly shape: WalkShape;
  private readonly keepEmptyFrom: number;
  /** Undefined until something changes. */
  private rewriter: Rewriter | undefined;
  private dropped = 0;
  /** The number of records written in place of the current one, and the total surplus over one per record. */
  private written = 0;
  private added = 0;
  /** Position of the current record's tag. */
  private recordTagAt = 0;
  private recordLengthAt = 0;
  private recordEnd = 0;

  constructor(batch: Batch, shape: WalkShape = SHAPES[batch.signal]) {
    this.batch = batch;
    this.bytes = batch.bytes;
    this.shape = shape;
    this.keepEmptyFrom = shape.keepEmptyFrom ?? shape.levels.length;
    this.openFrames = this.shape.levels.map(() => new OpenFrame());
    this.frames = this.openFrames;
    this.serials = this.shape.levels.map(() => 0);
  }

  /** Visits every record and returns the batch, changed or not. A walk can be used only once. */
  run(visitor: RecordVisitor): Batch {
    this.walkLevel(0, 0, this.bytes.length, visitor);
    if (this.rewriter === undefined) return this.batch;
    return Batch.trusted(this.batch.signal, this.rewriter.finish(), this.batch.count - this.dropped + this.added);
  }

  /** How many bytes the changes so far have added to the batch. */
  get grownBy(): number {
    return (this.rewriter?.outputPosition(this.recordTagAt) ?? this.recordTagAt) - this.recordTagAt;
  }

  /**
   * For a visitor: opens a new record in place of the current one. Write its body, then call `endRecord`. Several may
   * follow each other.
   */
  beginRecord(): WireWriter {
    const out = this.changes.copyTo(this.recordTagAt);
    out.byte(this.recordTag());
    out.begin(this.recordEnd - this.recordTagAt);
    out.replaceUpTo(this.recordEnd);
    return out;
  }

  endRecord(): void {
    this.changes.copyTo(this.recordTagAt).end();
    this.changes.skipTo(this.recordEnd);
    if (this.written++ > 0) this.added++;
  }

  /** For a visitor: appends these fields to the current record; returns the writer they were written to. */
  extendRecord(start: number, fields: Uint8Array): WireWriter {
    const outStart = this.changes.outputPosition(start);
    const out = this.changes.copyTo(this.recordEnd);
    out.copy(fields, 0, fields.length);
    out.fixLength(outStart, start - this.recordLengthAt);
    return out;
  }

  /** For a visitor: changes the frame at this depth when it closes. */
  editFrame(depth: number, edit: FrameEdit): void {
    const { edits } = this.openFrames[depth]!;
    if (!edits.includes(edit)) edits.push(edit);
  }

  private walkLevel(depth: number, p: number, end: number, visitor: RecordVisitor): void {
    const b = this.bytes;
    const tags = this.shape.levels[depth];
    if (tags === undefined) return this.walkRecords(p, end, visitor);
    while (p < end) {
      const at = p;
      let tag = b[p++]!;
      if (tag > 127) {
        tag = varint(b, at);
        p = after;
      }
      if (!tags.includes(tag)) {
        p = skip(b, p, tag);
        continue;
      }
      const lengthAt = p;
      const size = varint(b, p);
      p = after;
      this.openFrame(depth, tag, at, lengthAt, p, p + size);
      this.walkLevel(depth + 1, p, p + size, visitor);
      this.closeFrame(depth);
      p += size;
    }
  }

  private walkRecords(p: number, end: number, visitor: RecordVisitor): void {
    const b = this.bytes;
    const record = this.recordTag();
    const frame = this.openFrames[this.openFrames.length - 1] ?? new OpenFrame();
    while (p < end) {
      const at = p;
      let tag = b[p++]!;
      if (tag > 127) {
        tag = varint(b, at);
        p = after;
      }
      if (tag !== record) {
        p = skip(b, p, tag);
        continue;
      }
      const lengthAt = p;
      let size = b[p++]!;
      if (size > 127) {
        size = varint(b, lengthAt);
        p = after;
      }
      const stop = p + size;
      this.recordTagAt = at;
      this.recordLengthAt = lengthAt;
      this.recordEnd = stop;
      this.written = 0;
      if (visitor.visit(this, p, stop) === DROP) this.dropRecord(frame, at, stop);
      else frame.kept++;
      p = stop;
    }
  }

  private get changes(): Rewriter {
    this.rewriter ??= new Rewriter(this.bytes);
    return this.rewriter;
  }

  private recordTag(): number {
    const { record, recordsByData } = this.shape;
    return recordsByData === undefined ? record : (recordsByData[this.openFrames[METRIC_DATA_DEPTH]!.tag] ?? 0);
  }

  private openFrame(depth: number, tag: number, at: number, lengthAt: number, start: number, end: number): void {
    const frame = this.openFrames[depth]!;
    frame.tag = tag;
    frame.start = start;
    frame.end = end;
    frame.outTag = this.rewriter?.outputPosition(at) ?? at;
    frame.outStart = this.rewriter?.outputPosition(start) ?? start;
    frame.lengthRoom = start - lengthAt;
    frame.kept = 0;
    frame.lost = 0;
    if (frame.edits.length > 0) frame.edits.length = 0;
    this.serials[depth]!++;
  }

  private closeFrame(depth: number): void {
    const frame = this.openFrames[depth]!;
    const parent = this.openFrames[depth - 1];
    const isDroppedWhenEmpty = frame.lost > 0 || (this.shape.dropsEmpty === true && depth !== METRIC_DEPTH);
    if (frame.kept === 0 && isDroppedWhenEmpty && depth < this.keepEmptyFrom) {
      this.changes.removeSince(frame.outTag, frame.end);
      if (parent) parent.lost++;
      return;
    }
    if (parent) parent.kept++;
    for (const edit of frame.edits) edit.apply(this.changes.copyTo(frame.end), frame.outStart);
    this.rewriter?.closeMessage(frame.start, frame.end, frame.outStart, frame.lengthRoom);
  }

  private dropRecord(frame: OpenFrame, at: number, end: number): void {
    this.changes.remove(at, end);
    this.dropped++;
    frame.lost++;
  }
}

/** A metric without data has no type; it differs from one that has lost its points. */
const METRIC_DEPTH = 2;
const METRIC_DATA_DEPTH = 3;

class OpenFrame implements Frame {
  tag = 0;
  start = 0;
  end = 0;
  /** The output positions of its tag and its body, and the size of its length field. */
  outTag = 0;
  outStart = 0;
  lengthRoom = 0;
  kept = 0;
  lost = 0;
  readonly edits: FrameEdit[] = [];
}

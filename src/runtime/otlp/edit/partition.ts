import { Batch } from "../batch.js";
import { countRecords, type FieldRange, fieldsBesideRecords, leadsToRecord, SHAPES } from "../bytes/signal-shape.js";
import { after, fieldTag, stepOver, valueAt, varint } from "../bytes/wire.js";
import { WireWriter } from "../bytes/writer.js";
import { type Frame, KEEP, RecordWalk, type WalkShape } from "../views/record-walk.js";

/** Chooses the partition, numbered from 0, for the walk's record in [start, end). */
type ChoosePartition = (walk: RecordWalk, start: number, end: number) => number;

/**
 * Divides the records of a walk into partitions, each a batch with its records in order; partitions without records are
 * undefined. If all records go to one partition, that partition is the batch itself, uncopied. Otherwise the fields
 * around a record (resource, scope, metric, unknown fields) are repeated in every partition with records of theirs, and
 * frames without any records are left out.
 */
export function partition(
  batch: Batch,
  shape: WalkShape,
  count: number,
  choose: ChoosePartition,
): (Batch | undefined)[] {
  const assignments: number[] = [];
  new RecordWalk(batch, shape).run({
    visit(walk, start, end) {
      assignments.push(choose(walk, start, end));
      return KEEP;
    },
  });
  const result = new Array<Batch | undefined>(count).fill(undefined);
  const first = assignments[0];
  if (first === undefined) return result;
  if (assignments.every((index) => index === first)) result[first] = batch;
  else new Partitioner(batch, shape, assignments).writeInto(result);
  return result;
}

/** Divides a batch in two: records whose mark is 0, and the others. `marks` has one mark per record, in order. */
export function partitionByMarks(batch: Batch, marks: Uint8Array): (Batch | undefined)[] {
  let index = 0;
  return partition(batch, SHAPES[batch.signal], 2, () => (marks[index++] === 0 ? 0 : 1));
}

/** A message around records in the batch. The request itself is the outermost, without a tag. */
interface SourceFrame extends Frame {
  /** Its fields that do not lead to a record. */
  readonly heads: readonly FieldRange[];
}

/** A partition being written; `open` lists the source frames open in it, outermost first. */
class PartitionWriter {
  readonly out: WireWriter;
  readonly open: SourceFrame[] = [];
  count = 0;

  constructor(capacity: number) {
    this.out = new WireWriter(capacity);
  }
}

class Partitioner {
  private readonly batch: Batch;
  private readonly bytes: Uint8Array;
  private readonly shape: WalkShape;
  private readonly assignments: readonly number[];
  private readonly writers = new Map<number, PartitionWriter>();
  private readonly frames: SourceFrame[] = [];
  private index = 0;
  /** Adjacent records that go to the same partition are copied together. */
  private run: { readonly writer: PartitionWriter; readonly from: number; to: number } | undefined;

  constructor(batch: Batch, shape: WalkShape, assignments: readonly number[]) {
    this.batch = batch;
    this.bytes = batch.bytes;
    this.shape = shape;
    this.assignments = assignments;
  }

  writeInto(result: (Batch | undefined)[]): void {
    this.children(0, this.enter(0, 0, 0, this.bytes.length));
    this.endRun();
    for (const [i, { out, open, count }] of this.writers) {
      for (let depth = open.length; depth > 1; depth--) out.end();
      result[i] = Batch.trusted(this.batch.signal, out.written(), count);
    }
  }

  private children(depth: number, { start, end }: SourceFrame): void {
    for (let p = start; p < end; ) {
      const at = p;
      p = stepOver(this.bytes, p);
      const tag = fieldTag;
      if (!leadsToRecord(this.shape, depth, tag)) continue;
      if (depth === this.shape.levels.length) this.record(at, valueAt, p);
      else {
        varint(this.bytes, valueAt);
        this.children(depth + 1, this.enter(depth + 1, tag, after, p));
      }
    }
  }

  private enter(depth: number, tag: number, start: number, end: number): SourceFrame {
    const frame = { tag, start, end, heads: fieldsBesideRecords(this.bytes, start, end, this.shape, depth) };
    this.frames.length = depth;
    this.frames.push(frame);
    return frame;
  }

  private record(at: number, valueAt: number, end: number): void {
    const writer = this.writerOf(this.assignments[this.index++]!);
    writer.count += this.countIn(valueAt, end);
    if (this.run?.writer === writer && this.run.to === at) {
      this.run.to = end;
      return;
    }
    this.endRun();
    this.openFrames(writer);
    this.run = { writer, from: at, to: end };
  }

  private endRun(): void {
    this.run?.writer.out.copy(this.bytes, this.run.from, this.run.to);
    this.run = undefined;
  }

  private countIn(lengthAt: number, end: number): number {
    const depth = this.shape.levels.length + 1;
    const shape = SHAPES[this.batch.signal];
    if (depth > shape.levels.length) return 1;
    varint(this.bytes, lengthAt);
    return countRecords(this.bytes, after, end, shape, depth);
  }

  private openFrames({ out, open }: PartitionWriter): void {
    let common = 0;
    while (common < open.length && open[common] === this.frames[common]) common++;
    for (; open.length > common; open.pop()) out.end();
    for (let i = common; i < this.frames.length; i++) {
      const frame = this.frames[i]!;
      if (i > 0) {
        out.byte(frame.tag);
        out.begin(frame.end - frame.start);
      }
      for (const [from, to] of frame.heads) out.copy(this.bytes, from, to);
      open.push(frame);
    }
  }

  private writerOf(index: number): PartitionWriter {
    let writer = this.writers.get(index);
    if (writer === undefined) {
      writer = new PartitionWriter(this.batch.byteLength * this.shareOf(index) * 1.1 + 256);
      this.writers.set(index, writer);
    }
    return writer;
  }

  private shareOf(index: number): number {
    let assigned = 0;
    for (const other of this.assignments) if (other === index) assigned++;
    return assigned / this.assignments.length;
  }
}

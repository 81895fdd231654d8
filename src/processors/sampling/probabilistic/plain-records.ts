import { putVarint, type WasmFunction, WasmSource, WireWriter } from "#otlp/bytes";
import { SCOPE_ITEM_TAG } from "#otlp/tags";
import { DROP, type Verdict } from "#otlp/views";
import { Batch } from "../../../plugin.js";
import type { PresentRecord } from "../record-stamp.js";
import { decidePlain, MAX_KEY_BYTES, type PlainSettings } from "./plain-decision.js";
import { COUNTS } from "./policies.js";
import {
  COUNTS_AT,
  INPUT_AT,
  LEVEL,
  LEVEL_BYTES,
  LEVEL_TAGS,
  LEVELS_AT,
  NONE_BEFORE,
  rewritingWalkModule,
  SLACK_BYTES,
  STATE,
  TABLE_AT,
  WAS_DROPPED,
  WAS_KEPT,
} from "./rewriting-walk.js";
import { MAX_STAMP_BYTES, stampTable } from "./stamp-record.js";

/** Decides about the records that the WebAssembly walk leaves to its caller. */
interface UnusualRecordVisitor {
  visit(present: PresentRecord, start: number, end: number): Verdict;
}

type SamplingWalk = WasmFunction<(before: number) => number>;

const MIN_BYTES = 1024 * 1024;
/** Larger batches are walked in JavaScript, so that no memory of that size is kept for them. */
const MAX_BYTES = 8 * 1024 * 1024;
/**
 * The maximum growth of a record: a stamp (or a replacement of the same size), and longer lengths of the record and of
 * the two messages around it.
 */
const MAX_GROWTH = MAX_STAMP_BYTES + 3 * 4;

/** Samples a batch: drops records and stamps the others. Plain records are decided in WebAssembly. */
export class PlainRecords {
  private readonly source: WasmSource<SamplingWalk["run"]>;
  private readonly table: Uint32Array;
  private readonly present = new UnusualRecord();
  private walk: SamplingWalk | undefined;
  private numbers: Int32Array = new Int32Array(0);
  private isFirst = true;

  /** Returns undefined if a key is too long for the WebAssembly code. */
  static for(settings: PlainSettings): PlainRecords | undefined {
    const keys = [...settings.signs, ...(settings.source === undefined ? [] : [settings.source])];
    return keys.every(({ length }) => length <= MAX_KEY_BYTES) ? new PlainRecords(settings) : undefined;
  }

  private constructor(settings: PlainSettings) {
    this.source = new WasmSource(() => rewritingWalkModule(decidePlain(settings)));
    this.table = stampTable(settings.stamp, settings.missingStamp);
  }

  /**
   * Returns the sampled batch, and adds the decisions to `counts`. Returns undefined if the batch must be walked
   * without WebAssembly, as the very first one is: the memory takes a millisecond to make, and some samplers never see
   * a second batch.
   */
  sample(batch: Batch, visitor: UnusualRecordVisitor, counts: Float64Array): Batch | undefined {
    const outAt = INPUT_AT + batch.byteLength + SLACK_BYTES;
    const needed = outAt + batch.byteLength + batch.count * MAX_GROWTH + SLACK_BYTES;
    const walk = this.isFirst ? undefined : this.walkFor(needed);
    this.isFirst = false;
    if (walk === undefined) return undefined;
    this.begin(batch, walk, outAt);
    const isUnusualChanged = this.decide(walk, visitor);
    if (!this.addCounts(counts) && !isUnusualChanged) return batch;
    return this.output(batch, outAt, droppedIn(counts));
  }

  /** Copies the batch into the memory, and sets the walk to its beginning. */
  private begin(batch: Batch, { bytes }: SamplingWalk, outAt: number): void {
    let p = INPUT_AT;
    for (const chunk of batch.chunks) {
      bytes.set(chunk, p);
      p += chunk.length;
    }
    const { numbers } = this;
    numbers.fill(0, 0, TABLE_AT / 4);
    numbers[STATE.position / 4] = INPUT_AT;
    numbers[STATE.out / 4] = outAt;
    numbers[STATE.level / 4] = LEVELS_AT;
    numbers[(LEVELS_AT + LEVEL.end) / 4] = p;
    for (const [depth, tag] of LEVEL_TAGS.entries()) numbers[(LEVELS_AT + depth * LEVEL_BYTES + LEVEL.tag) / 4] = tag;
  }

  /** Returns whether a record that is not plain was changed or dropped. */
  private decide(walk: SamplingWalk, visitor: UnusualRecordVisitor): boolean {
    const { numbers, present } = this;
    let isChanged = false;
    let before = NONE_BEFORE;
    for (;;) {
      const start = walk.run(before);
      if (start === AT_END) return isChanged;
      const end = numbers[STATE.recordEnd / 4]!;
      present.moveTo(end);
      before = visitor.visit(present, start, end) === DROP ? WAS_DROPPED : WAS_KEPT;
      isChanged ||= before === WAS_DROPPED || present.isWritten;
      if (before === WAS_KEPT)
        numbers[STATE.out / 4] = present.writeTo(numbers[STATE.out / 4]!, numbers[STATE.recordAt / 4]!);
    }
  }

  /** Returns whether there were plain records. */
  private addCounts(counts: Float64Array): boolean {
    let sum = 0;
    for (let i = 0; i < COUNTS; i++) {
      const count = this.numbers[COUNTS_AT / 4 + i]!;
      counts[i]! += count;
      sum += count;
    }
    return sum > 0;
  }

  private output(batch: Batch, outAt: number, dropped: number): Batch {
    const outEnd = this.numbers[STATE.out / 4]!;
    const bytes = Buffer.allocUnsafeSlow(outEnd - outAt);
    this.present.bytes.copy(bytes, 0, outAt, outEnd);
    return Batch.trusted(batch.signal, bytes, batch.count - dropped);
  }

  private walkFor(needed: number): SamplingWalk | undefined {
    if (this.walk !== undefined && needed <= this.walk.bytes.length) return this.walk;
    if (needed > MAX_BYTES) return undefined;
    const walk = this.source.create(Math.max(MIN_BYTES, 2 ** Math.ceil(Math.log2(needed))), TABLE_AT, this.table);
    if (walk === undefined) return undefined;
    this.walk = walk;
    this.numbers = new Int32Array(walk.bytes.buffer);
    this.present.bytes = Buffer.from(walk.bytes.buffer as ArrayBuffer);
    return walk;
  }
}

/** Returned by the walk when there are no more records for its caller. */
const AT_END = -1;

function droppedIn(counts: Float64Array): number {
  let sum = 0;
  for (let i = 0; i < COUNTS; i += 2) sum += counts[i]!;
  return sum;
}

/** A record in the memory that is not plain, and its changes. */
class UnusualRecord implements PresentRecord {
  bytes: Buffer = Buffer.alloc(0);
  isWritten = false;
  private end = 0;
  private readonly writer = new WireWriter();

  /** Moves to the record that ends here. */
  moveTo(end: number): void {
    this.end = end;
    this.isWritten = false;
  }

  beginRecord(): WireWriter {
    this.isWritten = true;
    this.writer.clear();
    return this.writer;
  }

  endRecord(): void {}

  extendRecord(start: number, fields: Uint8Array): WireWriter {
    const out = this.beginRecord();
    out.copy(this.bytes, start, this.end);
    out.copy(fields, 0, fields.length);
    return out;
  }

  /** Writes the record to the memory, either changed or as it was from `recordAt` on. Returns where it ends. */
  writeTo(out: number, recordAt: number): number {
    const { bytes, writer } = this;
    if (!this.isWritten) {
      bytes.copyWithin(out, recordAt, this.end);
      return out + this.end - recordAt;
    }
    bytes[out] = SCOPE_ITEM_TAG;
    const start = putVarint(bytes, out + 1, writer.length);
    bytes.set(writer.written(), start);
    return start + writer.length;
  }
}

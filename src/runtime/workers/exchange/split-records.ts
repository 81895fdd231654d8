import { Batch } from "#otlp";
import {
  after,
  type FieldRange,
  fieldsBesideRecords,
  fieldTag,
  putVarint,
  SHAPES,
  stepOver,
  valueAt,
  varint,
  varintSize,
} from "#otlp/bytes";
import { RESOURCE_CONTAINER_TAG, SCOPE_CONTAINER_TAG, SCOPE_ITEM_TAG } from "#otlp/tags";

/** Chooses the part for the record [start, end). */
type ChoosePart = (bytes: Uint8Array, start: number, end: number) => number;

/** A message around records. `sizes` has its length in each part; 0 if the part has none of its records. */
interface Container {
  /** Its fields that do not lead to records. */
  readonly heads: readonly FieldRange[];
  readonly sizes: readonly number[];
}

interface ResourceScopes extends Container {
  readonly scopes: readonly ScopeRecords[];
}

interface ScopeRecords extends Container {
  readonly firstRecord: number;
  /** The record after its last one. */
  readonly endRecord: number;
}

/**
 * Divides spans or log records into parts, each a batch with its records in order; parts without records are undefined.
 * If all records go to one part, that is the batch itself. The fields around records are repeated in every part that has
 * records of theirs. It does what `partition` does for any signal, for less: the lengths of all messages are known before
 * the first byte is written, and nothing is made for a record.
 */
export function splitRecords(batch: Batch, parts: number, choose: ChoosePart): (Batch | undefined)[] {
  const result = new Array<Batch | undefined>(parts).fill(undefined);
  const splitter = new RecordSplitter(batch, parts, choose);
  const only = splitter.onlyPart;
  if (only >= 0) result[only] = batch;
  else splitter.writeInto(result);
  return result;
}

/** Start, with its tag, and end of each record of the batch that is being split, and its part. Kept for the next one. */
const starts: number[] = [];
const ends: number[] = [];
const partOf: number[] = [];

/** Where parts are put together. A large one is not kept. */
let scratch = new Uint8Array(64 * 1024);
const MAX_KEPT_BYTES = 1024 * 1024;

class RecordSplitter {
  private readonly batch: Batch;
  private readonly bytes: Uint8Array;
  private readonly parts: number;
  private readonly choose: ChoosePart;
  private readonly counts: number[];
  private readonly recordBytes: number[];
  private readonly heads: readonly FieldRange[];
  private readonly resources: ResourceScopes[] = [];
  private records = 0;
  private buffer = scratch;
  /** Where the batch is in the buffer. */
  private sourceAt = 0;

  constructor(batch: Batch, parts: number, choose: ChoosePart) {
    this.batch = batch;
    this.bytes = batch.bytes;
    this.parts = parts;
    this.choose = choose;
    this.counts = new Array<number>(parts).fill(0);
    this.recordBytes = new Array<number>(parts).fill(0);
    this.heads = this.headsOf(0, this.bytes.length, 0);
    this.eachField(0, this.bytes.length, RESOURCE_CONTAINER_TAG, (start, end) => this.resource(start, end));
  }

  /** The part that has all records; -1 if there are several, 0 if there are no records. */
  get onlyPart(): number {
    const first = Math.max(
      0,
      this.counts.findIndex((count) => count > 0),
    );
    return this.counts[first] === this.records ? first : -1;
  }

  /**
   * Parts are put together beside a copy of the batch in one buffer, and then copied out: bytes move within a buffer at a
   * third of the cost of copying them from another one.
   */
  writeInto(result: (Batch | undefined)[]): void {
    const { bytes } = this;
    const sizes = result.map((_, part) => this.sizeOf(part));
    const room = Math.max(...sizes);
    const needed = room + bytes.length;
    if (scratch.length < needed) scratch = new Uint8Array(needed);
    this.buffer = scratch;
    this.sourceAt = room;
    this.buffer.set(bytes, room);
    if (scratch.length > MAX_KEPT_BYTES) scratch = new Uint8Array(0);
    for (const [part, size] of sizes.entries()) {
      if (size === 0) continue;
      this.write(part);
      result[part] = Batch.trusted(this.batch.signal, this.buffer.slice(0, size), this.counts[part]!);
    }
  }

  private sizeOf(part: number): number {
    if (this.counts[part] === 0) return 0;
    return bytesOf(this.heads) + this.resources.reduce((sum, { sizes }) => sum + fieldSize(sizes[part]!), 0);
  }

  private write(part: number): void {
    let at = this.copyAll(0, this.heads);
    for (const resource of this.resources) {
      if (resource.sizes[part] === 0) continue;
      at = this.begin(at, RESOURCE_CONTAINER_TAG, resource, part);
      for (const scope of resource.scopes) {
        if (scope.sizes[part] === 0) continue;
        at = this.begin(at, SCOPE_CONTAINER_TAG, scope, part);
        at = this.copyRecords(at, scope, part);
      }
    }
  }

  private resource(start: number, end: number): void {
    const heads = this.headsOf(start, end, 1);
    const headBytes = bytesOf(heads);
    const scopes: ScopeRecords[] = [];
    this.eachField(start, end, SCOPE_CONTAINER_TAG, (from, to) => scopes.push(this.scope(from, to)));
    const sizes = Array.from({ length: this.parts }, (_, part) => {
      const inner = scopes.reduce((sum, scope) => sum + fieldSize(scope.sizes[part]!), 0);
      return inner === 0 ? 0 : headBytes + inner;
    });
    this.resources.push({ heads, scopes, sizes });
  }

  private scope(start: number, end: number): ScopeRecords {
    const { bytes, counts, recordBytes } = this;
    const heads: FieldRange[] = [];
    const firstRecord = this.records;
    recordBytes.fill(0);
    let index = firstRecord;
    for (let p = start; p < end; ) {
      const at = p;
      p = stepOver(bytes, p);
      if (fieldTag !== SCOPE_ITEM_TAG) {
        heads.push([at, p]);
        continue;
      }
      varint(bytes, valueAt);
      const part = this.choose(bytes, after, p);
      starts[index] = at;
      ends[index] = p;
      partOf[index++] = part;
      counts[part]!++;
      recordBytes[part]! += p - at;
    }
    this.records = index;
    const headBytes = bytesOf(heads);
    const sizes = recordBytes.map((inner) => (inner === 0 ? 0 : headBytes + inner));
    return { heads, firstRecord, endRecord: index, sizes };
  }

  private headsOf(start: number, end: number, depth: number): readonly FieldRange[] {
    return fieldsBesideRecords(this.bytes, start, end, SHAPES[this.batch.signal], depth);
  }

  private eachField(start: number, end: number, wanted: number, visit: (start: number, end: number) => void): void {
    const { bytes } = this;
    for (let p = start; p < end; ) {
      p = stepOver(bytes, p);
      if (fieldTag !== wanted) continue;
      varint(bytes, valueAt);
      visit(after, p);
    }
  }

  private begin(at: number, tag: number, { sizes, heads }: Container, part: number): number {
    this.buffer[at] = tag;
    return this.copyAll(putVarint(this.buffer, at + 1, sizes[part]!), heads);
  }

  private copyAll(at: number, ranges: readonly FieldRange[]): number {
    let to = at;
    for (const [from, end] of ranges) to = this.copy(to, from, end);
    return to;
  }

  /** Adjacent records of the part are copied together. */
  private copyRecords(at: number, { firstRecord, endRecord }: ScopeRecords, part: number): number {
    let to = at;
    for (let i = firstRecord; i < endRecord; i++) {
      if (partOf[i] !== part) continue;
      const from = starts[i]!;
      while (i + 1 < endRecord && partOf[i + 1] === part && starts[i + 1] === ends[i]) i++;
      to = this.copy(to, from, ends[i]!);
    }
    return to;
  }

  private copy(at: number, from: number, end: number): number {
    this.buffer.copyWithin(at, this.sourceAt + from, this.sourceAt + end);
    return at + end - from;
  }
}

/** The bytes of a message with this length, its tag and the length; 0 for a message that is left out. */
function fieldSize(size: number): number {
  return size === 0 ? 0 : 1 + varintSize(size) + size;
}

function bytesOf(ranges: readonly FieldRange[]): number {
  let sum = 0;
  for (const [from, to] of ranges) sum += to - from;
  return sum;
}

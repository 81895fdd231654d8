import { type FieldRange, fieldsBesideRecords, fixed32, SHAPES, varintSize, WireWriter } from "#otlp/bytes";
import { RESOURCE_CONTAINER_TAG, SCOPE_CONTAINER_TAG, SCOPE_ITEM_TAG } from "#otlp/tags";
import { KEEP, type RecordVisitor, RecordWalk, type Verdict } from "#otlp/views";
import { Batch } from "../../../plugin.js";
import { SpanIds } from "../record.generated.js";

/** A span in the bytes of the batch it came with. It keeps those bytes in memory. */
export interface SpanSlice {
  readonly frame: SpanFrame;
  /** The range of its message. */
  readonly start: number;
  readonly end: number;
  /** Half of the span id, for lookups. */
  readonly key: number;
  readonly isRoot: boolean;
}

/** The surroundings of spans: the fields of the request, resource and scope other than spans. */
interface SpanFrame {
  readonly bytes: Uint8Array;
  /** All spans of a request share the same list. */
  readonly request: readonly FieldRange[];
  readonly resource: readonly FieldRange[];
  readonly scope: readonly FieldRange[];
  /** Upper bound of the encoded size of these fields. */
  readonly maxBytes: number;
}

/**
 * Returns the spans of a batch by trace, in order. A trace is identified by sixteen characters, one for each byte of
 * its id. Copies nothing.
 */
export function sliceByTrace(batch: Batch): Map<string, SpanSlice[]> {
  const { bytes } = batch;
  const slicer = new SpanSlicer(fieldsBesideRecords(bytes, 0, bytes.length, SHAPES.traces, 0));
  new RecordWalk(batch).run(slicer);
  return slicer.traces;
}

/** Builds a batch of these spans, each with its surroundings. Fields of a request are written once. */
export function batchOfSlices(slices: readonly SpanSlice[]): Batch {
  const writer = new WireWriter(maxBytesOf(slices));
  let requests: Set<readonly FieldRange[]> | undefined;
  let frame: SpanFrame | undefined;
  for (let i = 0; i < slices.length; i++) {
    const first = slices[i]!;
    if (first.frame !== frame) {
      if (frame !== undefined) closeFrame(writer);
      frame = first.frame;
      if (frame.request.length > 0 && requests?.has(frame.request) !== true) {
        requests ??= new Set();
        requests.add(frame.request);
        copyRanges(writer, frame.bytes, frame.request);
      }
      openFrame(writer, frame);
    }
    writer.byte(SCOPE_ITEM_TAG);
    writer.varint(first.end - first.start);
    while (i + 1 < slices.length && isAdjacent(slices[i]!, slices[i + 1]!)) i++;
    writer.copy(frame.bytes, first.start, slices[i]!.end);
  }
  if (frame !== undefined) closeFrame(writer);
  return Batch.trusted("traces", writer.written(), slices.length);
}

/** Returns an upper bound for the size of a batch of these spans. */
export function maxBytesOf(slices: readonly SpanSlice[]): number {
  let bytes = 0;
  let frame: SpanFrame | undefined;
  for (const slice of slices) {
    if (slice.frame !== frame) bytes += slice.frame.maxBytes;
    frame = slice.frame;
    bytes += slice.end - slice.start + MAX_HEADER_BYTES;
  }
  return bytes;
}

/**
 * Whether only the tag and length of the second span lie between the two, as they would be written. They are then
 * copied together.
 */
function isAdjacent(before: SpanSlice, slice: SpanSlice): boolean {
  return slice.frame === before.frame && slice.start - before.end === 1 + varintSize(slice.end - slice.start);
}

/** Whether both have the same id and the same bytes. */
export function isSameSpan(a: SpanSlice, b: SpanSlice): boolean {
  if (a.key !== b.key || a.end - a.start !== b.end - b.start) return false;
  const of = ({ frame, start, end }: SpanSlice) => frame.bytes.subarray(start, end);
  return Buffer.compare(of(a), of(b)) === 0;
}

function openFrame(writer: WireWriter, { bytes, resource, scope }: SpanFrame): void {
  writer.byte(RESOURCE_CONTAINER_TAG);
  writer.begin(LIKELY_SIZE);
  copyRanges(writer, bytes, resource);
  writer.byte(SCOPE_CONTAINER_TAG);
  writer.begin(LIKELY_SIZE);
  copyRanges(writer, bytes, scope);
}

function copyRanges(writer: WireWriter, bytes: Uint8Array, ranges: readonly FieldRange[]): void {
  for (const [from, to] of ranges) writer.copy(bytes, from, to);
}

function sizeOf(ranges: readonly FieldRange[]): number {
  return ranges.reduce((sum, [from, to]) => sum + to - from, 0);
}

function closeFrame(writer: WireWriter): void {
  writer.end();
  writer.end();
}

class SpanSlicer implements RecordVisitor {
  readonly traces = new Map<string, SpanSlice[]>();
  private readonly ids = new IdScan();
  private readonly request: readonly FieldRange[];
  private resource: readonly FieldRange[] = [];
  private frame!: SpanFrame;
  private resourceSerial = 0;
  private scopeSerial = 0;

  constructor(request: readonly FieldRange[]) {
    this.request = request;
  }

  visit(walk: RecordWalk, start: number, end: number): Verdict {
    const [resource, scope] = walk.serials as [number, number];
    if (scope !== this.scopeSerial || resource !== this.resourceSerial) this.enterScope(walk, resource, scope);
    const { ids } = this;
    ids.run(walk.bytes, start, end);
    const { traceId } = ids;
    const slice = { frame: this.frame, start, end, key: ids.spanKey, isRoot: ids.isRoot };
    const known = this.traces.get(traceId);
    if (known === undefined) this.traces.set(traceId, [slice]);
    else known.push(slice);
    return KEEP;
  }

  private enterScope(walk: RecordWalk, resource: number, scope: number): void {
    const [outer, inner] = [walk.frames[0]!, walk.frames[1]!];
    const { bytes } = walk;
    if (resource !== this.resourceSerial)
      this.resource = fieldsBesideRecords(bytes, outer.start, outer.end, SHAPES.traces, 1);
    this.resourceSerial = resource;
    this.scopeSerial = scope;
    const { request, resource: ofResource } = this;
    const ofScope = fieldsBesideRecords(bytes, inner.start, inner.end, SHAPES.traces, 2);
    const maxBytes = sizeOf(request) + sizeOf(ofResource) + sizeOf(ofScope) + 2 * MAX_HEADER_BYTES;
    this.frame = { bytes, request, resource: ofResource, scope: ofScope, maxBytes };
  }
}

/** Reads the ids of one span after the other. */
class IdScan extends SpanIds {
  /** Sixteen zeros if the span has no trace id. */
  traceId = NO_TRACE;
  /** The end of the span id; 0 if it has none. */
  spanKey = 0;
  isRoot = true;

  run(b: Uint8Array, start: number, end: number): void {
    this.traceId = NO_TRACE;
    this.spanKey = 0;
    this.isRoot = true;
    this.read(b, start, end);
  }

  protected override setTraceId(b: Uint8Array, _at: number, start: number, end: number): void {
    if (end - start === 16) this.traceId = Buffer.prototype.latin1Slice.call(b, start, end);
  }

  protected override setSpanId(b: Uint8Array, _at: number, start: number, end: number): void {
    if (end - start >= 4) this.spanKey = fixed32(b, end - 4);
  }

  protected override setParentId(b: Uint8Array, _at: number, start: number, end: number): void {
    for (let i = start; i < end; i++) if (b[i] !== 0) this.isRoot = false;
  }
}

/** A tag of one byte and the longest possible length. */
const MAX_HEADER_BYTES = 6;
const NO_TRACE = "\0".repeat(16);
/** An estimate of the size of a resource or scope with its spans, which reserves two bytes for the length. */
const LIKELY_SIZE = 1000;

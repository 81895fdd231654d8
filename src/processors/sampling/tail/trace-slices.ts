import { Batch } from "../../../plugin.js";
import {
  after,
  fixed32,
  KEEP,
  type RecordVisitor,
  RecordWalk,
  skip,
  type Verdict,
  varint,
  WireWriter,
} from "../../../runtime/kit.js";

/** A span where it lies in the bytes of the batch it came with; it keeps those bytes in memory. */
export interface SpanSlice {
  readonly frame: SpanFrame;
  /** Its message. */
  readonly start: number;
  readonly end: number;
  /** Half of its id, to find it again by. */
  readonly key: number;
  readonly isRoot: boolean;
}

/** What surrounds spans: the request, their resource and scope, with all else that stands beside them. */
interface SpanFrame {
  readonly bytes: Uint8Array;
  /** The same list for all spans of a request. */
  readonly request: readonly ByteRange[];
  readonly resource: readonly ByteRange[];
  readonly scope: readonly ByteRange[];
}

type ByteRange = readonly [from: number, to: number];

/**
 * The spans of a batch by trace, in order. A trace is named by its id, sixteen characters, one for each byte. Copies
 * nothing.
 */
export function sliceByTrace(batch: Batch): Map<string, SpanSlice[]> {
  const { bytes } = batch;
  const slicer = new SpanSlicer(fieldsBesideChildren(bytes, 0, bytes.length, RESOURCE_SPANS));
  new RecordWalk(batch).run(slicer);
  return slicer.traces;
}

/** A batch of these spans, each with what surrounded it; what stood in a request itself comes once. */
export function batchOfSlices(slices: readonly SpanSlice[]): Batch {
  const writer = new WireWriter(slices.reduce((sum, { start, end }) => sum + end - start + 8, 256));
  const requests = new Set<readonly ByteRange[]>();
  let frame: SpanFrame | undefined;
  for (const slice of slices) {
    if (slice.frame !== frame) {
      if (frame !== undefined) closeFrame(writer);
      frame = slice.frame;
      if (frame.request.length > 0 && !requests.has(frame.request)) {
        requests.add(frame.request);
        copyRanges(writer, frame.bytes, frame.request);
      }
      openFrame(writer, frame);
    }
    writer.byte(SPAN);
    writer.varint(slice.end - slice.start);
    writer.copy(frame.bytes, slice.start, slice.end);
  }
  if (frame !== undefined) closeFrame(writer);
  return Batch.trusted("traces", writer.written(), slices.length);
}

/** Are they the same bytes, and of the same span? */
export function isSameSpan(a: SpanSlice, b: SpanSlice): boolean {
  if (a.key !== b.key || a.end - a.start !== b.end - b.start) return false;
  const of = ({ frame, start, end }: SpanSlice) => frame.bytes.subarray(start, end);
  return Buffer.compare(of(a), of(b)) === 0;
}

function openFrame(writer: WireWriter, { bytes, resource, scope }: SpanFrame): void {
  writer.byte(RESOURCE_SPANS);
  writer.begin(LIKELY_SIZE);
  copyRanges(writer, bytes, resource);
  writer.byte(CHILD);
  writer.begin(LIKELY_SIZE);
  copyRanges(writer, bytes, scope);
}

function copyRanges(writer: WireWriter, bytes: Uint8Array, ranges: readonly ByteRange[]): void {
  for (const [from, to] of ranges) writer.copy(bytes, from, to);
}

function closeFrame(writer: WireWriter): void {
  writer.end();
  writer.end();
}

class SpanSlicer implements RecordVisitor {
  readonly traces = new Map<string, SpanSlice[]>();
  private readonly request: readonly ByteRange[];
  private resource: readonly ByteRange[] = [];
  private frame!: SpanFrame;
  private resourceSerial = 0;
  private scopeSerial = 0;

  constructor(request: readonly ByteRange[]) {
    this.request = request;
  }

  visit(walk: RecordWalk, start: number, end: number): Verdict {
    const [resource, scope] = walk.serials as [number, number];
    if (scope !== this.scopeSerial || resource !== this.resourceSerial) this.enterScope(walk, resource, scope);
    scanIds(walk.bytes, start, end);
    const slice = { frame: this.frame, start, end, key: spanKey, isRoot };
    const known = this.traces.get(traceId);
    if (known === undefined) this.traces.set(traceId, [slice]);
    else known.push(slice);
    return KEEP;
  }

  private enterScope(walk: RecordWalk, resource: number, scope: number): void {
    const [outer, inner] = [walk.frames[0]!, walk.frames[1]!];
    const { bytes } = walk;
    if (resource !== this.resourceSerial) this.resource = fieldsBesideChildren(bytes, outer.start, outer.end, CHILD);
    this.resourceSerial = resource;
    this.scopeSerial = scope;
    const { request } = this;
    this.frame = {
      bytes,
      request,
      resource: this.resource,
      scope: fieldsBesideChildren(bytes, inner.start, inner.end, CHILD),
    };
  }
}

/** The fields of a message that are not its list of children. */
function fieldsBesideChildren(b: Uint8Array, start: number, end: number, children: number): ByteRange[] {
  const heads: ByteRange[] = [];
  for (let p = start; p < end; ) {
    const at = p;
    const tag = varint(b, p);
    p = skip(b, after, tag);
    if (tag !== children) heads.push([at, p]);
  }
  return heads;
}

let traceId = "";
let spanKey = 0;
let isRoot = true;

/** Reads the ids of the span in [p, end) into the variables above. */
function scanIds(b: Uint8Array, p: number, end: number): void {
  traceId = NO_TRACE;
  spanKey = 0;
  isRoot = true;
  while (p < end) {
    const tag = varint(b, p);
    const at = after;
    p = skip(b, at, tag);
    if (tag !== TRACE_ID && tag !== SPAN_ID && tag !== PARENT_ID) continue;
    const size = varint(b, at);
    const start = after;
    if (tag === TRACE_ID) {
      if (size === 16) traceId = Buffer.prototype.latin1Slice.call(b, start, p);
    } else if (tag === SPAN_ID) {
      if (size >= 4) spanKey = fixed32(b, p - 4);
    } else for (let i = start; i < p; i++) if (b[i] !== 0) isRoot = false;
  }
}

const NO_TRACE = "\0".repeat(16);
const RESOURCE_SPANS = 10;
/** Scopes in a resource, spans in a scope. */
const CHILD = 18;
const SPAN = 18;
const TRACE_ID = 10;
const SPAN_ID = 18;
const PARENT_ID = 34;
/** A guess at the size of a resource or scope with its spans: two bytes are reserved for its length. */
const LIKELY_SIZE = 1000;

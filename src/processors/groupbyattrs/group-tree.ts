import { ERROR_CODES, hasErrorCode } from "#contract/errors";
import {
  after,
  type FieldRange,
  fieldsBesideRecords,
  hasKey,
  SHAPES,
  type SignalShape,
  skip,
  varint,
  WireWriter,
} from "#otlp/bytes";
import { OWNER_TAG, RESOURCE_ATTRIBUTES_TAG } from "#otlp/tags";
import type { Frame } from "#otlp/views";
import type { Batch } from "../../plugin.js";
import type { AttributeFinder, FoundAttributes } from "./attribute-finder.js";

/** Putting the records under resources of their own would multiply the batch. */
class RegroupOverflow extends Error {
  override readonly name = "RegroupOverflow";
  readonly code = ERROR_CODES.SLUICE_REGROUP_OVERFLOW;

  constructor(limit: number) {
    super(`what surrounds the records would take more than ${limit} bytes`);
  }
}

/** Whether it is a `RegroupOverflow`: told by its code, so that one of another copy of the package counts too. */
export function isRegroupOverflow(error: unknown): error is RegroupOverflow {
  return hasErrorCode(error, ERROR_CODES.SLUICE_REGROUP_OVERFLOW);
}

/** A message around records as it will be written: what it says itself, and the messages or records in it. */
export class RecordGroup {
  readonly tag: number;
  readonly depth: number;
  /** The frame it was made for; others that are alike join it. */
  readonly frame: Frame;
  /** Its fields that are not messages on the way to a record. */
  readonly head: Uint8Array;
  /** The groups in it, by their canonical text: alike ones become one. */
  readonly children = new Map<string, RecordGroup>();
  /** Parts of the batch, from and to, in turn. */
  readonly pieces: number[] = [];
  /** How many of the pieces make the body of a record; or the next one is whole records. */
  readonly counts: number[] = [];
  private recordBytes = 0;

  constructor(frame: Frame, depth: number, head: Uint8Array) {
    this.tag = frame.tag;
    this.frame = frame;
    this.depth = depth;
    this.head = head;
  }

  /** [from, to) is a record with its tag. Neighbours become one run. */
  add(from: number, to: number): void {
    const { pieces, counts } = this;
    const last = counts.length - 1;
    if (counts[last] === WHOLE_RECORDS && pieces[pieces.length - 1] === from) pieces[pieces.length - 1] = to;
    else {
      counts.push(WHOLE_RECORDS);
      pieces.push(from, to);
    }
    this.recordBytes += to - from;
  }

  /** What the finder leaves of the record whose body is [start, end). */
  addRest(start: number, end: number, finder: AttributeFinder): void {
    this.counts.push(finder.pushRest(start, end, this.pieces));
    this.recordBytes += end - start + TAG_AND_LENGTH_BYTES;
  }

  /** At most so many bytes. */
  get size(): number {
    let size = this.recordBytes + this.head.length + TAG_AND_LENGTH_BYTES;
    for (const child of this.children.values()) size += child.size;
    return size;
  }
}

const WHOLE_RECORDS = 0;
/** A tag and a length. */
const TAG_AND_LENGTH_BYTES = 6;
/** Down to this depth a frame has an owner: a resource or a scope, whose attributes come in any order. */
const OWNER_DEPTH = 2;

interface HeadField {
  readonly start: number;
  readonly end: number;
  /** The body of a resource or scope. */
  readonly owner: FieldRange | undefined;
}

interface FrameLayout {
  readonly frame: Frame;
  readonly fields: readonly HeadField[];
}

/** Groups within groups, alike ones only once. */
export class GroupTree {
  /** Two frames of the batch have become one group. */
  hasMerged = false;
  private readonly roots = new Map<string, RecordGroup>();
  private readonly bytes: Uint8Array;
  private readonly shape: SignalShape;
  private readonly limit: number;
  /** By depth: the frame looked at last, which may have as many groups as records. */
  private readonly layouts: FrameLayout[] = [];
  private headBytes = 0;

  /** Throws a `RegroupOverflow` as soon as more than `limit` bytes would have to be written. */
  constructor(batch: Batch, limit: number) {
    this.limit = limit - batch.byteLength;
    this.bytes = batch.bytes;
    this.shape = SHAPES[batch.signal];
  }

  get size(): number {
    let size = 0;
    for (const group of this.roots.values()) size += group.size;
    return size;
  }

  /** The group for records of this frame whose other frames have led to `parent`. */
  group(parent: RecordGroup | undefined, frame: Frame, moved: FoundAttributes | undefined): RecordGroup {
    const depth = parent === undefined ? 0 : parent.depth + 1;
    const head = this.headOf(frame, depth + 1, moved);
    const siblings = parent?.children ?? this.roots;
    const identity = `${frame.tag} ${canonicalText(head, 0, head.length, depth < OWNER_DEPTH)}`;
    const existing = siblings.get(identity);
    if (existing === undefined) {
      this.headBytes += head.length + TAG_AND_LENGTH_BYTES;
      if (this.headBytes > this.limit) throw new RegroupOverflow(this.limit);
      const group = new RecordGroup(frame, depth, head);
      siblings.set(identity, group);
      return group;
    }
    if (existing.frame !== frame) this.hasMerged = true;
    return existing;
  }

  write(): Uint8Array {
    const writer = new WireWriter(this.size + 64);
    const requestHead = this.headOf({ tag: 0, start: 0, end: this.bytes.length }, 0, undefined);
    writer.copy(requestHead, 0, requestHead.length);
    for (const group of this.roots.values()) this.writeGroup(writer, group);
    return writer.written();
  }

  private writeGroup(writer: WireWriter, group: RecordGroup): void {
    writer.byte(group.tag);
    writer.begin(group.size);
    writer.copy(group.head, 0, group.head.length);
    for (const child of group.children.values()) this.writeGroup(writer, child);
    this.writeRecords(writer, group);
    writer.end();
  }

  private writeRecords(writer: WireWriter, { pieces, counts }: RecordGroup): void {
    let at = 0;
    for (const count of counts) {
      const stop = at + 2 * Math.max(count, 1);
      if (count !== WHOLE_RECORDS) {
        let size = 0;
        for (let i = at; i < stop; i += 2) size += pieces[i + 1]! - pieces[i]!;
        writer.byte(this.shape.record);
        writer.varint(size);
      }
      for (; at < stop; at += 2) writer.copy(this.bytes, pieces[at]!, pieces[at + 1]!);
    }
  }

  /** The fields of a frame that are not at this depth on the way to a record, with the attributes moved into it. */
  private headOf(frame: Frame, depth: number, moved: FoundAttributes | undefined): Uint8Array {
    const writer = new WireWriter(256);
    let owner: FieldRange = [frame.start, frame.start];
    for (const field of this.layoutOf(frame, depth).fields) {
      if (moved !== undefined && field.owner !== undefined) owner = field.owner;
      else writer.copy(this.bytes, field.start, field.end);
    }
    if (moved !== undefined) this.writeResource(writer, owner, moved);
    return writer.written();
  }

  /** Where those fields are. Found once for all groups of a frame. */
  private layoutOf(frame: Frame, depth: number): FrameLayout {
    const known = this.layouts[depth];
    if (known?.frame === frame) return known;
    const ranges = fieldsBesideRecords(this.bytes, frame.start, frame.end, this.shape, depth);
    const fields = ranges.map(([start, end]): HeadField => {
      const isOwner = varint(this.bytes, start) === OWNER_TAG;
      if (isOwner) varint(this.bytes, after);
      return { start, end, owner: isOwner ? [after, end] : undefined };
    });
    return (this.layouts[depth] = { frame, fields });
  }

  private writeResource(writer: WireWriter, [start, end]: FieldRange, moved: FoundAttributes): void {
    writer.byte(OWNER_TAG);
    writer.begin(end - start);
    copyWithoutKeys(writer, this.bytes, start, end, moved.keys);
    for (const [from, to] of moved.ranges) {
      writer.byte(RESOURCE_ATTRIBUTES_TAG);
      writer.varint(to - from);
      writer.copy(this.bytes, from, to);
    }
    writer.end();
  }
}

/** A resource without the attributes that have one of these keys. */
function copyWithoutKeys(
  writer: WireWriter,
  b: Uint8Array,
  start: number,
  end: number,
  keys: readonly Uint8Array[],
): void {
  let copied = start;
  for (let p = start; p < end; ) {
    const at = p;
    const tag = varint(b, p);
    const lengthAt = after;
    p = skip(b, lengthAt, tag);
    if (tag !== RESOURCE_ATTRIBUTES_TAG) continue;
    varint(b, lengthAt);
    const body = after;
    const next = p;
    if (!keys.some((key) => hasKey(b, body, next, key))) continue;
    writer.copy(b, copied, at);
    copied = next;
  }
  writer.copy(b, copied, end);
}

/** The same text for messages of the same fields in any order; an owner that is empty is none. */
function canonicalText(b: Uint8Array, start: number, end: number, hasOwner: boolean): string {
  const fields: string[] = [];
  for (let p = start; p < end; ) {
    const at = p;
    const tag = varint(b, p);
    const lengthAt = after;
    p = skip(b, lengthAt, tag);
    if (!hasOwner || tag !== OWNER_TAG) {
      fields.push(Buffer.prototype.latin1Slice.call(b, at, p));
      continue;
    }
    varint(b, lengthAt);
    const owner = canonicalText(b, after, p, false);
    if (owner !== "") fields.push(`owner ${owner}`);
  }
  return fields
    .sort()
    .map((part) => `${part.length} ${part}`)
    .join("");
}

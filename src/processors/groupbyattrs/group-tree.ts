import { ERROR_CODES, hasErrorCode } from "#contract/errors";
import {
  after,
  bodyEnd,
  type FieldRange,
  fieldAt,
  fieldsBesideRecords,
  fieldTag,
  hasKey,
  nextBody,
  SHAPES,
  type SignalShape,
  stepOver,
  valueAt,
  varint,
  WireWriter,
} from "#otlp/bytes";
import { OWNER_TAG, RESOURCE_ATTRIBUTES_TAG } from "#otlp/tags";
import type { Frame } from "#otlp/views";
import type { Batch } from "../../plugin.js";
import type { AttributeFinder, FoundAttributes } from "./attribute-finder.js";

/** Thrown when giving the records resources of their own would make the batch many times larger. */
class RegroupOverflow extends Error {
  override readonly name = "RegroupOverflow";
  readonly code = ERROR_CODES.SLUICE_REGROUP_OVERFLOW;

  constructor(limit: number) {
    super(`the regrouped resources would take more than ${limit} bytes`);
  }
}

/** Recognises the error by its code, because it may come from another copy of the package. */
export function isRegroupOverflow(error: unknown): error is RegroupOverflow {
  return hasErrorCode(error, ERROR_CODES.SLUICE_REGROUP_OVERFLOW);
}

/** A frame of the batch to be written: its own fields, and the groups or records inside it. */
export class RecordGroup {
  readonly tag: number;
  readonly depth: number;
  /** The frame that this group was made for. Equal frames join the same group. */
  readonly frame: Frame;
  /** The fields of the frame that do not contain records. */
  readonly head: Uint8Array;
  /** The groups inside this one, by their canonical text, so that equal frames become one group. */
  readonly children = new Map<string, RecordGroup>();
  /** Byte ranges of the batch, as from, to, from, to ... */
  readonly pieces: number[] = [];
  /**
   * How many ranges of `pieces` make up the body of each record. `WHOLE_RECORDS` marks a single range that holds
   * complete records with their tags.
   */
  readonly counts: number[] = [];
  private recordBytes = 0;

  constructor(frame: Frame, depth: number, head: Uint8Array) {
    this.tag = frame.tag;
    this.frame = frame;
    this.depth = depth;
    this.head = head;
  }

  /** Adds the record [from, to), including its tag. Adjacent records are merged into one range. */
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

  /** Adds the record with body [start, end) without the attributes that the finder found. */
  addRest(start: number, end: number, finder: AttributeFinder): void {
    this.counts.push(finder.pushRest(start, end, this.pieces));
    this.recordBytes += end - start + TAG_AND_LENGTH_BYTES;
  }

  /** Upper bound of the encoded size in bytes. */
  get size(): number {
    let size = this.recordBytes + this.head.length + TAG_AND_LENGTH_BYTES;
    for (const child of this.children.values()) size += child.size;
    return size;
  }
}

const WHOLE_RECORDS = 0;
/** Upper bound of the bytes of a tag and a length. */
const TAG_AND_LENGTH_BYTES = 6;
/** Frames above this depth have an owner (a resource or a scope), whose attributes may come in any order. */
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

/** A tree of groups in which equal frames occur only once. */
export class GroupTree {
  /** True once two frames of the batch have become one group. */
  hasMerged = false;
  private readonly roots = new Map<string, RecordGroup>();
  private readonly bytes: Uint8Array;
  private readonly shape: SignalShape;
  private readonly limit: number;
  /**
   * The layout of the last frame at each depth. It is kept because one frame may give as many groups as it has records.
   */
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

  /** Returns the group for records of this frame inside the group `parent`, and makes it if there is none yet. */
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

  /** Returns the fields of a frame that do not contain records, with the moved attributes added to the owner. */
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

  /** Returns the places of those fields. They are found once for all groups of a frame. */
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

/** Copies a resource without the attributes that have one of these keys. */
function copyWithoutKeys(
  writer: WireWriter,
  b: Uint8Array,
  start: number,
  end: number,
  keys: readonly Uint8Array[],
): void {
  let copied = start;
  for (let p = start; (p = nextBody(b, p, end, RESOURCE_ATTRIBUTES_TAG)) >= 0; ) {
    const at = fieldAt;
    const body = p;
    const next = bodyEnd;
    p = next;
    if (!keys.some((key) => hasKey(b, body, next, key))) continue;
    writer.copy(b, copied, at);
    copied = next;
  }
  writer.copy(b, copied, end);
}

/** Returns the same text for messages with the same fields in any order. An empty owner counts as a missing one. */
function canonicalText(b: Uint8Array, start: number, end: number, hasOwner: boolean): string {
  const fields: string[] = [];
  for (let p = start; p < end; ) {
    const at = p;
    p = stepOver(b, p);
    if (!hasOwner || fieldTag !== OWNER_TAG) {
      fields.push(Buffer.prototype.latin1Slice.call(b, at, p));
      continue;
    }
    varint(b, valueAt);
    const owner = canonicalText(b, after, p, false);
    if (owner !== "") fields.push(`owner ${owner}`);
  }
  return fields
    .sort()
    .map((part) => `${part.length} ${part}`)
    .join("");
}

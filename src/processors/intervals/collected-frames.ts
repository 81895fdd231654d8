import { AttributeKey, SeriesTable } from "#metrics";
import { message, WireWriter } from "#otlp/bytes";
import {
  OWNER_TAG,
  RESOURCE_ATTRIBUTES_TAG,
  RESOURCE_CONTAINER_TAG,
  SCOPE_ATTRIBUTES_TAG,
  SCOPE_CONTAINER_TAG,
  SCOPE_ITEM_TAG,
  SCOPE_NAME_TAG,
  SCOPE_VERSION_TAG,
} from "#otlp/tags";
import type { Frame, RecordWalk } from "#otlp/views";
import type { Steps } from "#work";
import { Batch, type Signal } from "../../plugin.js";

/** A message around collected records: its fields beside them, and the messages or records in it. */
export interface CollectedFrame<Item> {
  readonly id: number;
  readonly tag: number;
  readonly head: Uint8Array;
  readonly frames: CollectedFrame<Item>[];
  readonly items: Item[];
}

/**
 * The resources and scopes of collected records. Resources are the same if their attributes are, and scopes if their
 * name, version and attributes are. The first of those that are the same is kept, with all its fields.
 */
export class CollectedFrames<Item> {
  private readonly root: CollectedFrame<Item> = { id: 0, tag: 0, head: new Uint8Array(0), frames: [], items: [] };
  private readonly known = new SeriesTable<CollectedFrame<Item>>({
    maxSeries: Number.MAX_SAFE_INTEGER,
    expireAfterMs: 0,
  });
  private readonly attributes = new AttributeKey();
  private readonly key = new WireWriter(256);
  private lastId = 0;

  get resources(): readonly CollectedFrame<Item>[] {
    return this.root.frames;
  }

  /** Returns the scope around the walk's record. */
  scopeOf({ bytes: b, frames }: RecordWalk): CollectedFrame<Item> {
    const container = frames[0]!;
    const scopes = frames[1]!;
    this.beginKey(b, message(b, container.start, container.end, OWNER_TAG), RESOURCE_ATTRIBUTES_TAG);
    const { root, key } = this;
    const resource = this.find(root, RESOURCE_CONTAINER_TAG, key.written(), b, container, [SCOPE_CONTAINER_TAG]);
    const scope = message(b, scopes.start, scopes.end, OWNER_TAG);
    this.beginKey(b, scope, SCOPE_ATTRIBUTES_TAG);
    for (const tag of [SCOPE_NAME_TAG, SCOPE_VERSION_TAG]) {
      key.byte(tag);
      key.lengthDelimited(b.subarray(...message(b, ...scope, tag)));
    }
    return this.find(resource, SCOPE_CONTAINER_TAG, key.written(), b, scopes, [SCOPE_ITEM_TAG]);
  }

  /**
   * Returns the frame with this key in another one. A new frame has the fields of the message but for those with these
   * tags.
   */
  find(
    parent: CollectedFrame<Item>,
    tag: number,
    key: Uint8Array,
    b: Uint8Array,
    { start, end }: Pick<Frame, "start" | "end">,
    without: readonly number[],
  ): CollectedFrame<Item> {
    const known = this.known.find(parent.id, key, 0, key.length, 0);
    if (known !== undefined) return known;
    const head = new WireWriter(end - start < 1024 ? 128 : 1024);
    head.copyFieldsExcept(b, start, end, without);
    const frame = { id: ++this.lastId, tag, head: Uint8Array.from(head.written()), frames: [], items: [] };
    parent.frames.push(frame);
    return this.known.add(parent.id, key, 0, key.length, 0, frame)!;
  }

  private beginKey(b: Uint8Array, [start, end]: readonly [number, number], tag: number): void {
    const { attributes, key } = this;
    attributes.begin(b);
    attributes.addAll(start, end, tag);
    attributes.finish();
    key.clear();
    key.copy(attributes.bytes, attributes.start, attributes.end);
  }
}

/** How collected records are written. */
interface ItemFormat<Item> {
  readonly signal: Signal;
  /** The tag of a record in the message around it. */
  readonly tag: number;
  /** Writes the body of a record. */
  write(item: Item, out: WireWriter): void;
}

/** Batches made of collected records are about this large. */
const MAX_PIECE_BYTES = 1024 * 1024;
/** Bytes that are written in one step. */
const STEP_BYTES = 64 * 1024;

/** Writes all records in batches of a limited size. */
export function* piecesOf<Item>(
  frames: readonly CollectedFrame<Item>[],
  format: ItemFormat<Item>,
): Steps<readonly Batch[]> {
  const writer = new PieceWriter(format);
  for (const frame of frames) yield* writer.write(frame);
  return writer.finish();
}

class PieceWriter<Item> {
  private readonly pieces: Batch[] = [];
  /** The number of records in the current piece. */
  private count = 0;
  private stepEnd = STEP_BYTES;
  private readonly format: ItemFormat<Item>;
  private readonly open: CollectedFrame<Item>[] = [];
  private out = new WireWriter();

  constructor(format: ItemFormat<Item>) {
    this.format = format;
  }

  *write(frame: CollectedFrame<Item>): Steps<void> {
    this.open.push(frame);
    this.begin(frame);
    for (const inner of frame.frames) yield* this.write(inner);
    for (const item of frame.items) {
      if (this.out.length > MAX_PIECE_BYTES && this.count > 0) this.endPiece();
      if (this.out.length > this.stepEnd) {
        this.stepEnd = this.out.length + STEP_BYTES;
        yield;
      }
      this.out.byte(this.format.tag);
      this.out.begin();
      this.format.write(item, this.out);
      this.out.end();
      this.count++;
    }
    this.out.end();
    this.open.pop();
  }

  finish(): readonly Batch[] {
    if (this.count > 0) this.endPiece();
    return this.pieces;
  }

  /** The next piece begins in the same frames. */
  private endPiece(): void {
    for (const _ of this.open) this.out.end();
    this.pieces.push(Batch.trusted(this.format.signal, Uint8Array.from(this.out.written()), this.count));
    this.out = new WireWriter();
    this.count = 0;
    this.stepEnd = STEP_BYTES;
    for (const frame of this.open) this.begin(frame);
  }

  private begin({ tag, head }: CollectedFrame<Item>): void {
    this.out.byte(tag);
    this.out.begin(head.length);
    this.out.copy(head, 0, head.length);
  }
}

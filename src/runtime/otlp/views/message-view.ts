import { decodeField } from "../bytes/decode.js";
import { encodeField } from "../bytes/encode.js";
import type { Field, Message } from "../bytes/messages.js";
import {
  after,
  bodyEnd,
  fieldTag,
  findField,
  LENGTH_DELIMITED,
  nextBody,
  stepOver,
  valueAt,
  varint,
} from "../bytes/wire.js";
import type { WireWriter } from "../bytes/writer.js";
import { isMalformed } from "../signals/malformed.js";
import { Attributes } from "./attributes.js";

/**
 * A message in the batch: fields are decoded when they are read, and changes are kept beside the bytes until the
 * message is written again. Untouched fields, known or unknown, are copied unchanged.
 */
export abstract class MessageView {
  protected readonly bytes: Uint8Array;
  protected readonly start: number;
  protected readonly end: number;
  protected readonly message: Message;
  private changes: Map<number, unknown> | undefined;
  private attributeView: Attributes | undefined;
  /** Views of the messages of a repeated field, in the order of the bytes. */
  private nested: Map<number, DroppableView[]> | undefined;
  protected removed = false;

  constructor(message: Message, bytes: Uint8Array, start: number, end: number) {
    this.message = message;
    this.bytes = bytes;
    this.start = start;
    this.end = end;
  }

  /** The tag of the attributes of this message; 0 if it has none. */
  protected abstract readonly attributesTag: number;

  get attributes(): Attributes {
    this.attributeView ??= new Attributes(this.bytes, this.start, this.end, this.attributesTag);
    return this.attributeView;
  }

  /** True if writing the message again would give other bytes. */
  get changed(): boolean {
    return this.changes !== undefined || (this.attributeView?.changed ?? false) || this.nestedChanged();
  }

  /** Forgets all changes to the message and its parts. Attributes and parts handed out before become invalid. */
  revert(): void {
    this.changes = undefined;
    this.attributeView = undefined;
    this.nested = undefined;
    this.removed = false;
  }

  /** @internal Writes the body of the message with the changes. */
  encodeInto(writer: WireWriter): void {
    const { bytes, end } = this;
    const seen = this.nested === undefined ? NONE_SEEN : new Map<number, number>();
    let copied = this.start;
    for (let p = this.start; p < end; ) {
      const next = stepOver(bytes, p);
      const tag = fieldTag;
      if (this.isReplaced(tag, valueAt, next, seen)) {
        writer.copy(bytes, copied, p);
        this.writeNested(writer, tag, seen);
        copied = next;
      }
      p = next;
    }
    writer.copy(bytes, copied, end);
    this.writeChanges(writer);
  }

  /** Maps a field number to its new value (undefined removes the field). */
  protected get fieldChanges(): ReadonlyMap<number, unknown> {
    return this.changes ?? NO_CHANGES;
  }

  /** The decoded value of the singular field with this tag, or undefined if it is not set. */
  protected read(tag: number): unknown {
    const number = tag >>> 3;
    if (this.changes?.has(number)) return this.changes.get(number);
    const field = this.field(number);
    const at = findField(this.bytes, this.start, this.end, tag);
    return at < 0 ? undefined : decodeField(field, this.bytes, at);
  }

  /** Sets a whole field; undefined removes it. */
  protected write(tag: number, value: unknown): void {
    this.changes ??= new Map();
    this.changes.set(tag >>> 3, value);
  }

  /** Views of the messages of the repeated field with this tag; the same views every time. */
  protected views<V extends DroppableView>(
    tag: number,
    create: (bytes: Uint8Array, start: number, end: number) => V,
  ): V[] {
    const number = tag >>> 3;
    this.nested ??= new Map();
    let views = this.nested.get(number) as V[] | undefined;
    if (views === undefined) {
      views = [];
      this.nested.set(number, views);
      for (const [start, end] of this.ranges(tag)) views.push(create(this.bytes, start, end));
    }
    return views;
  }

  /** Bodies of the length-delimited values of the field with this tag. */
  protected ranges(tag: number): [start: number, end: number][] {
    const ranges: [number, number][] = [];
    for (let p = this.start; (p = nextBody(this.bytes, p, this.end, tag)) >= 0; p = bodyEnd) ranges.push([p, bodyEnd]);
    return ranges;
  }

  protected field(number: number): Field {
    return this.message.byNumber[number]!;
  }

  private nestedChanged(): boolean {
    if (this.nested === undefined) return false;
    for (const views of this.nested.values()) if (views.some((view) => view.dropped || view.changed)) return true;
    return false;
  }

  private isReplaced(tag: number, valueAt: number, end: number, seen: Map<number, number>): boolean {
    const number = tag >>> 3;
    if (this.changes?.has(number)) return true;
    if (this.nested?.has(number)) {
      const index = (seen.get(number) ?? -1) + 1;
      seen.set(number, index);
      const view = this.nested.get(number)![index]!;
      return view.dropped || view.changed;
    }
    if (tag !== this.attributesTag || !this.attributeView?.changed) return false;
    varint(this.bytes, valueAt);
    return this.attributeView.replaces(this.bytes, after, end);
  }

  private writeNested(writer: WireWriter, tag: number, seen: ReadonlyMap<number, number>): void {
    const number = tag >>> 3;
    const view = this.changes?.has(number) ? undefined : this.nested?.get(number)?.[seen.get(number)!];
    if (view === undefined || view.dropped) return;
    writer.varint(tag);
    writer.begin();
    view.encodeInto(writer);
    writer.end();
  }

  private writeChanges(writer: WireWriter): void {
    this.attributeView?.writeChanges(writer);
    for (const [number, value] of this.changes ?? NO_CHANGES) {
      if (value instanceof EncodedMessage) {
        writer.varint((number << 3) | LENGTH_DELIMITED);
        writer.lengthDelimited(value.bytes);
      } else if (value !== undefined) encodeChangedField(this.field(number), value, writer);
    }
  }
}

/** A value that does not fit its field is a mistake in the code that set it, not in the data. */
function encodeChangedField(field: Field, value: unknown, writer: WireWriter): void {
  try {
    encodeField(field, value, writer);
  } catch (error) {
    throw isMalformed(error) ? new TypeError(error.message, { cause: error }) : error;
  }
}

/** A message of a list, which can be removed from it: a record, or a span's event or link. */
export abstract class DroppableView extends MessageView {
  /** Removes it from the batch. */
  drop(): void {
    this.removed = true;
  }

  get dropped(): boolean {
    return this.removed;
  }
}

/** A change that is already encoded. */
export class EncodedMessage {
  readonly bytes: Uint8Array;

  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
  }
}

const NO_CHANGES: ReadonlyMap<number, unknown> = new Map();
const NONE_SEEN = new Map<number, number>();

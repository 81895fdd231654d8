import type { Field, Message } from "#otlp/bytes";
import {
  after,
  bodyEnd,
  decodeField,
  decodeList,
  encodeField,
  LENGTH_DELIMITED,
  nextBody,
  type TreeValue,
  varint,
  WireWriter,
} from "#otlp/bytes";
import { OttlError } from "../values/error.js";
import { OttlId, OttlMessages, OttlProfileId, OttlTime, type OttlValue, sameValue, typeName } from "../values/value.js";
import type { EditableMessage } from "./editable-message.js";
import type { PathAccess, SelectMessage } from "./path-access.js";
import type { RecordContext } from "./record-context.js";

/** Paths to single fields of a message, by the field's OTLP/JSON name. */

/** The decoded field, or undefined if it is not set. */
export function readField(message: EditableMessage, field: Field): TreeValue | undefined {
  const { number, tag } = field;
  const edited = message.edits?.fields.get(number);
  if (edited === undefined) {
    const at = message.find(tag);
    return at < 0 ? undefined : decodeField(field, message.bytes, at);
  }
  if (edited.length === 0) return undefined;
  varint(edited, 0);
  return decodeField(field, edited, after);
}

export function writeField(message: EditableMessage, field: Field, value: unknown): void {
  message.edit().fields.set(field.number, encodedField(message.type, field.number, value));
}

/** Converts one kind of field between its decoded form and the language. */
export interface FieldCodec {
  readonly type: string;
  /** Whether the decoded form is a number, although it is an integer in the language. */
  readonly isNumber?: true;
  read(raw: TreeValue | undefined): OttlValue;
  /** Throws if the value does not fit. */
  write(value: OttlValue): unknown;
}

export function typeMismatch(type: string, value: OttlValue): OttlError {
  return new OttlError(`expected ${type}, got ${typeName(value)}`);
}

export const TEXT_FIELD: FieldCodec = {
  type: "string",
  read: (raw) => (raw as string | undefined) ?? "",
  write: (value) => {
    if (typeof value !== "string") throw typeMismatch("string", value);
    return value;
  },
};

export const DOUBLE_FIELD: FieldCodec = {
  type: "double",
  read: (raw) => (raw as number | undefined) ?? 0,
  write: (value) => {
    if (typeof value !== "number") throw typeMismatch("double", value);
    return value;
  },
};

export const BOOLEAN_FIELD: FieldCodec = {
  type: "bool",
  read: (raw) => (raw as boolean | undefined) ?? false,
  write: (value) => {
    if (typeof value !== "boolean") throw typeMismatch("bool", value);
    return value;
  },
};

/** An integer of any wire type; values out of range are truncated as in Go's conversions. */
function integerCodec(cut: (value: bigint) => bigint, isNumber?: true): FieldCodec {
  return {
    type: "int",
    ...(isNumber && { isNumber }),
    read: (raw) => BigInt.asIntN(64, BigInt((raw as number | bigint | undefined) ?? 0)),
    write: (value) => {
      if (typeof value !== "bigint") throw typeMismatch("int", value);
      return cut(value);
    },
  };
}

export const UINT32_FIELD = integerCodec((value) => BigInt.asUintN(32, value), true);
/** The flags of a span: a value out of range is an error. */
export const STRICT_UINT32_FIELD = integerCodec((value) => {
  if (value < 0n || value > 0xffff_ffffn) throw new OttlError(`${value} does not fit into an unsigned 32-bit integer`);
  return value;
}, true);
export const INT32_FIELD = integerCodec((value) => BigInt.asIntN(32, value), true);
export const UINT64_FIELD = integerCodec((value) => BigInt.asUintN(64, value));
export const INT64_FIELD = integerCodec((value) => BigInt.asIntN(64, value));

export const TIME_FIELD: FieldCodec = {
  type: "time",
  read: (raw) => new OttlTime(BigInt.asIntN(64, (raw as bigint | undefined) ?? 0n)),
  write: (value) => {
    if (!(value instanceof OttlTime)) throw typeMismatch("time", value);
    return BigInt.asUintN(64, value.nanos);
  },
};

/** An id as bytes; a missing id is all zeros. */
export function idBytesField(size: number): FieldCodec {
  return {
    type: "id",
    read: (raw) => (raw instanceof Uint8Array && raw.length === size ? new OttlId(raw) : new OttlId(size)),
    write: (value) => {
      if (!(value instanceof OttlId) || value.length !== size || value instanceof OttlProfileId)
        throw typeMismatch(`an id of ${size} bytes, such as ${size === 16 ? "TraceID" : "SpanID"}(0x...)`, value);
      return unlessZero(value);
    },
  };
}

/** An id of zeros counts as none and is not stored. */
function unlessZero(id: Uint8Array): Uint8Array | undefined {
  return id.every((byte) => byte === 0) ? undefined : new Uint8Array(id);
}

/** An id in hex. */
export function idTextField(size: number): FieldCodec {
  return {
    type: "string",
    read: (raw) =>
      raw instanceof Uint8Array && raw.length === size ? Buffer.from(raw).toString("hex") : "00".repeat(size),
    write: (value) => {
      if (typeof value !== "string") throw typeMismatch("string", value);
      if (value.length !== size * 2 || !/^[0-9a-fA-F]*$/.test(value))
        throw new OttlError(`an id of ${size} bytes is ${size * 2} hex digits, got ${JSON.stringify(value)}`);
      return unlessZero(Buffer.from(value, "hex"));
    },
  };
}

/** A field that only some messages of the level have: for others, reading gives nil and setting is an error. */
function optionalFieldAccess(
  select: SelectMessage,
  name: string,
  read: (message: EditableMessage, field: Field) => OttlValue,
  write: (message: EditableMessage, field: Field, value: OttlValue) => void,
): PathAccess {
  return {
    get: (ctx) => {
      const message = select(ctx);
      const field = message.type.byName.get(name);
      return field === undefined ? null : read(message, field);
    },
    set: (ctx, value) => {
      const message = select(ctx);
      const field = message.type.byName.get(name);
      if (field === undefined) throw new OttlError(`a ${message.type.name} has no ${name}`);
      write(message, field, value);
    },
  };
}

/** Access to a single value. */
export function fieldAccess(select: SelectMessage, name: string, conversion: FieldCodec): PathAccess {
  const read = (message: EditableMessage, field: Field) => conversion.read(readField(message, field));
  const access = optionalFieldAccess(select, name, read, (message, field, value) => {
    const written = conversion.write(value);
    if (!sameValue(read(message, field), value)) writeField(message, field, written);
  });
  if (conversion.isNumber === undefined) return access;
  const number = (ctx: RecordContext) => {
    const message = select(ctx);
    const field = message.type.byName.get(name);
    return field === undefined ? Number.NaN : Number(readField(message, field) ?? 0);
  };
  return { ...access, number };
}

/** Access to a repeated numeric field as a list. */
export function listAccess(select: SelectMessage, name: string, type: "int" | "double"): PathAccess {
  const kind = type === "int" ? "bigint" : "number";
  const read = (message: EditableMessage, field: Field): OttlValue => {
    const raw = readRepeated(message, field);
    return type === "int" ? raw.map((item) => BigInt.asIntN(64, item as bigint)) : (raw as number[]);
  };
  return optionalFieldAccess(select, name, read, (message, field, value) => {
    const list = checkedList(value, kind, type);
    if (sameValue(read(message, field), list)) return;
    writeField(message, field, type === "int" ? list.map((item) => BigInt.asUintN(64, item as bigint)) : list);
  });
}

export function checkedList(value: OttlValue, kind: "bigint" | "number", type: string): OttlValue[] {
  if (value === null) return [];
  if (!Array.isArray(value)) throw typeMismatch(`a list of ${type}`, value);
  for (const item of value) if (typeof item !== kind) throw typeMismatch(`a list of ${type}`, item);
  return value;
}

function readRepeated(message: EditableMessage, field: Field): TreeValue[] {
  const edited = message.edits?.fields.get(field.number);
  if (edited === undefined) return decodeList(field, message.bytes, message.start, message.end);
  return decodeList(field, edited, 0, edited.length);
}

/** Messages that are only passed around and never read: a span's events, a point's exemplars. */
export function messagesAccess(select: SelectMessage, name: string): PathAccess {
  const read = (message: EditableMessage, field: Field) => new OttlMessages(name, rawMessages(message, field));
  return optionalFieldAccess(select, name, read, (message, field, value) => {
    const messages = value ?? new OttlMessages(name, []);
    if (!(messages instanceof OttlMessages) || messages.kind !== name) throw typeMismatch(name, value);
    if (!sameValue(read(message, field), messages))
      message.edit().fields.set(field.number, encodeMessages(field, messages.items));
  });
}

/** The messages of a repeated field, each as its bytes, with the changes. */
export function rawMessages(message: EditableMessage, field: Field): Uint8Array[] {
  const items: Uint8Array[] = [];
  const edited = message.edits?.fields.get(field.number);
  const bytes = edited ?? message.bytes;
  const end = edited === undefined ? message.end : edited.length;
  for (let p = edited === undefined ? message.start : 0; (p = nextBody(bytes, p, end, field.tag)) >= 0; ) {
    const body = p;
    p = bodyEnd;
    items.push(bytes.subarray(body, p));
  }
  return items;
}

function encodeMessages(field: Field, items: readonly Uint8Array[]): Uint8Array {
  const writer = new WireWriter(256);
  for (const item of items) {
    writer.varint((field.number << 3) | LENGTH_DELIMITED);
    writer.lengthDelimited(item);
  }
  return writer.written();
}

/** The encoded field with its tag; empty if `value` is undefined. */
function encodedField(message: Message, number: number, value: unknown): Uint8Array {
  if (value === undefined) return NO_BYTES;
  scratch.clear();
  encodeField(message.byNumber[number]!, value, scratch);
  return Buffer.from(scratch.written()); // small buffers share a block of memory
}

const scratch = new WireWriter(4096);
const NO_BYTES = new Uint8Array(0);

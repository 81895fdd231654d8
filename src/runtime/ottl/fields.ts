import { decodeValue } from "../telemetry/decode.js";
import { type Field, wireType } from "../telemetry/messages.js";
import type { TreeValue } from "../telemetry/tree.js";
import { after, BYTES, skip, varint } from "../telemetry/wire.js";
import { WireWriter } from "../telemetry/writer.js";
import type { Access, Pick } from "./access.js";
import { OttlError } from "./error.js";
import { fieldBytes, type Level } from "./level.js";
import { OttlMessages, OttlTime, type OttlValue, sameValue, typeName } from "./value.js";

/** Paths to single fields of a message, by the field's OTLP/JSON name. */

/** The decoded field, or undefined when it is not set. */
export function readField(level: Level, field: Field): TreeValue | undefined {
  const { number } = field;
  const tag = (number << 3) | wireType(field);
  const edited = level.edits?.fields.get(number);
  if (edited === undefined) {
    const at = level.find(tag);
    return at < 0 ? undefined : decodeValue(field, level.bytes, at, skip(level.bytes, at, tag));
  }
  if (edited.length === 0) return undefined;
  varint(edited, 0);
  const at = after;
  return decodeValue(field, edited, at, skip(edited, at, tag));
}

export function writeField(level: Level, field: Field, value: unknown): void {
  level.edit().fields.set(field.number, fieldBytes(level.message, field.number, value));
}

/** How one kind of field is seen by the language. */
export interface Conversion {
  readonly type: string;
  read(raw: TreeValue | undefined): OttlValue;
  /** Throws when the value does not fit. */
  write(value: OttlValue): unknown;
}

export function expected(type: string, value: OttlValue): OttlError {
  return new OttlError(`expected ${type}, got ${typeName(value)}`);
}

export const TEXT: Conversion = {
  type: "string",
  read: (raw) => (raw as string | undefined) ?? "",
  write: (value) => {
    if (typeof value !== "string") throw expected("string", value);
    return value;
  },
};

export const DOUBLE: Conversion = {
  type: "double",
  read: (raw) => (raw as number | undefined) ?? 0,
  write: (value) => {
    if (typeof value !== "number") throw expected("double", value);
    return value;
  },
};

export const BOOLEAN: Conversion = {
  type: "bool",
  read: (raw) => (raw as boolean | undefined) ?? false,
  write: (value) => {
    if (typeof value !== "boolean") throw expected("bool", value);
    return value;
  },
};

/** An integer of any wire type; what does not fit it is cut as Go's conversions do. */
function integer(cut: (value: bigint) => bigint): Conversion {
  return {
    type: "int",
    read: (raw) => BigInt.asIntN(64, BigInt((raw as number | bigint | undefined) ?? 0)),
    write: (value) => {
      if (typeof value !== "bigint") throw expected("int", value);
      return cut(value);
    },
  };
}

export const UINT32 = integer((value) => BigInt.asUintN(32, value));
export const INT32 = integer((value) => BigInt.asIntN(32, value));
export const UINT64 = integer((value) => BigInt.asUintN(64, value));
export const INT64 = integer((value) => BigInt.asIntN(64, value));

export const TIME: Conversion = {
  type: "time",
  read: (raw) => new OttlTime(BigInt.asIntN(64, (raw as bigint | undefined) ?? 0n)),
  write: (value) => {
    if (!(value instanceof OttlTime)) throw expected("time", value);
    return BigInt.asUintN(64, value.nanos);
  },
};

/** An id as bytes; one that is not there is all zeros. */
export function idBytes(size: number): Conversion {
  return {
    type: "bytes",
    read: (raw) => (raw instanceof Uint8Array && raw.length === size ? raw : new Uint8Array(size)),
    write: (value) => {
      if (!(value instanceof Uint8Array) || value.length !== size) throw expected(`an id of ${size} bytes`, value);
      return value;
    },
  };
}

/** An id in hex. */
export function idText(size: number): Conversion {
  return {
    type: "string",
    read: (raw) =>
      raw instanceof Uint8Array && raw.length === size ? Buffer.from(raw).toString("hex") : "00".repeat(size),
    write: (value) => {
      if (typeof value !== "string") throw expected("string", value);
      if (value.length !== size * 2 || !/^[0-9a-fA-F]*$/.test(value))
        throw new OttlError(`an id of ${size} bytes is ${size * 2} hex digits, got ${JSON.stringify(value)}`);
      return new Uint8Array(Buffer.from(value, "hex"));
    },
  };
}

/**
 * A field that the messages of the level may or may not have: of a message that has none, reading gives nil and
 * setting is an error.
 */
function access(
  pick: Pick,
  name: string,
  read: (level: Level, field: Field) => OttlValue,
  write: (level: Level, field: Field, value: OttlValue) => void,
): Access {
  return {
    get: (scene) => {
      const level = pick(scene);
      const field = level.message.byName.get(name);
      return field === undefined ? null : read(level, field);
    },
    set: (scene, value) => {
      const level = pick(scene);
      const field = level.message.byName.get(name);
      if (field === undefined) throw new OttlError(`a ${level.message.name} has no ${name}`);
      write(level, field, value);
    },
  };
}

/** A single value. */
export function fieldAccess(pick: Pick, name: string, conversion: Conversion): Access {
  const read = (level: Level, field: Field) => conversion.read(readField(level, field));
  return access(pick, name, read, (level, field, value) => {
    const written = conversion.write(value);
    if (!sameValue(read(level, field), value)) writeField(level, field, written);
  });
}

/** A repeated numeric field as a list. */
export function listAccess(pick: Pick, name: string, type: "int" | "double"): Access {
  const kind = type === "int" ? "bigint" : "number";
  const read = (level: Level, field: Field): OttlValue => {
    const raw = readRepeated(level, field);
    return type === "int" ? raw.map((item) => BigInt.asIntN(64, item as bigint)) : (raw as number[]);
  };
  return access(pick, name, read, (level, field, value) => {
    const list = listOf(value, kind, type);
    if (sameValue(read(level, field), list)) return;
    writeField(level, field, type === "int" ? list.map((item) => BigInt.asUintN(64, item as bigint)) : list);
  });
}

export function listOf(value: OttlValue, kind: "bigint" | "number", type: string): OttlValue[] {
  if (value === null) return [];
  if (!Array.isArray(value)) throw expected(`a list of ${type}`, value);
  for (const item of value) if (typeof item !== kind) throw expected(`a list of ${type}`, item);
  return value;
}

function readRepeated(level: Level, field: Field): TreeValue[] {
  const list: TreeValue[] = [];
  const edited = level.edits?.fields.get(field.number);
  if (edited === undefined) collect(field, level.bytes, level.start, level.end, list);
  else collect(field, edited, 0, edited.length, list);
  return list;
}

function collect(field: Field, bytes: Uint8Array, start: number, end: number, list: TreeValue[]): void {
  for (let p = start; p < end; ) {
    const tag = varint(bytes, p);
    const at = after;
    p = skip(bytes, at, tag);
    if (tag >>> 3 !== field.number) continue;
    if ((tag & 7) !== BYTES) {
      list.push(decodeValue(field, bytes, at, p));
      continue;
    }
    varint(bytes, at);
    for (let q = after; q < p; ) {
      list.push(decodeValue(field, bytes, q, p));
      q = field.type === "uint64" ? skip(bytes, q, 0) : q + 8;
    }
  }
}

/** Messages that are only passed around, as a whole: a span's events, a point's exemplars. */
export function messagesAccess(pick: Pick, name: string): Access {
  const read = (level: Level, field: Field) => new OttlMessages(name, rawMessages(level, field));
  return access(pick, name, read, (level, field, value) => {
    const messages = value ?? new OttlMessages(name, []);
    if (!(messages instanceof OttlMessages) || messages.kind !== name) throw expected(name, value);
    if (!sameValue(read(level, field), messages)) level.edit().fields.set(field.number, joined(field, messages.items));
  });
}

/** The messages of a repeated field, each as its bytes, with the changes. */
export function rawMessages(level: Level, field: Field): Uint8Array[] {
  const items: Uint8Array[] = [];
  const edited = level.edits?.fields.get(field.number);
  const bytes = edited ?? level.bytes;
  const wanted = (field.number << 3) | BYTES;
  const end = edited === undefined ? level.end : edited.length;
  for (let p = edited === undefined ? level.start : 0; p < end; ) {
    const tag = varint(bytes, p);
    const at = after;
    p = skip(bytes, at, tag);
    if (tag !== wanted) continue;
    varint(bytes, at);
    items.push(bytes.subarray(after, p));
  }
  return items;
}

function joined(field: Field, items: readonly Uint8Array[]): Uint8Array {
  const writer = new WireWriter(256);
  for (const item of items) {
    writer.varint((field.number << 3) | BYTES);
    writer.lengthDelimited(item);
  }
  return writer.written();
}

import { isUtf8 } from "node:buffer";
import { type LogMap, type LogValue, newLogMap, setValue } from "#logs/entries";
import type { PlainEntry } from "./plain-entry.js";

/** The bytes are not MessagePack, or use a part of it that is not supported. */
export class MessagePackError extends Error {
  override readonly name = "MessagePackError";
}

/** Deeper values are rejected because reading them recursively would need as many nested calls. */
const MAX_DEPTH = 32;
/** More values in one event are rejected: each takes a few bytes on the wire and many more in memory. */
export const MAX_VALUES = 1_000_000;
/** A record is read in one go. By default, the agent takes ten thousand values of a record. */
const MAX_RECORD_VALUES = 50_000;

/**
 * Finds where a value ends while its bytes arrive in pieces, without looking at any byte twice. Each header says how
 * many bytes or values follow, so the scanner only remembers how many values are still missing.
 */
export class ValueScanner {
  private at: number;
  private pending = 1;

  constructor(from: number) {
    this.at = from;
  }

  /** Returns the end of the value, or undefined until it has arrived. */
  end(bytes: Buffer, length: number): number | undefined {
    while (this.pending > 0) {
      if (this.at >= length) return undefined;
      const head = headAt(bytes, this.at, length);
      if (head === undefined || this.at + head.size + head.bytes > length) return undefined;
      this.at += head.size + head.bytes;
      this.pending += head.values - 1;
    }
    return this.at;
  }
}

interface ValueHead {
  readonly kind: "nil" | "false" | "true" | "uint" | "int" | "float" | "text" | "bytes" | "array" | "map" | "ext";
  /** Size of the header in bytes, followed by the bytes or values that it announces. */
  readonly size: number;
  readonly bytes: number;
  readonly values: number;
}

const head = (kind: ValueHead["kind"], size: number, bytes = 0, values = 0): ValueHead => ({
  kind,
  size,
  bytes,
  values,
});

/** Returns undefined if the header is incomplete. */
function headAt(bytes: Buffer, at: number, length: number): ValueHead | undefined {
  const type = bytes[at]!;
  if (type < 0x80 || type >= 0xe0) return head("int", 0, 1);
  if (type < 0x90) return head("map", 1, 0, (type & 0x0f) * 2);
  if (type < 0xa0) return head("array", 1, 0, type & 0x0f);
  if (type < 0xc0) return head("text", 1, type & 0x1f);
  const [kind, sizeBytes, fixed] = TYPES[type - 0xc0] ?? [undefined, 0, 0];
  if (kind === undefined) throw new MessagePackError(`there is no type 0x${type.toString(16)}`);
  if (at + 1 + sizeBytes > length) return undefined;
  const count = sizeBytes === 0 ? fixed : bytes.readUIntBE(at + 1, sizeBytes);
  if (kind === "array") return head(kind, 1 + sizeBytes, 0, count);
  if (kind === "map") return head(kind, 1 + sizeBytes, 0, count * 2);
  return head(kind, 1 + sizeBytes, kind === "ext" ? count + 1 : count);
}

/** Types 0xc0 to 0xdf: the kind, the number of bytes of its length field, and the fixed length of types without one. */
const TYPES: readonly (readonly [ValueHead["kind"] | undefined, number, number])[] = [
  ["nil", 0, 0],
  [undefined, 0, 0],
  ["false", 0, 0],
  ["true", 0, 0],
  ["bytes", 1, 0],
  ["bytes", 2, 0],
  ["bytes", 4, 0],
  ["ext", 1, 0],
  ["ext", 2, 0],
  ["ext", 4, 0],
  ["float", 0, 4],
  ["float", 0, 8],
  ["uint", 0, 1],
  ["uint", 0, 2],
  ["uint", 0, 4],
  ["uint", 0, 8],
  ["int", 0, 1],
  ["int", 0, 2],
  ["int", 0, 4],
  ["int", 0, 8],
  ["ext", 0, 1],
  ["ext", 0, 2],
  ["ext", 0, 4],
  ["ext", 0, 8],
  ["ext", 0, 16],
  ["text", 1, 0],
  ["text", 2, 0],
  ["text", 4, 0],
  ["array", 2, 0],
  ["array", 4, 0],
  ["map", 2, 0],
  ["map", 4, 0],
];

/** Reads values one after the other. */
export class MessagePackReader {
  private readonly bytes: Buffer;
  private at = 0;
  private valuesLeft = MAX_VALUES;
  /** How many values are left behind the largest record that may be next. */
  private valuesBehind = 0;

  constructor(bytes: Buffer) {
    this.bytes = bytes;
  }

  get isAtEnd(): boolean {
    return this.at >= this.bytes.length;
  }

  get valueCount(): number {
    return MAX_VALUES - this.valuesLeft;
  }

  get nextKind(): ValueHead["kind"] {
    return this.peek().kind;
  }

  /** To be called in front of each record. */
  beginRecord(): void {
    this.valuesBehind = Math.max(0, this.valuesLeft - MAX_RECORD_VALUES);
  }

  /** Reads an entry if it is a plain one. Otherwise reads nothing and returns false. */
  plain(record: PlainEntry): boolean {
    if (!record.read(this.bytes, this.at)) return false;
    this.at = record.end;
    this.valuesLeft -= record.values - 1;
    this.countValue();
    return true;
  }

  /** Reads an array header and returns the number of values that follow. */
  array(): number {
    return this.next("array").values;
  }

  text(): string {
    return this.raw().toString();
  }

  /** Reads the bytes of a text or binary value. */
  raw(): Buffer {
    const { kind, size, bytes } = this.peek();
    if (kind !== "text" && kind !== "bytes") throw new MessagePackError(`expected a text, and there was: ${kind}`);
    this.at += size;
    return this.take(bytes);
  }

  /**
   * Nanoseconds since the epoch, from whole seconds or from Fluentd's extension type for times. A time that OTLP cannot
   * represent becomes 0 (unknown).
   */
  time(): bigint {
    if (this.nextKind !== "ext") {
      const seconds = this.value();
      if (typeof seconds === "bigint") return representable(seconds * 1_000_000_000n);
      if (typeof seconds !== "number" || !Number.isFinite(seconds)) throw new MessagePackError("expected a time");
      return Math.abs(seconds) < 2 ** 64 ? representable(BigInt(Math.round(seconds * 1e9))) : 0n;
    }
    const bytes = this.extension();
    if (bytes.length !== 9 || bytes[0] !== 0) throw new MessagePackError("expected a time");
    return BigInt(bytes.readUInt32BE(1)) * 1_000_000_000n + BigInt(bytes.readUInt32BE(5));
  }

  map(depth = MAX_DEPTH): LogMap {
    const map = newLogMap();
    this.fields((key, value) => setValue(map, key, value), depth);
    return map;
  }

  /** Reads a map and passes on its keys and values one by one. */
  fields(take: (key: string, value: LogValue) => void, depth = MAX_DEPTH): void {
    for (let left = this.next("map").values; left > 0; left -= 2) take(this.key(), this.value(depth - 1));
  }

  /** Skips a value of any type. */
  skip(): void {
    const end = new ValueScanner(this.at).end(this.bytes, this.bytes.length);
    if (end === undefined) throw new MessagePackError("it ends in the middle of a value");
    this.at = end;
  }

  value(depth = MAX_DEPTH): LogValue {
    if (depth === 0) throw new MessagePackError(`values are nested more than ${MAX_DEPTH} deep`);
    switch (this.nextKind) {
      case "map":
        return this.map(depth);
      case "array": {
        const list: LogValue[] = [];
        for (let left = this.array(); left > 0; left--) list.push(this.value(depth - 1));
        return list;
      }
      case "text":
      case "bytes":
        return this.textOrBytes();
      case "ext":
        return Buffer.from(this.extension());
      default:
        return this.scalar();
    }
  }

  /** Text often arrives as binary. Bytes that are not UTF-8 stay bytes, so nothing is lost. */
  private textOrBytes(): string | Uint8Array {
    const bytes = this.raw();
    const text = bytes.toString();
    // Only a text that contains the replacement character can have been invalid UTF-8.
    return text.includes("\uFFFD") && !isUtf8(bytes) ? Buffer.from(bytes) : text;
  }

  private key(): string {
    const { kind } = this.peek();
    return kind === "text" || kind === "bytes" ? this.text() : String(this.scalar());
  }

  private scalar(): string | bigint | number | boolean | null {
    const { kind, size, bytes } = this.peek();
    this.at += size;
    const from = this.bytes.subarray(this.at);
    this.take(bytes);
    switch (kind) {
      case "nil":
        return null;
      case "false":
        return false;
      case "true":
        return true;
      case "float":
        return bytes === 4 ? from.readFloatBE(0) : from.readDoubleBE(0);
      case "uint":
        return bytes === 8 ? unsigned(from.readBigUInt64BE(0)) : BigInt(from.readUIntBE(0, bytes));
      case "int":
        // A one-byte number is its own header, and its sign is that byte's sign.
        return bytes === 8 ? from.readBigInt64BE(0) : BigInt(from.readIntBE(0, bytes));
      default:
        throw new MessagePackError(`expected a simple value, and there was: ${kind}`);
    }
  }

  /** Reads the type, as the first byte, and the data. */
  private extension(): Buffer {
    return this.take(this.next("ext").bytes);
  }

  private next(kind: ValueHead["kind"]): ValueHead {
    const found = this.peek();
    if (found.kind !== kind) throw new MessagePackError(`expected: ${kind}, and there was: ${found.kind}`);
    this.countValue();
    this.at += found.size;
    return found;
  }

  private take(count: number): Buffer {
    const end = this.at + count;
    this.countValue();
    if (end > this.bytes.length) throw new MessagePackError("it ends in the middle of a value");
    const taken = this.bytes.subarray(this.at, end);
    this.at = end;
    return taken;
  }

  private countValue(): void {
    if (--this.valuesLeft >= this.valuesBehind) return;
    const [place, most] = this.valuesBehind === 0 ? ["an event", MAX_VALUES] : ["a record", MAX_RECORD_VALUES];
    throw new MessagePackError(`there are more than ${most} values in ${place}`);
  }

  private peek(): ValueHead {
    const found = this.isAtEnd ? undefined : headAt(this.bytes, this.at, this.bytes.length);
    if (found === undefined) throw new MessagePackError("it ends in the middle of a value");
    return found;
  }
}

function representable(nanoseconds: bigint): bigint {
  return BigInt.asUintN(64, nanoseconds) === nanoseconds ? nanoseconds : 0n;
}

/** An integer too large for a signed one becomes text, as in the Collector. */
function unsigned(value: bigint): bigint | string {
  return value > 0x7fff_ffff_ffff_ffffn ? String(value) : value;
}

/** Encodes a text with its header. */
export function packText(bytes: Uint8Array): Buffer {
  if (bytes.length < 32) return Buffer.concat([Buffer.of(0xa0 | bytes.length), bytes]);
  const size = Buffer.alloc(5, 0xdb);
  size.writeUInt32BE(bytes.length, 1);
  return Buffer.concat([size, bytes]);
}

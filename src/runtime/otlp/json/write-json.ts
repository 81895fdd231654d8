import { type Field, isPackable, type Message } from "../bytes/messages.js";
import { type FixedText, putFixedText } from "../bytes/texts.js";
import {
  after,
  double,
  fieldTag,
  fixed32,
  fixed64,
  LENGTH_DELIMITED,
  skip,
  stepOver,
  valueAt,
  varint,
  varint64,
  viewOf,
} from "../bytes/wire.js";
import type { WireWriter } from "../bytes/writer.js";
import { writeAttribute } from "./write-attribute.js";
import { putDecimal64, writeAscii, writeEscaped, writeHex, writeHexDigits, writeText } from "./write-text.js";

/**
 * Writes the message in [start, end) as OTLP/JSON in UTF-8 directly from the wire: text is copied, not decoded.
 *
 * All values of a repeated field form one list, at the place of the first. Unknown fields are left out. The bytes must
 * have been checked; invalid UTF-8 in texts stays as it is.
 */
export function writeJson(message: Message, b: Uint8Array, start: number, end: number, out: WireWriter): void {
  new JsonWriter(b, out).message(message, start, end);
}

/**
 * The same for a message that may be large: stops now and then. Whatever is short is written without a stop, so only the
 * large messages and texts around and in it cost more than `writeJson`.
 */
export function* writeJsonInSteps(message: Message, b: Uint8Array, out: WireWriter): Generator<void, void> {
  yield* new JsonWriter(b, out).messageInSteps(message, 0, b.length);
}

/** Text and bytes that are shorter are written in less than a millisecond. A multiple of three, for base64. */
const STEP_BYTES = 3 * 32 * 1024;

const QUOTE = 34;
const COMMA = 44;
const OPEN_LIST = 91;
const CLOSE_LIST = 93;
const OPEN_OBJECT = 123;
const CLOSE_OBJECT = 125;

/** Writes several messages of the same bytes, as `writeJson` does. */
export class JsonWriter {
  private readonly bytes: Uint8Array;
  private readonly view: DataView;
  private readonly out: WireWriter;
  /** The length of the output at the last stop. */
  private stoppedAt = 0;

  constructor(bytes: Uint8Array, out: WireWriter) {
    this.bytes = bytes;
    this.view = viewOf(bytes);
    this.out = out;
  }

  message(message: Message, start: number, end: number): void {
    const { bytes: b, out } = this;
    let writtenFields = 0;
    let separator = OPEN_OBJECT;
    for (let p = start; p < end; ) {
      const at = p;
      p = stepOver(b, p);
      const valueStart = valueAt;
      const field = this.fieldToWrite(message, writtenFields, p);
      if (field === undefined) continue;
      this.label(separator, field.jsonLabel);
      separator = COMMA;
      if (field.repeated) {
        this.list(field, at, end);
        writtenFields |= 1 << field.number;
      } else this.value(field, valueStart, p);
    }
    if (separator === OPEN_OBJECT) out.byte(OPEN_OBJECT);
    out.byte(CLOSE_OBJECT);
  }

  *messageInSteps(message: Message, start: number, end: number): Generator<void, void> {
    if (end - start <= STEP_BYTES) return this.message(message, start, end);
    const { bytes: b, out } = this;
    let writtenFields = 0;
    let separator = OPEN_OBJECT;
    for (let p = start; p < end; ) {
      const at = p;
      p = stepOver(b, p);
      const valueStart = valueAt;
      const field = this.fieldToWrite(message, writtenFields, p);
      if (field === undefined) continue;
      this.label(separator, field.jsonLabel);
      separator = COMMA;
      if (field.repeated) {
        yield* this.listInSteps(field, at, end);
        writtenFields |= 1 << field.number;
      } else if (p - at > STEP_BYTES) yield* this.largeValue(field, valueStart, p);
      else this.value(field, valueStart, p);
    }
    if (separator === OPEN_OBJECT) out.byte(OPEN_OBJECT);
    out.byte(CLOSE_OBJECT);
  }

  /** The field that was just stepped over and ends at `end`, unless it is unknown, empty or written already. */
  private fieldToWrite(message: Message, writtenFields: number, end: number): Field | undefined {
    const field = message.byNumber[fieldTag >>> 3];
    if (field === undefined || (writtenFields & (1 << field.number)) !== 0) return undefined;
    return field.repeated && this.isEmptyList(field, fieldTag, valueAt, end) ? undefined : field;
  }

  private label(separator: number, label: FixedText): void {
    const { out } = this;
    out.reserve(label.length + 4);
    const { view, length } = out;
    view.setUint8(length, separator);
    out.length = putFixedText(view, length + 1, label);
  }

  /** Whether a packed list is empty. JSON does not distinguish it from a missing list, and more values may follow. */
  private isEmptyList(field: Field, tag: number, at: number, end: number): boolean {
    if ((tag & 7) !== LENGTH_DELIMITED || !isPackable(field)) return false;
    varint(this.bytes, at);
    return after === end;
  }

  /** Writes all values of a repeated field in [p, end). */
  private list(field: Field, p: number, end: number): void {
    const { bytes: b, out } = this;
    let separator = OPEN_LIST;
    while (p < end) {
      p = stepOver(b, p);
      const tag = fieldTag;
      let at = valueAt;
      if (tag >>> 3 !== field.number) continue;
      const packed = (tag & 7) === LENGTH_DELIMITED && isPackable(field);
      if (packed) {
        varint(b, at);
        at = after;
      }
      while (at < p) {
        out.byte(separator);
        separator = COMMA;
        this.element(field, at, p);
        at = packed ? skip(b, at, field.tag) : p;
      }
    }
    out.byte(CLOSE_LIST);
  }

  /** Writes a value of a repeated field. */
  private element(field: Field, p: number, end: number): void {
    if (field.message?.name === "KeyValue") {
      varint(this.bytes, p);
      if (writeAttribute(this.bytes, this.view, after, end, this.out)) return;
    }
    this.value(field, p, end);
  }

  private *listInSteps(field: Field, p: number, end: number): Generator<void, void> {
    const { bytes: b, out } = this;
    if (isPackable(field)) return this.list(field, p, end);
    let separator = OPEN_LIST;
    while (p < end) {
      p = stepOver(b, p);
      const at = valueAt;
      if (fieldTag >>> 3 !== field.number) continue;
      out.byte(separator);
      separator = COMMA;
      if (p - at > STEP_BYTES) yield* this.largeValue(field, at, p);
      else this.element(field, at, p);
      if (this.isStopDue) yield;
    }
    out.byte(CLOSE_LIST);
  }

  private get isStopDue(): boolean {
    const { length } = this.out;
    if (length - this.stoppedAt < STEP_BYTES) return false;
    this.stoppedAt = length;
    return true;
  }

  private *largeValue(field: Field, p: number, end: number): Generator<void, void> {
    const { bytes: b, out } = this;
    varint(b, p);
    const start = after;
    if (field.type === "message") return yield* this.messageInSteps(field.message!, start, end);
    out.byte(QUOTE);
    for (let at = start; at < end; at += STEP_BYTES) {
      const stop = Math.min(end, at + STEP_BYTES);
      if (field.type === "string") writeEscaped(b, this.view, at, stop, out);
      else if (field.type === "id") writeHexDigits(b, at, stop, out);
      else writeAscii(Buffer.prototype.base64Slice.call(b, at, stop), out);
      yield;
    }
    out.byte(QUOTE);
  }

  /** Writes one value. Its bytes, or its length if it is length-delimited, start at `p`. */
  private value(field: Field, p: number, end: number): void {
    const { bytes: b, out } = this;
    switch (field.type) {
      case "message":
        varint(b, p);
        return this.message(field.message!, after, end);
      case "string":
        varint(b, p);
        return writeText(b, this.view, after, end, out);
      case "id":
        varint(b, p);
        return writeHex(b, after, end, out);
      case "bytes":
        varint(b, p);
        return writeAscii(`"${Buffer.prototype.base64Slice.call(b, after, end)}"`, out);
      case "double":
        return writeAscii(doubleText(double(b, p)), out);
      case "fixed32":
        return writeAscii(String(fixed32(b, p)), out);
      case "fixed64":
        return writeFixed64(this.view, p, out);
      case "sfixed64":
        return writeAscii(`"${BigInt.asIntN(64, fixed64(b, p))}"`, out);
      default:
        return writeAscii(varintText(field, b, p, end), out);
    }
  }
}

function writeFixed64(from: DataView, p: number, out: WireWriter): void {
  out.reserve(22);
  const { view: to } = out;
  to.setUint8(out.length, QUOTE);
  const at = putDecimal64(to, out.length + 1, from.getUint32(p, true), from.getUint32(p + 4, true));
  to.setUint8(at, QUOTE);
  out.length = at + 1;
}

function varintText(field: Field, b: Uint8Array, p: number, end: number): string {
  const isShort = end - p < 5;
  switch (field.type) {
    case "bool":
      return varint64(b, p) === 0n ? "false" : "true";
    case "int64":
      return isShort ? `"${varint(b, p)}"` : `"${BigInt.asIntN(64, varint64(b, p))}"`;
    case "uint64":
      return `"${varint64(b, p)}"`;
    case "uint32":
      return String(varint(b, p));
    case "sint32": {
      const value = varint(b, p);
      return String((value >>> 1) ^ -(value & 1));
    }
    default:
      return String(varint(b, p) | 0);
  }
}

function doubleText(value: number): string {
  if (!Number.isFinite(value)) return `"${value}"`;
  return Object.is(value, -0) ? "-0" : String(value);
}

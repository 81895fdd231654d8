import {
  after,
  bodyEnd,
  decodeField,
  decodeList,
  decodeMessage,
  decodeText,
  double,
  type Field,
  fieldTag,
  fixed32,
  lengthAt,
  MESSAGES,
  type Message,
  nextBody,
  stepOver,
  valueAt,
  varint,
  viewOf,
  WireWriter,
} from "#otlp/bytes";
import {
  findKeyAndValue,
  keyEnd,
  keyStart,
  putDecimal,
  putPadded,
  valueEnd,
  valueStart,
  writeAscii,
  writeHexDigits,
} from "#otlp/json";
import { nanos, seconds, splitNanos } from "#otlp/signals";
import { BOOL_VALUE_TAG, DOUBLE_VALUE_TAG, INT_VALUE_TAG, STRING_VALUE_TAG } from "#otlp/tags";
import { type Paint, printable } from "#text";
import { childNoun, labelOf, MAX_TEXT_LENGTH, scalarText } from "./field-texts.js";
import { copyPrintable, copyQuotable } from "./printable-bytes.js";
import { doubleText, truncated, valueText } from "./values.js";

/** How a field is shown. */
interface ShownField {
  readonly field: Field;
  readonly label: string;
  /** Whether it takes a line of its own: everything but attributes and nested messages. */
  readonly isPlain: boolean;
  readonly isAttributes: boolean;
  readonly isTime: boolean;
  /** The text before its value, for this indent and width. Neighbouring records have the same indent and width. */
  start: DataView;
  indent: string;
  width: number;
  /** The text before each key of attributes. */
  keyStart: DataView;
}

/**
 * Writes the fields of messages as lines directly from their bytes, which must have been checked. It follows OTLP's
 * table of messages, so fields that are added to it are shown too. Values that are long, nested or need escapes take a
 * detour over text.
 */
export class FieldWriter {
  /** The lines. */
  out = new WireWriter(CAPACITY);
  private readonly bytes: Uint8Array;
  private readonly view: DataView;
  private readonly paint: Paint;
  /** The text between a key and its value. */
  private readonly keyEnd: DataView;
  private readonly shown = new Map<Message, ShownField[]>();
  /** The fields of the messages being written, innermost last, and where they are. */
  private readonly fields: ShownField[] = [];
  private readonly starts: number[] = [];
  private readonly ends: number[] = [];
  private top = 0;

  constructor(bytes: Uint8Array, paint: Paint) {
    this.bytes = bytes;
    this.view = viewOf(bytes);
    this.paint = paint;
    this.keyEnd = viewOf(Buffer.from(`:${paint("dim", SPLIT).split(SPLIT)[1]} `));
  }

  /** Whether enough lines are written for one write to a stream. */
  get isFull(): boolean {
    return this.out.length >= CHUNK_LENGTH;
  }

  /** Returns the lines, and begins anew. */
  take(): Uint8Array {
    const lines = this.out.written();
    this.out = new WireWriter(CAPACITY);
    return lines;
  }

  line(text: string): void {
    this.text(text);
    this.out.byte(LINE_BREAK);
  }

  /**
   * Writes all fields of the message [start, end): plain ones first, aligned; then attributes and nested messages.
   * `left` has the bits of numbers of fields that are left out.
   */
  message(message: Message, start: number, end: number, indent: string, left = 0): void {
    const base = this.top;
    const width = this.findFields(message, start, end, left);
    const { top, fields, starts, ends } = this;
    for (let i = base; i < top; i++)
      if (fields[i]!.isPlain) this.plain(fields[i]!, starts[i]!, ends[i]!, indent, width);
    for (let i = base; i < top; i++) {
      if (fields[i]!.isAttributes) this.attributes(fields[i]!, starts[i]!, end, indent);
      else if (!fields[i]!.isPlain) this.nested(fields[i]!, starts[i]!, ends[i]!, indent);
    }
    this.top = base;
  }

  /**
   * Adds the fields of a message to those around it, each at its first place, and returns the greatest length of a
   * plain one's label. Of several values of a field that is not a list the last one counts.
   */
  private findFields(message: Message, start: number, end: number, left: number): number {
    const { bytes: b, fields, starts, ends, top: base } = this;
    const shown = this.shownFields(message);
    let width = 0;
    let seen = left;
    for (let p = start; p < end; ) {
      const at = p;
      p = stepOver(b, p);
      const one = shown[fieldTag >>> 3];
      if (one === undefined || (left & (1 << one.field.number)) !== 0) continue;
      let i = this.top;
      if ((seen & (1 << one.field.number)) === 0) {
        this.top++;
        fields[i] = one;
        if (one.isPlain && one.label.length > width) width = one.label.length;
      } else if (one.field.repeated) continue;
      else while (i > base && fields[--i] !== one);
      seen |= 1 << one.field.number;
      starts[i] = one.field.repeated ? at : valueAt;
      ends[i] = one.field.repeated ? end : p;
    }
    return width;
  }

  private shownFields(message: Message): readonly ShownField[] {
    let shown = this.shown.get(message);
    if (shown === undefined) {
      shown = [];
      for (const field of message.fields) shown[field.number] = shownField(field);
      this.shown.set(message, shown);
    }
    return shown;
  }

  /** Writes the line of a field whose value, or whose first tag if it is a list, is at `at`. */
  private plain(one: ShownField, at: number, end: number, indent: string, width: number): void {
    const { out } = this;
    const before = out.length;
    this.label(one, indent, width);
    if (this.value(one, at, end)) return out.byte(LINE_BREAK);
    out.length = before;
    const { field } = one;
    const value = field.repeated ? decodeList(field, this.bytes, at, end) : decodeField(field, this.bytes, at);
    this.textField(one, scalarText(field.name, value), indent, width);
  }

  /** A text of several lines is printed below its label. */
  private textField(one: ShownField, text: string, indent: string, width: number): void {
    if (!text.includes("\n")) {
      this.label(one, indent, width);
      return this.line(text);
    }
    this.line(`${indent}${this.paint("dim", `${one.label}:`)}`);
    for (const line of text.split("\n")) this.line(`${indent}  ${line}`);
  }

  private label(one: ShownField, indent: string, width: number): void {
    if (one.indent !== indent || one.width !== width) {
      one.indent = indent;
      one.width = width;
      const label = `${one.label}:`.padEnd(width + 1);
      one.start = viewOf(Buffer.from(`${indent}${this.paint("dim", label)} `));
    }
    this.out.copyView(one.start, 0, one.start.byteLength);
  }

  /** Writes a value. May have written a part of it when it returns false. */
  private value({ field, isTime }: ShownField, at: number, end: number): boolean {
    const { bytes: b, out } = this;
    if (field.repeated) return false;
    if (isTime) {
      this.time(at);
      return true;
    }
    switch (field.type) {
      case "string":
        varint(b, at);
        return end - after <= MAX_TEXT_LENGTH && copyPrintable(b, this.view, after, end, out);
      case "id":
        varint(b, at);
        writeHexDigits(b, after, end, out);
        return true;
      case "enum":
        this.text(scalarText(field.name, varint(b, at) | 0));
        return true;
      case "message":
        return this.body(at, end);
      default:
        return false;
    }
  }

  /** Writes ISO 8601 with nanoseconds. */
  private time(at: number): void {
    const { bytes: b, out } = this;
    splitNanos(fixed32(b, at), fixed32(b, at + 4));
    if (seconds === 0 && nanos === 0) return out.byte(ZERO);
    if (seconds !== lastSecond) {
      lastSecond = seconds;
      lastSecondText = viewOf(Buffer.from(new Date(seconds * 1000).toISOString().slice(0, 20)));
    }
    out.copyView(lastSecondText, 0, lastSecondText.byteLength);
    out.reserve(10);
    putPadded(out.view, out.length, nanos, 9);
    out.length += 9;
    out.byte(UTC);
  }

  /** Writes a body that is one line of text. */
  private body(at: number, end: number): boolean {
    const { bytes: b } = this;
    varint(b, at);
    const start = after;
    if (start === end || stepOver(b, start) !== end || fieldTag !== STRING_VALUE_TAG) return false;
    varint(b, valueAt);
    return end - after <= MAX_TEXT_LENGTH && copyPrintable(b, this.view, after, end, this.out);
  }

  /** Writes the attributes from the first one at `p` to the end of their message. */
  private attributes(one: ShownField, p: number, end: number, indent: string): void {
    const { bytes: b, out, keyEnd: behindKey } = this;
    if (one.indent !== indent) this.enterAttributes(one, indent);
    const { field, start, keyStart: beforeKey } = one;
    out.copyView(start, 0, start.byteLength);
    while ((p = nextBody(b, p, end, field.tag)) >= 0) {
      const at = lengthAt;
      p = bodyEnd;
      findKeyAndValue(b, at, p);
      const from = valueStart;
      const to = valueEnd;
      out.copyView(beforeKey, 0, beforeKey.byteLength);
      this.key(keyStart, keyEnd);
      out.copyView(behindKey, 0, behindKey.byteLength);
      this.anyValue(from, to);
      out.byte(LINE_BREAK);
    }
  }

  private enterAttributes(one: ShownField, indent: string): void {
    one.indent = indent;
    one.start = viewOf(Buffer.from(`${indent}${this.paint("dim", `${one.label}:`)}\n`));
    one.keyStart = viewOf(Buffer.from(`${indent}  ${this.paint("dim", SPLIT).split(SPLIT)[0]}`));
  }

  private key(start: number, end: number): void {
    const { bytes: b, out } = this;
    const before = out.length;
    if (end - start <= MAX_TEXT_LENGTH && copyPrintable(b, this.view, start, end, out)) return;
    out.length = before;
    this.text(truncated(printable(decodeText(b, start, end)), MAX_TEXT_LENGTH));
  }

  private anyValue(start: number, end: number): void {
    const { bytes: b, out } = this;
    const before = out.length;
    if (this.simpleValue(start, end)) return;
    out.length = before;
    this.text(valueText(decodeMessage(ANY_VALUE, b, start, end), MAX_TEXT_LENGTH));
  }

  /** Writes an AnyValue that holds one short text, number or boolean. */
  private simpleValue(start: number, end: number): boolean {
    const { bytes: b, out } = this;
    if (start === end || stepOver(b, start) !== end) return false;
    const at = valueAt;
    switch (fieldTag) {
      case STRING_VALUE_TAG:
        varint(b, at);
        // The quotes count too.
        return end - after <= MAX_TEXT_LENGTH - 2 && copyQuotable(b, this.view, after, end, out);
      case INT_VALUE_TAG:
        if (end - at > MAX_SMALL) return false;
        out.reserve(10);
        out.length = putDecimal(out.view, out.length, varint(b, at));
        return true;
      case DOUBLE_VALUE_TAG:
        writeAscii(doubleText(double(b, at)), out);
        return true;
      case BOOL_VALUE_TAG:
        if (end - at > 1) return false;
        writeAscii(b[at] === 0 ? "false" : "true", out);
        return true;
      default:
        return false;
    }
  }

  /** Writes nested messages: one, whose length is at `at`, or all of a list, whose first tag is there. */
  private nested({ field }: ShownField, at: number, end: number, indent: string): void {
    const { bytes: b } = this;
    const noun = childNoun(field.name);
    if (!field.repeated) {
      this.line(`${indent}${noun}`);
      varint(b, at);
      return this.message(field.message!, after, end, `${indent}  `);
    }
    let count = 0;
    for (let p = at; (p = nextBody(b, p, end, field.tag)) >= 0; ) {
      const body = p;
      p = bodyEnd;
      this.line(`${indent}${noun} ${++count}`);
      this.message(field.message!, body, p, `${indent}  `);
    }
  }

  private text(text: string): void {
    const { out } = this;
    const { length } = text;
    out.reserve(length * MAX_CHARACTER_SIZE);
    if (length > SHORT_TEXT || !putAscii(text, out.bytes, out.length)) out.length += out.bytes.write(text, out.length);
    else out.length += length;
  }
}

/** Writes an ASCII text; returns false for any other. Up to `SHORT_TEXT` that is faster than the built-in. */
function putAscii(text: string, bytes: Uint8Array, at: number): boolean {
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code > 127) return false;
    bytes[at + i] = code;
  }
  return true;
}

const SHORT_TEXT = 48;

/** Divides what a style puts around a text. */
const SPLIT = "|";

function shownField(field: Field): ShownField {
  return {
    field,
    label: labelOf(field.name),
    isPlain: field.message === undefined || field.name === "body",
    isAttributes: field.message === KEY_VALUE,
    isTime: field.name.endsWith("UnixNano"),
    start: NOTHING,
    indent: "none",
    width: -1,
    keyStart: NOTHING,
  };
}

const NOTHING = viewOf(new Uint8Array(0));
const CHUNK_LENGTH = 64 * 1024;
/** A chunk ends with the record that makes it long enough. */
const CAPACITY = CHUNK_LENGTH + 8 * 1024;
const MAX_CHARACTER_SIZE = 3;
/** A varint of this many bytes is always a positive 32-bit number. */
const MAX_SMALL = 4;
const LINE_BREAK = 10;
const ZERO = 48;
const UTC = 90;
const ANY_VALUE = MESSAGES["AnyValue"]!;
const KEY_VALUE = MESSAGES["KeyValue"]!;

/** Records that follow one another mostly have the same second. */
let lastSecond = -1;
let lastSecondText = NOTHING;

import { fixed32, viewOf } from "../../bytes/wire.js";
import type { WireWriter } from "../../bytes/writer.js";
import { nanos, seconds, splitNanos } from "../../signals/nanoseconds.js";
import { putDecimal, putPadded, writeAscii, writeHex } from "../write-text.js";
import { type KeySet, PlainJsonWriter } from "./plain-json.js";
import { jsonText } from "./plain-value.js";

const QUOTE = 34;
const DOT = 46;
const OPEN_OBJECT = 123;
const CLOSE_OBJECT = 125;
const UTC = 90;

/**
 * Writes members of a document directly from the bytes of a record. Each label begins with a comma; `close` replaces the
 * first one of an object by its bracket. Invalid UTF-8 stays as it is.
 */
export class DocumentJson {
  readonly out: WireWriter;
  readonly values: PlainJsonWriter;
  private readonly bytes: Uint8Array;
  private readonly view: DataView;

  constructor(bytes: Uint8Array, out: WireWriter) {
    this.bytes = bytes;
    this.view = viewOf(bytes);
    this.out = out;
    this.values = new PlainJsonWriter(bytes, out);
  }

  /** Writes bytes that are JSON, or the label of the next value. */
  raw(json: Uint8Array): void {
    this.out.copy(json, 0, json.length);
  }

  /** Ends the object whose members start at this position. */
  close(start: number): void {
    const { out } = this;
    if (out.length === start) out.byte(OPEN_OBJECT);
    else out.bytes[start] = OPEN_OBJECT;
    out.byte(CLOSE_OBJECT);
  }

  /** Writes a text, which may be empty. */
  anyText(label: Uint8Array, start: number, end: number): void {
    this.raw(label);
    this.values.text(start, end);
  }

  /** Writes a text, but no member if it is empty. */
  text(label: Uint8Array, start: number, end: number): void {
    if (start < end) this.anyText(label, start, end);
  }

  /** Writes an id in hex, which may be empty. */
  anyId(label: Uint8Array, start: number, end: number): void {
    this.raw(label);
    writeHex(this.bytes, start, end, this.out);
  }

  /** Writes an id in hex, but no member if it is empty. */
  id(label: Uint8Array, start: number, end: number): void {
    if (start < end) this.anyId(label, start, end);
  }

  number(label: Uint8Array, value: number): void {
    this.raw(label);
    if (value < 0 || value > MAX_SHORT || !Number.isInteger(value)) return writeAscii(String(value), this.out);
    this.out.reserve(10);
    this.out.length = putDecimal(this.out.view, this.out.length, value);
  }

  /** Writes a map, which may be empty. */
  map(label: Uint8Array, start: number, end: number, tag: number, excluded?: KeySet): void {
    this.raw(label);
    if (!this.values.map(start, end, tag, excluded)) writeAscii("{}", this.out);
  }

  /** Writes a map with more members at its end. */
  mapAnd(label: Uint8Array, start: number, end: number, tag: number, excluded: KeySet, more: Uint8Array): void {
    const { out } = this;
    this.raw(label);
    const from = out.length;
    if (this.values.map(start, end, tag, excluded)) out.length--;
    this.raw(more);
    this.close(from);
  }

  /** Writes the time at this position, or 0 for a negative position, as milliseconds with a fraction, in quotes. */
  epochMillis(label: Uint8Array, at: number): void {
    const { out } = this;
    this.raw(label);
    this.split(at);
    out.reserve(MAX_TIME_LENGTH);
    out.byte(QUOTE);
    const millis = Math.floor(nanos / NANOS_PER_MS);
    if (seconds === 0) out.length = putDecimal(out.view, out.length, millis);
    else {
      if (seconds > MAX_SHORT) writeAscii(String(seconds), out);
      else out.length = putDecimal(out.view, out.length, seconds);
      this.padded(millis, 3);
    }
    out.byte(DOT);
    this.padded(nanos - millis * NANOS_PER_MS, 6);
    out.byte(QUOTE);
  }

  /** Writes the time at this position, or 0 for a negative position, as an ISO 8601 time with nanoseconds. */
  isoTime(label: Uint8Array, at: number): void {
    const { out } = this;
    this.raw(label);
    this.split(at);
    if (seconds !== lastSecond) {
      lastSecond = seconds;
      lastSecondText = Buffer.from(new Date(seconds * 1000).toISOString().slice(0, 19));
    }
    out.reserve(MAX_TIME_LENGTH);
    out.byte(QUOTE);
    out.copy(lastSecondText, 0, lastSecondText.length);
    out.byte(DOT);
    this.padded(nanos, 9);
    out.byte(UTC);
    out.byte(QUOTE);
  }

  /** Whether there is a time at this position, and it is not 0. */
  hasTime(at: number): boolean {
    return at >= 0 && (fixed32(this.bytes, at) !== 0 || fixed32(this.bytes, at + 4) !== 0);
  }

  /** Returns the nanoseconds between two times; 0 if one is missing or the end is before the start. */
  nanosBetween(startAt: number, endAt: number): number {
    if (startAt < 0 || endAt < 0) return 0;
    const { view } = this;
    const low = view.getUint32(endAt, true) - view.getUint32(startAt, true);
    const high = view.getUint32(endAt + 4, true) - view.getUint32(startAt + 4, true);
    return Math.max(0, high * TWO_32 + low);
  }

  private split(at: number): void {
    if (at < 0) splitNanos(0, 0);
    else splitNanos(fixed32(this.bytes, at), fixed32(this.bytes, at + 4));
  }

  private padded(value: number, size: number): void {
    putPadded(this.out.view, this.out.length, value, size);
    this.out.length += size;
  }
}

const TWO_32 = 2 ** 32;
const NANOS_PER_MS = 1_000_000;
/** The largest number that `putDecimal` writes. */
const MAX_SHORT = 0x7fffffff;
const MAX_TIME_LENGTH = 40;

/** Records that follow one another mostly have the same second. */
let lastSecond = -1;
let lastSecondText = Buffer.alloc(0);

/** Returns the label of a member. */
export function labelOf(name: string): Uint8Array {
  return Buffer.from(`,${JSON.stringify(name)}:`);
}

/** Returns the members of an object with a comma before each of them. */
export function membersOf(object: Readonly<Record<string, unknown>>): Uint8Array {
  const json = jsonText(object);
  return Buffer.from(json === "{}" ? "" : `,${json.slice(1, -1)}`);
}

import type { Signal } from "../../signals/signal.js";
import { type Field, isPackable, type Message, REQUEST } from "../messages.js";
import { FIXED32, FIXED64, LENGTH_DELIMITED, VARINT } from "../wire.js";
import { FAULTS, HAS_DUPLICATES, MAX_DEPTH, malformed, tooManyElements } from "./check-faults.js";

/**
 * The check of check-walk.ts for processes without WebAssembly: `node --jitless`, or an address space limit (`ulimit
 * -v`) below the 10 GB that V8 reserves for each memory. Results and errors are the same; it takes several times as
 * long.
 */
export function checkInJavaScript(
  signal: Signal,
  pieces: readonly Uint8Array[],
  byteLength: number,
  maxElements: number,
): number {
  const bytes = pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces, byteLength);
  return new Check(bytes, maxElements).request(REQUEST[signal]);
}

class Check {
  private readonly bytes: Uint8Array;
  private elementsLeft: number;
  private records = 0;
  private hasDuplicates = false;
  /** Where the last varint ends. */
  private position = 0;

  constructor(bytes: Uint8Array, maxElements: number) {
    this.bytes = bytes;
    this.elementsLeft = maxElements;
  }

  request(message: Message): number {
    this.message(0, this.bytes.length, message, MAX_DEPTH);
    return this.hasDuplicates ? HAS_DUPLICATES : this.records;
  }

  private message(start: number, end: number, message: Message, depth: number): void {
    if (depth === 0) throw malformed(FAULTS.tooDeep, message, 0, start);
    if (message.isRecord) this.records++;
    let seen = 0;
    let p = start;
    while (p < end) {
      const at = p;
      const tag = this.varint32(p, end, message);
      p = this.position;
      const field = message.byNumber[tag >>> 3];
      if (field === undefined) {
        p = this.unknown(p, end, tag, message, at);
        continue;
      }
      const bit = singularBit(field, message);
      if ((seen & bit) !== 0) this.hasDuplicates = true;
      seen |= bit;
      if (field.repeated && isPackable(field) && (tag & 7) === LENGTH_DELIMITED) {
        p = this.packed(p, end, field, message, at);
      } else if (tag !== field.tag) {
        throw malformed(FAULTS.wrongType, message, tag, at);
      } else if ((tag & 7) === LENGTH_DELIMITED) {
        const value = this.lengthAt(p, end, message, at);
        p = this.position;
        if (field.message !== undefined) {
          // An attribute and its value count as one element, as in the fast path of check-walk.ts.
          if (message.name !== "KeyValue" && --this.elementsLeft < 0) throw tooManyElements(at);
          this.message(value, p, field.message, depth - 1);
        } else if (field.type === "id" && p !== value && p - value !== field.idBytes) {
          throw malformed(field.idBytes === 16 ? FAULTS.traceId : FAULTS.spanId, message, p - value, at);
        }
      } else {
        p = this.number(p, end, tag & 7, message, at);
      }
    }
  }

  /** Returns where the bytes of a length-delimited value start and sets `position` to their end. */
  private lengthAt(p: number, end: number, message: Message, at: number): number {
    const length = this.varint32(p, end, message);
    const start = this.position;
    if (start + length > end) throw malformed(FAULTS.truncated, message, 0, at);
    this.position = start + length;
    return start;
  }

  private packed(p: number, end: number, field: Field, message: Message, at: number): number {
    let next = this.lengthAt(p, end, message, at);
    const stop = this.position;
    if ((field.tag & 7) !== VARINT) {
      if ((stop - next) % 8 !== 0) throw malformed(FAULTS.oddPacked, message, 0, at);
      return stop;
    }
    while (next < stop) next = this.varint64(next, stop, message);
    return stop;
  }

  private number(p: number, end: number, wireType: number, message: Message, at: number): number {
    if (wireType === VARINT) return this.varint64(p, end, message);
    const stop = p + (wireType === FIXED64 ? 8 : 4);
    if (stop > end) throw malformed(FAULTS.truncated, message, 0, at);
    return stop;
  }

  private unknown(p: number, end: number, tag: number, message: Message, at: number): number {
    if (tag >>> 3 === 0) throw malformed(FAULTS.fieldZero, message, tag, at);
    const wireType = tag & 7;
    if (wireType === LENGTH_DELIMITED) {
      this.lengthAt(p, end, message, at);
      return this.position;
    }
    if (wireType === VARINT || wireType === FIXED64 || wireType === FIXED32)
      return this.number(p, end, wireType, message, at);
    throw malformed(FAULTS.unusedType, message, tag, at);
  }

  private varint32(start: number, end: number, message: Message): number {
    let value = 0;
    let p = start;
    for (let shift = 0; shift < 35; shift += 7) {
      if (p >= end) throw malformed(FAULTS.unfinishedVarint, message, 0, start);
      const byte = this.bytes[p++]!;
      value += (byte & 127) * 2 ** shift;
      if (byte > 127) continue;
      if (value > 0xffffffff) break;
      this.position = p;
      return value;
    }
    throw malformed(FAULTS.over32Bits, message, 0, start);
  }

  private varint64(start: number, end: number, message: Message): number {
    let p = start;
    do {
      if (p >= end) throw malformed(FAULTS.unfinishedVarint, message, 0, start);
      if (p - start === 10) throw malformed(FAULTS.over64Bits, message, 0, start);
    } while (this.bytes[p++]! > 127);
    return p;
  }
}

/** A bit for each singular field; the members of a oneof share one. */
function singularBit(field: Field, message: Message): number {
  if (field.repeated) return 0;
  const { number } = field.oneof === undefined ? field : message.byName.get(field.oneof)!;
  return 1 << number;
}

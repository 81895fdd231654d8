import { isPackable, type Message, REQUEST } from "../../../src/runtime/otlp/bytes/messages.js";
import type { Signal } from "../../../src/runtime/otlp/signals/signal.js";

/**
 * The check as one would write it who has time: a message is cut out of the one around it, a varint is read byte by byte into a
 * bigint, nothing has a short way. Gives the number of records, or undefined for what is no request.
 */
export function naiveCheck(signal: Signal, bytes: Uint8Array): number | undefined {
  try {
    return countRecords(REQUEST[signal], bytes, 200);
  } catch (error) {
    if (error instanceof NaiveFault) return undefined;
    throw error;
  }
}

class NaiveFault extends Error {}

function countRecords(message: Message, bytes: Uint8Array, depth: number): number {
  if (depth === 0) throw new NaiveFault();
  let records = message.isRecord ? 1 : 0;
  const reader = new Reader(bytes);
  while (reader.rest > 0) {
    const tag = Number(reader.varint(32n));
    const field = message.byNumber[tag >>> 3];
    if (tag >>> 3 === 0) throw new NaiveFault();
    const value = reader.value(tag & 7);
    if (field === undefined) continue;
    const isPacked = field.repeated && isPackable(field) && (tag & 7) === 2;
    if (tag !== field.tag && !isPacked) throw new NaiveFault();
    if (isPacked) checkPacked(value, field.tag & 7);
    if (field.message !== undefined) records += countRecords(field.message, value, depth - 1);
    if (field.type === "id" && value.length !== 0 && value.length !== field.idBytes) throw new NaiveFault();
  }
  return records;
}

function checkPacked(bytes: Uint8Array, wireType: number): void {
  const reader = new Reader(bytes);
  while (reader.rest > 0) reader.value(wireType);
}

class Reader {
  private readonly bytes: Uint8Array;
  private at = 0;

  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
  }

  get rest(): number {
    return this.bytes.length - this.at;
  }

  varint(bits: bigint): bigint {
    let value = 0n;
    for (let i = 0n; i < (bits + 6n) / 7n; i++) {
      const byte = this.take(1)[0]!;
      value |= BigInt(byte & 127) << (i * 7n);
      if (byte < 128 && (bits === 64n || value < 1n << bits)) return value;
      if (byte < 128) break;
    }
    throw new NaiveFault();
  }

  value(wireType: number): Uint8Array {
    const start = this.at;
    if (wireType === 0) this.varint(64n);
    else if (wireType === 1) this.take(8);
    else if (wireType === 2) return this.take(Number(this.varint(32n)));
    else if (wireType === 5) this.take(4);
    else throw new NaiveFault();
    return this.bytes.subarray(start, this.at);
  }

  private take(length: number): Uint8Array {
    if (length > this.rest) throw new NaiveFault();
    this.at += length;
    return this.bytes.subarray(this.at - length, this.at);
  }
}

import { type Field, type Message, REQUEST } from "../../../src/runtime/otlp/bytes/messages.js";
import type { Signal } from "../../../src/runtime/otlp/signals/signal.js";

/**
 * Writes OTLP requests in the unusual ways that protobuf allows. Shares only the table of messages with the product:
 * parsing and writing are its own.
 */
export interface Oddities {
  /** Adds unknown fields at every level: before, between and behind the known ones. */
  readonly unknown?: boolean;
  /** Fields of different numbers in any order. */
  readonly shuffled?: boolean;
  /** Tags, lengths and varints longer than they need be. */
  readonly padded?: boolean;
  /** Singular fields twice: for a scalar the last counts, messages are merged. */
  readonly repeated?: boolean;
  /** Varints no longer than they need be. */
  readonly shortest?: boolean;
  /** Packed numbers one by one, or in several packs. */
  readonly unpacked?: boolean;
}

interface Part {
  readonly number: number;
  readonly wire: number;
  /** The value without its length. */
  readonly raw: Uint8Array;
  readonly field: Field | undefined;
  readonly children: Part[] | undefined;
}

/** The same request, or the same with unknown fields, in another form. */
export function rewritten(signal: Signal, bytes: Uint8Array, oddities: Oddities, seed: number): Uint8Array {
  const dice = new Dice(seed);
  return Buffer.from(write(parse(REQUEST[signal], bytes), REQUEST[signal], oddities, dice));
}

/** Every unknown field as "path of message names: bytes", in order. */
export function unknownFields(signal: Signal, bytes: Uint8Array): string[] {
  const found: string[] = [];
  const visit = (parts: Part[], path: string) => {
    for (const part of parts) {
      if (part.field === undefined) found.push(`${path}: ${part.number}/${part.wire} ${hex(part.raw)}`);
      if (part.children) visit(part.children, `${path}.${part.field!.name}`);
    }
  };
  visit(parse(REQUEST[signal], bytes), signal);
  return found;
}

function parse(message: Message, bytes: Uint8Array): Part[] {
  const parts: Part[] = [];
  for (let p = 0; p < bytes.length; ) {
    const [tag, at] = readVarint(bytes, p);
    const [number, wire] = [Math.floor(tag / 8), tag % 8];
    let [from, to] = [at, at];
    if (wire === 0) to = readVarint(bytes, at)[1];
    else if (wire === 1) to = at + 8;
    else if (wire === 5) to = at + 4;
    else {
      const [length, start] = readVarint(bytes, at);
      [from, to] = [start, start + length];
    }
    const raw = bytes.slice(from, to);
    const field = message.byNumber[number];
    parts.push({ number, wire, raw, field, children: field?.message && parse(field.message, raw) });
    p = to;
  }
  return parts;
}

function write(parts: Part[], message: Message, odd: Oddities, dice: Dice): number[] {
  let all = parts.flatMap((part) => variants(part, odd, dice));
  if (odd.shuffled) all = shuffled(all, dice);
  if (odd.unknown) all = withUnknown(all, message, dice);
  const out: number[] = [];
  for (const part of all) {
    const raw = part.children ? write(part.children, part.field!.message!, odd, dice) : [...part.raw];
    out.push(...varint(part.number * 8 + part.wire, odd.padded ? dice.upTo(2) : 0));
    if (part.wire === 2) out.push(...varint(raw.length, odd.padded ? dice.upTo(3) : 0));
    if (part.wire === 0 && odd.padded) padVarint(raw, dice);
    if (part.wire === 0 && odd.shortest) shortenVarint(raw);
    for (const byte of raw) out.push(byte);
  }
  return out;
}

/** One part as one or several parts of the same meaning. */
function variants(part: Part, odd: Oddities, dice: Dice): Part[] {
  const { field } = part;
  if (field === undefined) return [part];
  if (odd.unpacked && field.repeated && part.wire === 2 && isNumber(field)) return unpacked(part, dice);
  if (!odd.repeated || field.repeated || dice.upTo(2) > 0) return [part];
  if (part.children === undefined) return [decoy(part, dice), part];
  const cut = dice.upTo(part.children.length);
  return [part.children.slice(0, cut), part.children.slice(cut)].map((children) => ({ ...part, children }));
}

/** Another value of the same field, which a later one overrules. */
function decoy(part: Part, dice: Dice): Part {
  if (part.wire === 0) return { ...part, raw: Uint8Array.of(dice.upTo(127)) };
  const isId = part.field?.type === "id";
  const size = part.wire === 1 ? 8 : part.wire === 5 ? 4 : isId ? part.raw.length : dice.upTo(20);
  return { ...part, raw: Uint8Array.from({ length: size }, () => 97 + dice.upTo(25)) };
}

function unpacked(part: Part, dice: Dice): Part[] {
  const varints = part.field!.type === "uint64";
  const items: Uint8Array[] = [];
  for (let p = 0; p < part.raw.length; ) {
    const end = varints ? readVarint(part.raw, p)[1] : p + 8;
    items.push(part.raw.slice(p, end));
    p = end;
  }
  return items.map((raw) => (dice.upTo(1) > 0 ? { ...part, raw } : { ...part, raw, wire: varints ? 0 : 1 }));
}

function isNumber(field: Field): boolean {
  return !["message", "string", "bytes", "id"].includes(field.type);
}

/** In any order, but fields that depend on their order (same number, same choice of several) keep it. */
function shuffled(parts: Part[], dice: Dice): Part[] {
  const rest = [...parts];
  const result: Part[] = [];
  while (rest.length > 0) {
    const pick = rest[dice.upTo(rest.length - 1)]!;
    const first = rest.findIndex((part) => part.number === pick.number);
    result.push(...rest.splice(first, 1));
  }
  return result;
}

function withUnknown(parts: Part[], message: Message, dice: Dice): Part[] {
  const result: Part[] = [];
  for (let i = 0; i <= parts.length; i++) {
    for (let n = dice.upTo(1); n > 0; n--) result.push(unknownPart(message, dice));
    if (i < parts.length) result.push(parts[i]!);
  }
  return result;
}

function unknownPart(message: Message, dice: Dice): Part {
  const numbers = [4, 14, 15, 16, 17, 20, 31, 2047, 2048, 100_000, 2 ** 29 - 1].filter((n) => !message.byNumber[n]);
  const number = numbers[dice.upTo(numbers.length - 1)]!;
  const wire = [0, 1, 2, 5][dice.upTo(3)]!;
  const size = wire === 1 ? 8 : wire === 5 ? 4 : wire === 2 ? dice.upTo(140) : 0;
  const raw =
    wire === 0 ? Uint8Array.from(varint(dice.upTo(2 ** 31))) : Uint8Array.from({ length: size }, () => dice.upTo(255));
  return { number, wire, raw, field: undefined, children: undefined };
}

function varint(value: number, extra = 0): number[] {
  const bytes: number[] = [];
  do {
    bytes.push((value % 128) | 128);
    value = Math.floor(value / 128);
  } while (value > 0);
  while (extra-- > 0 && bytes.length < 5) bytes.push(128);
  bytes[bytes.length - 1]! &= 127;
  return bytes;
}

/** To five bytes at most or to ten: between them the reference loses its way with 32-bit numbers. */
function padVarint(raw: number[], dice: Dice): void {
  const size = dice.upTo(9) === 0 ? 10 : raw.length + dice.upTo(Math.max(0, 5 - raw.length));
  while (raw.length < size) {
    raw[raw.length - 1]! |= 128;
    raw.push(0);
  }
}

function shortenVarint(raw: number[]): void {
  while (raw.length > 1 && raw[raw.length - 1] === 0) raw.pop();
  raw[raw.length - 1]! &= 127;
}

function readVarint(bytes: Uint8Array, p: number): [value: number, end: number] {
  let value = 0;
  for (let scale = 1; ; scale *= 128) {
    const byte = bytes[p++]!;
    value += (byte & 127) * scale;
    if (byte < 128) return [value, p];
  }
}

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("hex");
}

/** Random numbers that a seed decides (mulberry32). */
export class Dice {
  private state: number;

  constructor(seed: number) {
    this.state = seed | 0;
  }

  /** An integer from 0 to `max`. */
  upTo(max: number): number {
    this.state = (this.state + 0x6d2b79f5) | 0;
    let t = Math.imul(this.state ^ (this.state >>> 15), 1 | this.state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return Math.floor((((t ^ (t >>> 14)) >>> 0) / 2 ** 32) * (max + 1));
  }
}

import { type Mutator, mutateBytes } from "./mutate-bytes.js";
import type { Random } from "./random.js";

/** A field of a protobuf message as it lies in the bytes: its tag, and its value without its length. */
interface WireField {
  readonly tag: number;
  readonly value: Buffer;
}

/** Changes of fields wherever they lie, with the lengths around them put right; now and then just of bytes. */
export const mutateWire: Mutator = (input, random, other) => {
  const fields = random.oneIn(6) ? undefined : parse(input);
  if (fields === undefined || fields.length === 0) return mutateBytes(input, random, other);
  const at = random.below(fields.length);
  const { tag, value } = fields[at]!;
  if ((tag & 7) === 2 && value.length > 0 && !random.oneIn(4)) {
    fields[at] = { tag, value: mutateWire(value, random, other) };
  } else {
    fields.splice(at, random.oneIn(2) ? 1 : 0, ...replacement(fields[at]!, random, other));
  }
  return write(fields, random);
};

function replacement(field: WireField, random: Random, other: Buffer): WireField[] {
  const { tag, value } = field;
  switch (random.below(7)) {
    case 0:
      return [field, field];
    case 1:
      return [{ tag: (tag & 7) | (random.below(22) << 3), value }];
    case 2:
      return [{ tag: (tag & ~7) | random.below(8), value }];
    case 3:
      return [{ tag: (tag & ~7) | 2, value: write([field], random) }];
    case 4:
      return [{ tag: (random.below(22) << 3) | 2, value: Buffer.alloc(random.below(40), random.below(256)) }];
    case 5: {
      const theirs = parse(other) ?? [];
      return theirs.length === 0 ? [] : [random.pick(theirs)];
    }
    default:
      return [];
  }
}

function parse(bytes: Buffer): WireField[] | undefined {
  const fields: WireField[] = [];
  for (let at = 0; at < bytes.length; ) {
    const [tag, from] = readVarint(bytes, at);
    const [start, end] = bounds(bytes, tag & 7, from);
    if (end === undefined || end > bytes.length || start > end) return undefined;
    fields.push({ tag, value: bytes.subarray(start, end) });
    at = end;
  }
  return fields;
}

function bounds(bytes: Buffer, wire: number, from: number): [start: number, end: number | undefined] {
  if (wire === 0) return [from, readVarint(bytes, from)[1]];
  if (wire === 1) return [from, from + 8];
  if (wire === 5) return [from, from + 4];
  if (wire !== 2) return [from, undefined];
  const [length, start] = readVarint(bytes, from);
  return [start, start + length];
}

function readVarint(bytes: Buffer, at: number): [value: number, end: number] {
  let value = 0;
  for (let shift = 0; shift < 64; shift += 7) {
    const byte = bytes[at++];
    if (byte === undefined) return [0, bytes.length + 1];
    value += (byte & 127) * 2 ** shift;
    if (byte < 128) break;
  }
  return [value, at];
}

function write(fields: readonly WireField[], random: Random): Buffer {
  const parts: Buffer[] = [];
  for (const { tag, value } of fields) {
    parts.push(varint(tag, random.oneIn(40)));
    if ((tag & 7) === 2) parts.push(varint(value.length, random.oneIn(40)));
    parts.push(value);
  }
  return Buffer.concat(parts);
}

/** Protobuf lets a varint be longer than it need be. */
function varint(value: number, isPadded: boolean): Buffer {
  const bytes: number[] = [];
  let rest = value;
  for (; rest > 127; rest = Math.floor(rest / 128)) bytes.push((rest % 128) + 128);
  bytes.push(...(isPadded ? [rest + 128, 128, 0] : [rest]));
  return Buffer.from(bytes);
}

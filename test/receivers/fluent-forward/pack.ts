/** MessagePack as clients write it. A text of Uint8Array is written as bytes, and `EventTime` as Fluentd's extension. */
export class EventTime {
  readonly seconds: number;
  readonly nanoseconds: number;

  constructor(seconds: number, nanoseconds: number) {
    this.seconds = seconds;
    this.nanoseconds = nanoseconds;
  }
}

export type Packable =
  | null
  | boolean
  | number
  | bigint
  | string
  | Uint8Array
  | EventTime
  | readonly Packable[]
  | { readonly [key: string]: Packable };

export function pack(value: Packable): Buffer {
  if (value === null) return Buffer.of(0xc0);
  if (typeof value === "boolean") return Buffer.of(value ? 0xc3 : 0xc2);
  if (typeof value === "bigint") return packInteger(value);
  if (typeof value === "number") return Number.isInteger(value) ? packInteger(BigInt(value)) : packDouble(value);
  if (typeof value === "string") return withSize(Buffer.from(value), TEXT);
  if (value instanceof Uint8Array) return withSize(value, BYTES);
  if (value instanceof EventTime) return packTime(value);
  if (Array.isArray(value)) return Buffer.concat([count(value.length, 0x90, 0xdc), ...value.map(pack)]);
  const entries = Object.entries(value as { readonly [key: string]: Packable });
  return Buffer.concat([count(entries.length, 0x80, 0xde), ...entries.flat().map(pack)]);
}

const TEXT = [0xd9, 0xda, 0xdb];
const BYTES = [0xc4, 0xc5, 0xc6];

function withSize(bytes: Uint8Array, types: readonly number[]): Buffer {
  if (types === TEXT && bytes.length < 32) return Buffer.concat([Buffer.of(0xa0 | bytes.length), bytes]);
  const [at, size] = bytes.length < 256 ? [0, 1] : bytes.length < 65_536 ? [1, 2] : [2, 4];
  const head = Buffer.alloc(1 + size, types[at]);
  head.writeUIntBE(bytes.length, 1, size);
  return Buffer.concat([head, bytes]);
}

function count(number: number, fixed: number, type16: number): Buffer {
  if (number < 16) return Buffer.of(fixed | number);
  const head = Buffer.alloc(number < 65_536 ? 3 : 5, number < 65_536 ? type16 : type16 + 1);
  head.writeUIntBE(number, 1, head.length - 1);
  return head;
}

function packInteger(value: bigint): Buffer {
  if (value >= -32n && value < 128n) return Buffer.of(Number(value) & 0xff);
  const head = Buffer.alloc(9, value < 0n ? 0xd3 : 0xcf);
  if (value < 0n) head.writeBigInt64BE(value, 1);
  else head.writeBigUInt64BE(value, 1);
  return head;
}

function packDouble(value: number): Buffer {
  const head = Buffer.alloc(9, 0xcb);
  head.writeDoubleBE(value, 1);
  return head;
}

function packTime({ seconds, nanoseconds }: EventTime): Buffer {
  const bytes = Buffer.from([0xd7, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
  bytes.writeUInt32BE(seconds, 2);
  bytes.writeUInt32BE(nanoseconds, 6);
  return bytes;
}

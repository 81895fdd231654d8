/** A reader and a writer of protobuf of the tests' own, which know no message: all values of each field, by number. */
export type Fields = ReadonlyMap<number, readonly (bigint | Buffer)[]>;

export function readProto(bytes: Buffer): Fields {
  const fields = new Map<number, (bigint | Buffer)[]>();
  let at = 0;
  const varint = () => {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = bytes[at++];
      if (byte === undefined) throw new RangeError("the message ends inside a varint");
      value |= BigInt(byte & 127) << shift;
      if (byte < 128) return value;
    }
  };
  const take = (size: number) => {
    if (at + size > bytes.length) throw new RangeError("the message ends inside a field");
    at += size;
    return bytes.subarray(at - size, at);
  };
  while (at < bytes.length) {
    const tag = Number(varint());
    const wire = tag & 7;
    const value =
      wire === 0 ? varint() : wire === 1 ? take(8).readBigUInt64LE(0) : wire === 2 ? take(Number(varint())) : undefined;
    if (value === undefined) throw new RangeError(`wire type ${wire}`);
    fields.set(tag >> 3, [...(fields.get(tag >> 3) ?? []), value]);
  }
  return fields;
}

export function sub(fields: Fields, number: number): Fields | undefined {
  const value = fields.get(number)?.at(-1);
  return Buffer.isBuffer(value) ? readProto(value) : undefined;
}

export function text(fields: Fields | undefined, number: number): string {
  const value = fields?.get(number)?.at(-1);
  return Buffer.isBuffer(value) ? value.toString() : "";
}

export function int(fields: Fields | undefined, number: number): number {
  const value = fields?.get(number)?.at(-1);
  return typeof value === "bigint" ? Number(value) : 0;
}

/** A map field: entries with a key and a message. */
export function map(fields: Fields | undefined, number: number): Record<string, Fields> {
  const entries = (fields?.get(number) ?? []).map((value) => readProto(value as Buffer));
  return Object.fromEntries(entries.map((entry) => [text(entry, 1), sub(entry, 2) ?? new Map()]));
}

/** Attributes with texts as values. */
export function attributes(fields: Fields | undefined, number: number): Record<string, string> {
  const list = (fields?.get(number) ?? []).map((value) => readProto(value as Buffer));
  return Object.fromEntries(list.map((entry) => [text(entry, 1), text(sub(entry, 2), 1)]));
}

/** Writes fields: a number as a varint, text and bytes with their length. */
export function proto(...fields: readonly (readonly [number, number | bigint | string | Uint8Array])[]): Buffer {
  return Buffer.concat(
    fields.flatMap(([number, value]) => {
      if (typeof value === "number" || typeof value === "bigint") return [varint(number << 3), varint(value)];
      const body = typeof value === "string" ? Buffer.from(value) : value;
      return [varint((number << 3) | 2), varint(body.length), body];
    }),
  );
}

function varint(value: number | bigint): Buffer {
  const bytes: number[] = [];
  let rest = BigInt(value);
  for (; rest > 127n; rest >>= 7n) bytes.push(Number(rest & 127n) | 128);
  return Buffer.from([...bytes, Number(rest)]);
}

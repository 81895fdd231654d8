/** A frame as a server writes it: unmasked. */
export function serverFrame(opcode: number, payload: Uint8Array, { isFinal = true } = {}): Buffer {
  const { length } = payload;
  const first = (isFinal ? 0x80 : 0) | opcode;
  if (length < 126) return Buffer.concat([Buffer.of(first, length), payload]);
  const head = Buffer.alloc(length < 0x10000 ? 4 : 10);
  head[0] = first;
  head[1] = length < 0x10000 ? 126 : 127;
  if (length < 0x10000) head.writeUInt16BE(length, 2);
  else head.writeBigUInt64BE(BigInt(length), 2);
  return Buffer.concat([head, payload]);
}

/** A frame of a client, unmasked; undefined while it is not complete. */
export function readClientFrame(bytes: Buffer): { opcode: number; payload: Buffer; rest: Buffer } | undefined {
  if (bytes.length < 2) return undefined;
  const short = bytes[1]! & 127;
  const at = short === 127 ? 10 : short === 126 ? 4 : 2;
  if (bytes.length < at + 4) return undefined;
  const length = short === 127 ? Number(bytes.readBigUInt64BE(2)) : short === 126 ? bytes.readUInt16BE(2) : short;
  const end = at + 4 + length;
  if (bytes.length < end) return undefined;
  if ((bytes[1]! & 0x80) === 0) throw new Error("the client did not mask a frame");
  const mask = bytes.subarray(at, at + 4);
  const payload = Buffer.from(bytes.subarray(at + 4, end).map((byte, i) => byte ^ mask[i & 3]!));
  return { opcode: bytes[0]! & 15, payload, rest: bytes.subarray(end) };
}

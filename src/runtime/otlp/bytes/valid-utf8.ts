import { isUtf8 } from "node:buffer";
import { StringDecoder } from "node:string_decoder";

const PIECE_BYTES = 1024 * 1024;

/** The bytes with U+FFFD in place of what is no UTF-8. Stops after every megabyte that has to be replaced. */
export function* validUtf8<Bytes extends Uint8Array>(bytes: Bytes): Generator<void, Bytes | Buffer> {
  if (isUtf8(bytes)) return bytes;
  const decoder = new StringDecoder("utf8");
  const pieces: Buffer[] = [];
  for (let at = 0; at < bytes.length; at += PIECE_BYTES) {
    pieces.push(Buffer.from(decoder.write(bytes.subarray(at, at + PIECE_BYTES))));
    yield;
  }
  return Buffer.concat([...pieces, Buffer.from(decoder.end())]);
}

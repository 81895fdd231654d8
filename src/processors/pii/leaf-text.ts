import { after, double, varint, varint64 } from "../../runtime/kit.js";

const BOOL = 16;
const INT = 24;
const DOUBLE = 33;
const BYTES = 58;

/**
 * A number, a boolean or bytes of an AnyValue as text; undefined for what is none, and for booleans where only a secret
 * is looked for.
 */
export function leafText(b: Uint8Array, tag: number, at: number, end: number, isSecret: boolean): string | undefined {
  switch (tag) {
    case BOOL:
      return isSecret ? undefined : String(varint64(b, at) !== 0n);
    case INT:
      return String(BigInt.asIntN(64, varint64(b, at)));
    case DOUBLE:
      return String(double(b, at));
    case BYTES:
      varint(b, at);
      return Buffer.prototype.base64Slice.call(b, after, end);
    default:
      return undefined;
  }
}

import {
  after,
  BOOL_VALUE_TAG,
  BYTES_VALUE_TAG,
  DOUBLE_VALUE_TAG,
  double,
  INT_VALUE_TAG,
  varint,
  varint64,
} from "../../runtime/kit.js";

/**
 * A number, a boolean or bytes of an AnyValue as text; undefined for what is none, and for booleans where only a secret
 * is looked for.
 */
export function leafText(b: Uint8Array, tag: number, at: number, end: number, isSecret: boolean): string | undefined {
  switch (tag) {
    case BOOL_VALUE_TAG:
      return isSecret ? undefined : String(varint64(b, at) !== 0n);
    case INT_VALUE_TAG:
      return String(BigInt.asIntN(64, varint64(b, at)));
    case DOUBLE_VALUE_TAG:
      return String(double(b, at));
    case BYTES_VALUE_TAG:
      varint(b, at);
      return Buffer.prototype.base64Slice.call(b, after, end);
    default:
      return undefined;
  }
}

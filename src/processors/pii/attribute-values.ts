import { after, decodeText, double, findField, varint, varint64 } from "#otlp/bytes";
import { BOOL_VALUE_TAG, BYTES_VALUE_TAG, DOUBLE_VALUE_TAG, INT_VALUE_TAG, KEY_TAG } from "#otlp/tags";

/**
 * Returns a number, boolean or bytes of an AnyValue as text. Returns undefined for other values, and for booleans where
 * the whole value is treated as a secret.
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

/** Returns the key of the KeyValue [start, end). */
export function keyOf(b: Uint8Array, start: number, end: number): string {
  const at = findField(b, start, end, KEY_TAG);
  if (at < 0) return "";
  const size = varint(b, at);
  return decodeText(b, after, after + size);
}

/** Whether a value can reveal a secret. An empty value cannot, and a boolean only says whether there is one. */
export function isConfidential(b: Uint8Array, start: number, end: number): boolean {
  return end > start && b[start] !== BOOL_VALUE_TAG;
}

/** Holds 1 at the tags of booleans, integers, doubles and bytes. */
export const HOLDS_NO_TEXT = new Uint8Array(256);
for (const tag of [BOOL_VALUE_TAG, INT_VALUE_TAG, DOUBLE_VALUE_TAG, BYTES_VALUE_TAG]) HOLDS_NO_TEXT[tag] = 1;

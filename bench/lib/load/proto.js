/**
 * A minimal protobuf writer for test data. It is separate from the runtime's, so that the benchmark does not use the
 * encoder that it measures.
 */

/** @param {number} value */
function varint(value) {
  const bytes = [];
  while (value > 127) {
    bytes.push((value & 127) | 128);
    value = Math.floor(value / 128);
  }
  bytes.push(value);
  return Buffer.from(bytes);
}

/** A length-delimited field: a string, bytes or the concatenation of a message's fields. */
export function field(/** @type {number} */ number, /** @type {string | Buffer | Buffer[]} */ content) {
  const bytes = Array.isArray(content) ? Buffer.concat(content) : Buffer.from(content);
  return Buffer.concat([varint((number << 3) | 2), varint(bytes.length), bytes]);
}

/** @param {number} number @param {number} value */
export function uint(number, value) {
  return Buffer.concat([varint(number << 3), varint(value)]);
}

/** @param {number} number @param {bigint} value */
export function fixed64(number, value) {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(value);
  return Buffer.concat([varint((number << 3) | 1), bytes]);
}

/** @param {number} number @param {number} value */
export function double(number, value) {
  const bytes = Buffer.alloc(8);
  bytes.writeDoubleLE(value);
  return Buffer.concat([varint((number << 3) | 1), bytes]);
}

/** A KeyValue as field `number`. @param {number} number @param {string} key @param {string | number} value */
export function attribute(number, key, value) {
  const any = typeof value === "string" ? field(1, value) : uint(3, value);
  return field(number, [field(1, key), field(2, any)]);
}

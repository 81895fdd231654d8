import { double, fieldTag, fixed32, stepOver, valueAt, varint, varint64 } from "#otlp/bytes";
import { NUMBER_DOUBLE_TAG, NUMBER_INT_TAG } from "#otlp/metric-tags";

/** Reads the numbers in data points as doubles, the only kind of number in Prometheus. */

/** The flag of a point that says the series has no more values. */
const NO_RECORDED_VALUE = 1;

/** Whether the flags of a point say that its series has ended. */
export function hasNoRecordedValue(b: Uint8Array, p: number): boolean {
  return (varint(b, p) & NO_RECORDED_VALUE) !== 0;
}

/** A varint with its sign in the lowest bit. */
export function signedVarint(b: Uint8Array, p: number): number {
  const value = varint(b, p);
  return (value >>> 1) ^ -(value & 1);
}

export function unsignedVarint(b: Uint8Array, p: number): number {
  return Number(varint64(b, p));
}

/** Exact: dividing the nanoseconds as a double would sometimes be off by one. */
export function milliseconds(b: Uint8Array, p: number): number {
  const low = fixed32(b, p);
  const high = fixed32(b, p + 4);
  return high * 4294 + Math.floor((high * 967296 + low) / 1e6);
}

export function unsigned64(b: Uint8Array, p: number): number {
  return fixed32(b, p + 4) * 4294967296 + fixed32(b, p);
}

export function signed64(b: Uint8Array, p: number): number {
  return (fixed32(b, p + 4) | 0) * 4294967296 + fixed32(b, p);
}

/** The value of the point of a gauge or a sum in [start, end); 0 if it has none. */
export function pointNumber(b: Uint8Array, start: number, end: number): number {
  let value = 0;
  for (let p = start; p < end; ) {
    p = stepOver(b, p);
    if (fieldTag === NUMBER_DOUBLE_TAG) value = double(b, valueAt);
    else if (fieldTag === NUMBER_INT_TAG) value = signed64(b, valueAt);
  }
  return value;
}

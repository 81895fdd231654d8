/**
 * The entries of the check's table are numbers: the low bits are the action for a value, the other bits are described
 * by these masks and shifts.
 */

/** Actions for a value: the low bits of an entry. */
export const UNKNOWN = 0;
export const SKIP_VARINT = 1;
export const SKIP_FIXED64 = 2;
export const SKIP_BYTES = 3;
export const SKIP_FIXED32 = 4;
export const DESCEND = 5;
export const DESCEND_KEY_VALUE = 6;
export const DESCEND_VALUE = 7;
export const DESCEND_RECORD = 8;
export const TRACE_ID = 9;
export const SPAN_ID = 10;
export const PACKED_FIXED64 = 11;
export const PACKED_VARINT = 12;
export const WRONG_TYPE = 13;
export const REPEATED_BYTES = 14;

export const ACTION_MASK = 15;
/** Each singular field of a message has its own bit in an entry; the members of a oneof share one. */
export const SINGULAR_MASK = 0x1ffff0;
/** The number of the message in a field is in the bits from here on. */
export const MESSAGE_SHIFT = 24;

/** Entries per message: all known tags are below this. */
export const TAGS = 256;

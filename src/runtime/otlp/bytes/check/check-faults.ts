import { MalformedError } from "../../signals/malformed.js";
import type { Message } from "../messages.js";

/** The maximum nesting depth of messages. */
export const MAX_DEPTH = 200;

/**
 * Result of the check, instead of the number of records, if a singular field or a second member of a oneof was
 * repeated.
 */
export const HAS_DUPLICATES = -1;
/** Results of the check for invalid bytes. The details are at `FAULT_AT`: offset, message, and tag or size. */
export const FAULTS = {
  unfinishedVarint: -2,
  over32Bits: -3,
  over64Bits: -4,
  truncated: -5,
  tooDeep: -6,
  tooManyElements: -7,
  traceId: -8,
  spanId: -9,
  wrongType: -10,
  oddPacked: -11,
  fieldZero: -12,
  unusedType: -13,
} as const;

/** The error of both encodings' readers for a request with too many elements. */
export function tooManyElements(at: number): MalformedError {
  return new MalformedError("too many records, attributes and values for one request; send smaller ones", at);
}

/** The error for one of `FAULTS` at an offset, in a field of `message`; `detail` is a tag or a length. */
export function malformed(fault: number, message: Message, detail: number, at: number): MalformedError {
  return new MalformedError(faultMessage(fault, message.name, detail), at);
}

function faultMessage(fault: number, message: string, detail: number): string {
  switch (fault) {
    case FAULTS.unfinishedVarint:
      return "ends inside a varint";
    case FAULTS.over32Bits:
      return "tag or length over 32 bits";
    case FAULTS.over64Bits:
      return "varint over 64 bits";
    case FAULTS.truncated:
      return `a field of ${message} goes past its end`;
    case FAULTS.tooDeep:
      return `messages nested more than ${MAX_DEPTH} deep`;
    case FAULTS.traceId:
      return `a ${message} has an id of ${detail} bytes; expected a trace id of 16 bytes`;
    case FAULTS.spanId:
      return `a ${message} has an id of ${detail} bytes; expected a span id of 8 bytes`;
    case FAULTS.wrongType:
      return `wrong wire type ${detail & 7} for field ${detail >>> 3} of ${message}`;
    case FAULTS.oddPacked:
      return "packed numbers of odd length";
    case FAULTS.fieldZero:
      return "field number 0";
    default:
      return `wire type ${detail & 7}, which OTLP does not use`;
  }
}

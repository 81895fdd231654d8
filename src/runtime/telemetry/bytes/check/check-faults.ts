import { MalformedError } from "../malformed.js";
import type { Message } from "../messages.js";
import { FAULTS, MAX_DEPTH } from "./check-walk.js";

/** What a reader of either encoding says of a request that holds more than it may. */
export function tooManyElements(at: number): MalformedError {
  return new MalformedError("too many records, attributes and values for one request; send smaller ones", at);
}

/** What is wrong at an offset: one of `FAULTS`, in a field of `message`; `detail` is a tag or a length. */
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

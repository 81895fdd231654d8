import { MalformedError } from "./malformed.js";
import { type Field, isPackable, MESSAGES, type Message, REQUEST } from "./messages.js";
import type { Signal } from "./signal.js";
import {
  BOOL_VALUE_TAG,
  DOUBLE_VALUE_TAG,
  INT_VALUE_TAG,
  KEY_TAG,
  STRING_VALUE_TAG,
  TAG_LIMIT,
  VALUE_TAG,
} from "./tags.js";
import { FIXED32, FIXED64, LENGTH_DELIMITED, VARINT } from "./wire.js";

/**
 * Checks that bytes are the OTLP request they claim to be, down to the last attribute, and counts its records.
 *
 * This is the only reader that does not trust its input. Everything else works on a `Batch`, and a batch exists only
 * if its bytes passed here (or were made from bytes that did). So every length, wire type and varint is checked, and
 * messages may nest at most MAX_DEPTH deep: a value takes three levels for each map that it lies in. A trace id has 16
 * bytes and a span id 8, or none, as the Collector demands. Unknown fields are fine, whatever they hold.
 *
 * It also notices a singular field that comes again, which is allowed but must be put right: see normal-form.ts. And it counts
 * the messages, since two bytes are enough for one and whoever makes an object of each needs fifty times as much memory.
 *
 * The table is compiled into one array per message, indexed by tag, so that a field costs one load and one switch.
 * Attributes with a plain value are by far the most frequent thing in telemetry and have a short way of their own.
 */
export const MAX_DEPTH = 200;

/** What `checkRequest` answers when a singular field came again, or a second member of a choice. */
export const HAS_DUPLICATE_FIELDS = -1;

/**
 * Returns the number of records: log records, spans or data points; or `HAS_DUPLICATE_FIELDS`. Throws a `MalformedError`
 * with the offset, also for more than `maxElements` messages: records, attributes, values and whatever else is in it.
 */
export function checkRequest(signal: Signal, bytes: Uint8Array, maxElements = Number.POSITIVE_INFINITY): number {
  count = 0;
  elementsLeft = maxElements;
  hasDuplicateFields = false;
  checkMessage(bytes, 0, bytes.length, CHECK_PLANS.get(REQUEST[signal])!, MAX_DEPTH);
  return hasDuplicateFields ? HAS_DUPLICATE_FIELDS : count;
}

interface CheckPlan {
  readonly message: Message;
  /**
   * By tag: what to do with the value in the low four bits, and above them, for a singular field, a bit of its own,
   * which the members of a choice share.
   */
  readonly actions: Uint32Array;
  /** By tag: the check of a sub-message. */
  readonly children: readonly (CheckPlan | undefined)[];
  /** Each occurrence of this message is a record. */
  readonly isRecord: boolean;
}

const UNKNOWN = 0;
const SKIP_VARINT = 1;
const SKIP_FIXED64 = 2;
const SKIP_BYTES = 3;
const SKIP_FIXED32 = 4;
const DESCEND = 5;
const DESCEND_KEY_VALUE = 6;
const WRONG_TYPE = 7;
const PACKED_FIXED64 = 8;
const PACKED_VARINT = 9;
const TRACE_ID = 10;
const SPAN_ID = 11;

const ACTION_MASK = 15;

/**
 * A constant of another module is loaded at each use unless a bundler has put it in; the usual attribute is checked with
 * six of them, so they are constants of this one: unbundled that measured a tenth less for all of the check.
 */
const KEY = KEY_TAG;
const VALUE = VALUE_TAG;
const STRING_VALUE = STRING_VALUE_TAG;
const BOOL_VALUE = BOOL_VALUE_TAG;
const INT_VALUE = INT_VALUE_TAG;
const DOUBLE_VALUE = DOUBLE_VALUE_TAG;
const MAX_TAG = TAG_LIMIT - 1;

/** What one check finds out, and the position behind the varint read last: in variables, since they change per field. */
let count = 0;
let elementsLeft = 0;
let hasDuplicateFields = false;
let position = 0;

function checkMessage(b: Uint8Array, p: number, end: number, plan: CheckPlan, depth: number): void {
  if (depth === 0) throw new MalformedError(`messages nested more than ${MAX_DEPTH} deep`, p);
  if (plan.isRecord) count++;
  const { actions, children } = plan;
  let seen = 0;
  let elements = 0;
  while (p < end) {
    const at = p;
    let tag = b[p++]!;
    if (tag > 127) {
      tag = readVarint32(b, at, end);
      p = position;
    }
    const entry = tag <= MAX_TAG ? actions[tag]! : UNKNOWN;
    const action = entry & ACTION_MASK;
    if (action === DESCEND_KEY_VALUE) {
      let size = b[p++]!;
      if (size > 127 || p > end) {
        size = readVarint32(b, p - 1, end);
        p = position;
      }
      const stop = p + size;
      if (stop > end) throw truncated(plan, at);
      elements++;
      if (depth < 3 || !isPlainKeyValue(b, p, stop)) checkMessage(b, p, stop, children[tag]!, depth - 1);
      p = stop;
      continue;
    }
    if ((seen & entry) > ACTION_MASK) hasDuplicateFields = true;
    seen |= entry;
    switch (action) {
      case SKIP_VARINT:
        p = skipVarint(b, p, end);
        break;
      case SKIP_FIXED64:
        p += 8;
        if (p > end) throw truncated(plan, at);
        break;
      case SKIP_FIXED32:
        p += 4;
        if (p > end) throw truncated(plan, at);
        break;
      case SKIP_BYTES: {
        let size = b[p++]!;
        if (size > 127 || p > end) {
          size = readVarint32(b, p - 1, end);
          p = position;
        }
        p += size;
        if (p > end) throw truncated(plan, at);
        break;
      }
      case TRACE_ID:
      case SPAN_ID: {
        const size = readVarint32(b, p, end);
        p = position + size;
        if (p > end) throw truncated(plan, at);
        if (size !== 0 && size !== (action === TRACE_ID ? 16 : 8)) throw wrongId(plan, action, size, at);
        break;
      }
      case DESCEND: {
        let size = b[p++]!;
        if (size > 127 || p > end) {
          size = readVarint32(b, p - 1, end);
          p = position;
        }
        const stop = p + size;
        if (stop > end) throw truncated(plan, at);
        elements++;
        checkMessage(b, p, stop, children[tag]!, depth - 1);
        p = stop;
        break;
      }
      case PACKED_FIXED64:
      case PACKED_VARINT:
        p = checkPacked(b, p, end, action, plan, at);
        break;
      case WRONG_TYPE:
        throw new MalformedError(`wrong wire type ${tag & 7} for field ${tag >>> 3} of ${plan.message.name}`, at);
      default:
        p = skipUnknown(b, p, end, tag, plan, at);
    }
  }
  elementsLeft -= elements;
  if (elementsLeft < 0) throw tooManyElements(p);
}

/** A KeyValue that is a short key and a short string, integer, boolean or double and nothing else. */
function isPlainKeyValue(b: Uint8Array, p: number, end: number): boolean {
  if (p + 6 > end || b[p] !== KEY) return false;
  const keySize = b[p + 1]!;
  p += 2 + keySize;
  if (keySize > 127 || p + 4 > end || b[p] !== VALUE) return false;
  const valueSize = b[p + 1]!;
  if (valueSize > 127 || p + 2 + valueSize !== end) return false;
  switch (b[p + 2]) {
    case STRING_VALUE:
      return valueSize === b[p + 3]! + 2;
    case INT_VALUE:
    case BOOL_VALUE:
      return valueSize < 12 && b[end - 1]! < 128 && varintEnd(b, p + 3) === end;
    case DOUBLE_VALUE:
      return valueSize === 9;
    default:
      return false;
  }
}

/** Position behind the varint at `p`; reads past no more than the ten bytes a varint may have. */
function varintEnd(b: Uint8Array, p: number): number {
  const limit = p + 10;
  while (p < limit && b[p++]! > 127);
  return p;
}

function checkPacked(b: Uint8Array, p: number, end: number, action: number, plan: CheckPlan, at: number): number {
  const size = readVarint32(b, p, end);
  p = position;
  const stop = p + size;
  if (stop > end) throw truncated(plan, at);
  if (action === PACKED_FIXED64 && size % 8 !== 0) throw new MalformedError("packed numbers of odd length", at);
  if (action === PACKED_VARINT) while (p < stop) p = skipVarint(b, p, stop);
  return stop;
}

function skipUnknown(b: Uint8Array, p: number, end: number, tag: number, plan: CheckPlan, at: number): number {
  if (tag >>> 3 === 0) throw new MalformedError("field number 0", at);
  switch (tag & 7) {
    case VARINT:
      return skipVarint(b, p, end);
    case FIXED64:
      p += 8;
      break;
    case LENGTH_DELIMITED: {
      const size = readVarint32(b, p, end);
      p = position + size;
      break;
    }
    case FIXED32:
      p += 4;
      break;
    default:
      throw new MalformedError(`wire type ${tag & 7}, which OTLP does not use`, at);
  }
  if (p > end) throw truncated(plan, at);
  return p;
}

/** A tag or length: a varint that must fit 32 bits. The position behind it is in `position`. */
function readVarint32(b: Uint8Array, p: number, end: number): number {
  if (p + 1 < end && b[p + 1]! < 128) {
    const low = b[p]!;
    position = low < 128 ? p + 1 : p + 2;
    return low < 128 ? low : (low & 127) | (b[p + 1]! << 7);
  }
  return readLongVarint32(b, p, end);
}

function readLongVarint32(b: Uint8Array, p: number, end: number): number {
  const at = p;
  let value = 0;
  for (let shift = 0; shift < 35; shift += 7) {
    if (p >= end) throw new MalformedError("ends inside a varint", at);
    const x = b[p++]!;
    value += (x & 127) * 2 ** shift;
    if (x < 128) {
      if (value > 0xffffffff) break;
      position = p;
      return value;
    }
  }
  throw new MalformedError("tag or length over 32 bits", at);
}

function skipVarint(b: Uint8Array, p: number, end: number): number {
  const at = p;
  do {
    if (p >= end) throw new MalformedError("ends inside a varint", at);
    if (p - at === 10) throw new MalformedError("varint over 64 bits", at);
  } while (b[p++]! > 127);
  return p;
}

/** What a reader of either encoding says of a request that holds more than it may. */
export function tooManyElements(at: number): MalformedError {
  return new MalformedError("too many records, attributes and values for one request; send smaller ones", at);
}

function truncated(plan: CheckPlan, at: number): MalformedError {
  return new MalformedError(`a field of ${plan.message.name} goes past its end`, at);
}

function wrongId(plan: CheckPlan, action: number, size: number, at: number): MalformedError {
  const expected = action === TRACE_ID ? "a trace id of 16 bytes" : "a span id of 8 bytes";
  return new MalformedError(`a ${plan.message.name} has an id of ${size} bytes; expected ${expected}`, at);
}

/** What to do with one value of each wire type; a message and a list of numbers are more than that. */
const SKIP_ACTIONS: Readonly<Record<number, number>> = {
  [VARINT]: SKIP_VARINT,
  [FIXED64]: SKIP_FIXED64,
  [LENGTH_DELIMITED]: SKIP_BYTES,
  [FIXED32]: SKIP_FIXED32,
};

const CHECK_PLANS: ReadonlyMap<Message, CheckPlan> = compileCheckPlans();

function compileCheckPlans(): Map<Message, CheckPlan> {
  const plans = new Map<Message, CheckPlan & { children: (CheckPlan | undefined)[] }>();
  for (const message of Object.values(MESSAGES)) {
    plans.set(message, {
      message,
      actions: new Uint32Array(TAG_LIMIT),
      children: new Array(TAG_LIMIT).fill(undefined),
      isRecord: message.isRecord,
    });
  }
  for (const plan of plans.values()) {
    for (const field of plan.message.fields) {
      for (let wire = 0; wire < 8; wire++) plan.actions[(field.number << 3) | wire] = WRONG_TYPE;
      for (const [tag, action] of actionsOf(field)) plan.actions[tag] = action | singularBit(field, plan.message);
      if (field.message) plan.children[field.tag] = plans.get(field.message);
    }
  }
  return plans;
}

function singularBit(field: Field, message: Message): number {
  if (field.repeated) return 0;
  const { number } = field.oneof === undefined ? field : message.byName.get(field.oneof)!;
  return (ACTION_MASK + 1) << number;
}

/** Numbers in a list may come packed or one by one, whatever the writer likes. */
function actionsOf(field: Field): [tag: number, action: number][] {
  if (field.message !== undefined)
    return [[field.tag, field.message.name === "KeyValue" ? DESCEND_KEY_VALUE : DESCEND]];
  if (field.type === "id") return [[field.tag, field.idBytes === 16 ? TRACE_ID : SPAN_ID]];
  const single: [number, number] = [field.tag, SKIP_ACTIONS[field.tag & 7]!];
  if (!field.repeated || !isPackable(field)) return [single];
  const packed = (field.tag & 7) === VARINT ? PACKED_VARINT : PACKED_FIXED64;
  return [single, [(field.number << 3) | LENGTH_DELIMITED, packed]];
}

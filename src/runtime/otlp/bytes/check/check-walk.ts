import { MESSAGES } from "../messages.js";
import {
  BOOL_VALUE_TAG,
  DOUBLE_VALUE_TAG,
  INT_VALUE_TAG,
  KEY_TAG,
  STRING_VALUE_TAG,
  VALUE_TAG,
} from "../tags.generated.js";
import {
  add,
  and,
  atLeast,
  cases,
  choose,
  differ,
  equal,
  give,
  greater,
  isZero,
  jump,
  jumpIf,
  jumpTo,
  less,
  load,
  loadByte,
  loop,
  or,
  set,
  shiftLeft,
  shiftRight,
  steps,
  store,
  subtract,
  until,
  Variable,
  type WasmCode,
  wasmModule,
  when,
} from "../wasm/wasm-writer.js";
import { FIXED32, FIXED64, LENGTH_DELIMITED, VARINT } from "../wire.js";
import {
  ACTION_MASK,
  DESCEND,
  DESCEND_KEY_VALUE,
  DESCEND_RECORD,
  DESCEND_VALUE,
  MESSAGE_SHIFT,
  PACKED_FIXED64,
  PACKED_VARINT,
  REPEATED_BYTES,
  SINGULAR_MASK,
  SKIP_BYTES,
  SKIP_FIXED32,
  SKIP_FIXED64,
  SKIP_VARINT,
  SPAN_ID,
  TAGS,
  TRACE_ID,
  UNKNOWN,
  WRONG_TYPE,
} from "./check-actions.js";
import { FAULTS, HAS_DUPLICATES, MAX_DEPTH } from "./check-faults.js";

/**
 * Checks every field of a request in WebAssembly: see docs/decisions/0031-check-in-webassembly.md.
 *
 * The memory of the module (all numbers in it are 32 bits, the lowest byte first):
 *
 *     offset                 what is there                          written by     read by        valid
 *     ------------------------------------------------------------------------------------------------------------
 *        0  FAULT_AT         where a fault is: offset in the        this check     faultOf        until the next
 *                            request, message, tag or length                                      check, if it
 *                                                                                                 returned a fault
 *       12  MOST_VALUES_AT   the most values of one record          this check     checkRequest   until the next
 *                                                                                                 check, if not
 *       16                   unused
 *       64  STACK_AT         the messages around the position,      this check     this check     during a check
 *                            12 bytes for each of MAX_DEPTH:
 *                              +0  where it ends
 *                              +4  its entries in the table
 *                              +8  its singular fields seen so far
 *     4096  TABLE_AT         what to do with a field: for each      WasmSource,    this check     as long as the
 *                            message an entry for each of the       once                          memory is
 *                            TAGS tags, of 4 bytes
 *           INPUT_AT         the request, its pieces joined         checkRequest   this check     during a check
 *
 * Behind the request are bytes of larger ones before. The check reads no byte at or after the end of the current
 * message, because that byte belongs to another message or, after the last one, not to this request.
 *
 * The check is one loop with an iteration per field; the enclosing messages are on the stack. Attributes with a short
 * plain value are by far the most frequent part of telemetry and have a fast path: their tags and lengths are compared
 * four bytes at a time.
 */

const LEVEL_BYTES = 12;
/** The bytes of one message's entries. */
export const MESSAGE_BYTES = TAGS * 4;
const MESSAGE_BITS = Math.log2(MESSAGE_BYTES);
export const FAULT_AT = 0;
/** See `CheckResult.mostValues`. */
export const MOST_VALUES_AT = 12;
const STACK_AT = 64;
export const TABLE_AT = 4096;
export const INPUT_AT = TABLE_AT + Object.keys(MESSAGES).length * MESSAGE_BYTES;

const PARAMETERS = 3;
let variables = 0;
const variable = () => new Variable(variables++);

const length = variable();
/** The entries of the request's message. A message is identified by the address of its entries in the table. */
const request = variable();
const maxElements = variable();
/** The position, the end of the current message, that message, and its singular fields seen so far. */
const p = variable();
const end = variable();
const entries = variable();
const seen = variable();
/** Where the state of the enclosing message is kept. */
const level = variable();
/** The current field: its start, its tag, its table entry and its action. */
const at = variable();
const tag = variable();
const entry = variable();
const action = variable();
/** The results. */
const elements = variable();
const records = variable();
const duplicates = variable();
/** Values that are no elements: the bytes of packed numbers, and repeated strings. */
const extraValues = variable();
/** Elements and extra values before the last record, and the most between the starts of two records. */
const valuesBefore = variable();
const mostValues = variable();
/** For length-delimited values: the length and the end. */
const size = variable();
const stop = variable();
const varintAt = variable();
const shift = variable();
const word = variable();
const value = variable();
const q = variable();
const firstAt = variable();

const fail = (fault: keyof typeof FAULTS, where: Variable, detail: Variable = tag): WasmCode =>
  steps(
    store(FAULT_AT, 0, subtract(where, INPUT_AT)),
    store(FAULT_AT, 4, shiftRight(subtract(entries, TABLE_AT), MESSAGE_BITS)),
    store(FAULT_AT, 8, detail),
    give(FAULTS[fault]),
  );

/** Continues with the next field, which starts at `p`. */
const next = jump("next field");

/**
 * Reads the rest of a tag or length whose first byte is in `into` and is not the last; the value must fit into 32 bits.
 */
const readRest = (into: Variable, label: string): WasmCode =>
  steps(
    set(into, and(into, 127)),
    set(shift, 7),
    loop(
      label,
      when(atLeast(p, end), fail("unfinishedVarint", varintAt)),
      set(value, loadByte(p)),
      set(p, add(p, 1)),
      // Only four bits of the fifth byte fit, and there is no sixth.
      when(and(equal(shift, 28), greater(value, 15)), fail("over32Bits", varintAt)),
      set(into, or(into, shiftLeft(and(value, 127), shift))),
      set(shift, add(shift, 7)),
      jumpIf(label, greater(value, 127)),
    ),
  );

/** Reads the length at `p` into `size`; the value then starts at `p` and ends at `stop`, within the message. */
const readLength = (): WasmCode =>
  steps(
    set(varintAt, p),
    when(atLeast(p, end), fail("unfinishedVarint", varintAt)),
    set(size, loadByte(p)),
    set(p, add(p, 1)),
    when(greater(size, 127), readRest(size, "length")),
    when(greater(size, subtract(end, p)), fail("truncated", at)),
    set(stop, add(p, size)),
  );

/** Skips a varint of up to 64 bits that must end before `limit`. */
const skipVarint = (limit: Variable): WasmCode =>
  steps(
    set(varintAt, p),
    loop(
      "varint",
      when(atLeast(p, limit), fail("unfinishedVarint", varintAt)),
      when(equal(subtract(p, varintAt), 10), fail("over64Bits", varintAt)),
      set(value, loadByte(p)),
      set(p, add(p, 1)),
      jumpIf("varint", greater(value, 127)),
    ),
  );

const skipFixed = (bytes: number): WasmCode =>
  steps(when(greater(bytes, subtract(end, p)), fail("truncated", at)), set(p, add(p, bytes)), next);

/** Four bytes as one number, the first in the low bits. */
const fourBytes = (a: number, b: number, c: number, d: number) => a | (b << 8) | (c << 16) | (d << 24);
/** Mask for tag, length, tag, length: both tags, and that each length takes one byte. */
const SHORT_FIELDS = fourBytes(0xff, 0x80, 0xff, 0x80);
/** Mask for tag, length, tag and the first byte of a number: both tags, and that the length takes one byte. */
const SHORT_FIELD = fourBytes(0xff, 0x80, 0xff, 0);
const VALUE_OF_STRING = fourBytes(VALUE_TAG, 0, STRING_VALUE_TAG, 0);
const VALUE_OF_INT = fourBytes(VALUE_TAG, 0, INT_VALUE_TAG, 0);
const VALUE_OF_BOOL = fourBytes(VALUE_TAG, 0, BOOL_VALUE_TAG, 0);
const VALUE_OF_DOUBLE = fourBytes(VALUE_TAG, 0, DOUBLE_VALUE_TAG, 0);
/** Whether the message is too deep to contain a value with its message, or an attribute with its two. */
const isTooDeep = atLeast(level, STACK_AT + (MAX_DEPTH - 2) * LEVEL_BYTES);
const count = (what: Variable): WasmCode => set(what, add(what, 1));
const secondByte = (of: Variable) => and(shiftRight(of, 8), 127);

/**
 * Finds the end of the KeyValue at `at` if it is just a short key and a short string, integer, boolean or double; jumps
 * to `label` for any other.
 */
const findPlainKeyValueEnd = (label: string): WasmCode =>
  steps(
    jumpIf(label, less(subtract(end, at), 8)),
    set(word, load(at)),
    jumpIf(label, differ(and(word, SHORT_FIELDS), or(tag, fourBytes(0, 0, KEY_TAG, 0)))),
    set(stop, add(add(at, 2), secondByte(word))),
    jumpIf(label, greater(stop, end)),
    set(q, add(add(at, 4), shiftRight(word, 24))),
    jumpIf(label, greater(add(q, 4), stop)),
    set(word, load(q)),
    set(size, secondByte(word)),
    jumpIf(label, differ(add(add(q, 2), size), stop)),
    set(value, and(word, SHORT_FIELD)),
    until(
      "is plain",
      when(equal(value, VALUE_OF_STRING), jumpIf(label, differ(size, add(shiftRight(word, 24), 2))), jump("is plain")),
      when(
        or(equal(value, VALUE_OF_INT), equal(value, VALUE_OF_BOOL)),
        jumpIf(label, greater(size, 11)),
        set(q, add(q, 3)),
        // A varint that ends with the value: its last byte is the first without a continuation bit.
        loop(
          "number",
          when(greater(loadByte(q), 127), set(q, add(q, 1)), jumpIf("number", less(q, stop)), jump(label)),
        ),
        jumpIf(label, differ(add(q, 1), stop)),
        jump("is plain"),
      ),
      jumpIf(label, or(differ(value, VALUE_OF_DOUBLE), differ(size, 9))),
    ),
  );

/** Skips attributes while they are plain; jumps to `label` if the first one is not. */
const skipPlainKeyValues = (label: string): WasmCode =>
  steps(
    jumpIf(label, isTooDeep),
    set(firstAt, at),
    until(
      "not plain",
      loop("key and value", findPlainKeyValueEnd("not plain"), count(elements), set(at, stop), jump("key and value")),
    ),
    jumpIf(label, equal(at, firstAt)),
    set(p, at),
    next,
  );

/** Skips an AnyValue that is just a short string, as most bodies are; jumps to `label` for any other. */
const skipPlainValue = (label: string): WasmCode =>
  steps(
    jumpIf(label, or(isTooDeep, less(subtract(end, at), 8))),
    set(word, load(at)),
    jumpIf(label, differ(and(word, SHORT_FIELDS), or(tag, fourBytes(0, 0, STRING_VALUE_TAG, 0)))),
    set(size, secondByte(word)),
    jumpIf(label, differ(size, add(shiftRight(word, 24), 2))),
    set(stop, add(add(at, 2), size)),
    jumpIf(label, greater(stop, end)),
    count(elements),
    set(p, stop),
    next,
  );

/**
 * Called where a record starts, and at the end: everything since the record before is a part of that record or of the
 * owners around this one.
 */
const endRun = (): WasmCode =>
  steps(
    set(value, subtract(add(elements, extraValues), valuesBefore)),
    when(greater(value, mostValues), set(mostValues, value)),
    set(valuesBefore, add(elements, extraValues)),
  );

/** At the end of a message: continues after it in the enclosing one, or returns the results. */
const ascend: WasmCode = steps(
  when(greater(elements, maxElements), fail("tooManyElements", p)),
  when(
    equal(level, STACK_AT),
    endRun(),
    store(MOST_VALUES_AT, 0, mostValues),
    give(choose(duplicates, HAS_DUPLICATES, records)),
  ),
  set(level, subtract(level, LEVEL_BYTES)),
  set(end, load(level)),
  set(entries, load(level, 4)),
  set(seen, load(level, 8)),
  next,
);

/** The field is a message: continues inside it. */
const descend: WasmCode = steps(
  count(elements),
  readLength(),
  store(level, 0, end),
  store(level, 4, entries),
  store(level, 8, seen),
  set(level, add(level, LEVEL_BYTES)),
  set(entries, add(TABLE_AT, shiftLeft(shiftRight(entry, MESSAGE_SHIFT), MESSAGE_BITS))),
  when(equal(level, STACK_AT + MAX_DEPTH * LEVEL_BYTES), fail("tooDeep", p)),
  set(end, stop),
  set(seen, 0),
  next,
);

const skipUnknown: WasmCode = steps(
  when(isZero(shiftRight(tag, 3)), fail("fieldZero", at)),
  cases(
    jumpTo(and(tag, 7), labels({ [VARINT]: "a", [FIXED64]: "b", [LENGTH_DELIMITED]: "c", [FIXED32]: "d" }, "other", 7)),
    ["other", fail("unusedType", at)],
    ["a", steps(skipVarint(end), next)],
    ["b", skipFixed(8)],
    ["c", steps(readLength(), set(p, stop), next)],
    ["d", skipFixed(4)],
  ),
);

/** An id has all its bytes or none. */
const skipId = (bytes: number, fault: keyof typeof FAULTS): WasmCode =>
  steps(readLength(), when(and(differ(size, 0), differ(size, bytes)), fail(fault, at, size)), set(p, stop), next);

/** Skips consecutive numbers without tags. */
const skipPacked: WasmCode = steps(
  readLength(),
  set(extraValues, add(extraValues, size)),
  when(equal(action, PACKED_FIXED64), when(and(size, 7), fail("oddPacked", at)), set(p, stop), next),
  loop("numbers", when(less(p, stop), skipVarint(stop), jump("numbers"))),
  next,
);

/** The labels for the numbers from 0 to `last`. */
function labels(named: Readonly<Record<number, string>>, other: string, last: number): readonly string[] {
  return Array.from({ length: last + 1 }, (_, number) => named[number] ?? other);
}

const ACTIONS = labels(
  {
    [SKIP_VARINT]: "varint",
    [SKIP_FIXED64]: "64 bits",
    [SKIP_BYTES]: "bytes",
    [SKIP_FIXED32]: "32 bits",
    [DESCEND]: "message",
    [DESCEND_KEY_VALUE]: "key and value",
    [DESCEND_RECORD]: "record",
    [DESCEND_VALUE]: "value",
    [TRACE_ID]: "trace id",
    [SPAN_ID]: "span id",
    [PACKED_FIXED64]: "packed",
    [PACKED_VARINT]: "packed",
    [REPEATED_BYTES]: "repeated bytes",
    [WRONG_TYPE]: "wrong type",
  },
  "unknown",
  ACTION_MASK,
);

const walk: WasmCode = steps(
  set(p, INPUT_AT),
  set(end, add(length, INPUT_AT)),
  set(level, STACK_AT),
  set(entries, request),
  loop(
    "next field",
    when(equal(p, end), ascend),
    set(at, p),
    set(tag, loadByte(p)),
    set(p, add(p, 1)),
    when(greater(tag, 127), set(varintAt, at), readRest(tag, "tag")),
    set(entry, UNKNOWN),
    when(less(tag, TAGS), set(entry, load(add(entries, shiftLeft(tag, 2))))),
    set(action, and(entry, ACTION_MASK)),
    set(duplicates, or(duplicates, and(and(seen, entry), SINGULAR_MASK))),
    set(seen, or(seen, entry)),
    cases(
      steps(jumpIf("key and value", equal(action, DESCEND_KEY_VALUE)), jumpTo(action, ACTIONS)),
      ["unknown", skipUnknown],
      ["varint", steps(skipVarint(end), next)],
      ["64 bits", skipFixed(8)],
      ["32 bits", skipFixed(4)],
      ["repeated bytes", steps(count(extraValues), jump("bytes"))],
      ["bytes", steps(readLength(), set(p, stop), next)],
      ["trace id", skipId(16, "traceId")],
      ["span id", skipId(8, "spanId")],
      ["packed", skipPacked],
      ["wrong type", fail("wrongType", at)],
      ["record", steps(count(records), endRun(), jump("message"))],
      ["value", skipPlainValue("message")],
      ["key and value", skipPlainKeyValues("message")],
      ["message", descend],
    ),
  ),
);

/**
 * The check as a module: its function takes the number of bytes, the address of the request's entries and the maximum
 * number of elements.
 */
export function checkModule(): Uint8Array {
  return wasmModule(PARAMETERS, variables, walk);
}

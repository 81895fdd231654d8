import { MESSAGES, wasm } from "#otlp/bytes";
import { BOOL_VALUE_TAG, DOUBLE_VALUE_TAG, INT_VALUE_TAG, KEY_TAG, VALUE_TAG } from "#otlp/tags";
import { ATTRIBUTE, BODY, DESCEND, type RewritePlan, type RewritePlans, TEXT } from "./rewrite-plans.js";

/**
 * The walk over the fields of a batch that skips those seen to be clean before, in WebAssembly: see
 * docs/decisions/0033-clean-fields.md.
 *
 * The memory of the module (all numbers in it are 32 bits, the lowest byte first):
 *
 *     offset           what is there                            written by     read by        valid
 *     ------------------------------------------------------------------------------------------------------------
 *        0  STATE_AT   the state between two calls:             this walk      this walk,     until the batch ends;
 *                        +0  the position behind the field      and `start`    UnseenFields   `start` clears it
 *                        +4  the level of the message around it
 *                        +8  the size of the field's range; 0: it cannot be kept
 *                       +12  the start of the range
 *                       +16  the header that a slot with it has
 *                       +20  the slot for it
 *                       +24  the slot for it with any digits
 *       64  STACK_AT   the messages around the position,        this walk;     this walk,     until the batch ends
 *                      16 bytes for each of MAX_LEVELS:         the first by   UnseenFields
 *                        +0  where it ends                      `start`
 *                        +4  its entries in the table
 *                        +8  its start
 *                       +12  how many bytes its length takes
 *      320  TABLE_AT   what to do with a field: for each        WasmSource,    this walk      as long as the
 *                      message an entry for each of the TAGS    once                          memory is
 *                      tags, of 4 bytes
 *           SLOTS_AT   clean fields of this batch and those     this walk      this walk      as long as the
 *                      before, 256 bytes for each of 1024:                                    memory is, until
 *                        +0  the header: size and kind, and                                   another field
 *                            PATTERN; 0: the slot is empty                                    takes the slot
 *                        +8  the bytes of the field
 *           INPUT_AT   the batch, its chunks joined             `start`        this walk,     until the next `start`
 *                                                                              the visitor
 *
 * A new memory has empty slots: then every field is visited. The walk may read SLACK_BYTES of what is behind the batch,
 * and decides nothing by them.
 *
 * The batch was checked before, so its lengths are right. Each call continues to the next unknown field and returns its
 * position, or -1 at the end. The parameter tells whether the field before was clean. If it was, its bytes are kept in
 * a slot until another field takes that slot. A field is skipped only if it is the same byte for byte; an attribute
 * with a number may differ in the number, and a text that is clean with any digits may differ in its digits.
 */

const { Variable, add, and, atLeast, cases, differ, eightDiffer, equal, give, greater, jump, jumpIf, jumpTo } = wasm;
const { less, load, loadByte, loadEight, loop, lowerFour, multiply, or, set, shiftLeft, shiftRight, steps, store } =
  wasm;
const { storeEight, subtract, until, when, xor } = wasm;
const { addEight, andEight, eight, multiplyEight, orEight, shiftLeftEight, shiftRightEight, toEight, xorEight } = wasm;

/**
 * Whether a field is clean: nothing was changed or counted, and nothing would be for the same field anywhere else, or
 * for any other number under the same attribute key. A text may even be clean whatever its digits are.
 */
export const NOT_CLEAN = 0;
export const CLEAN = 1;
export const CLEAN_WITH_ANY_DIGITS = 2;
export type Cleanness = typeof NOT_CLEAN | typeof CLEAN | typeof CLEAN_WITH_ANY_DIGITS;

export const STATE_AT = 0;
/** Positions in the state, in units of four bytes. */
export const STATE_POSITION = 0;
export const STATE_LEVEL = 1;
const STATE_RANGE_SIZE = 2;
const RANGE_START = 12;
const RANGE_HEADER = 16;
const RANGE_SLOT = 20;
const RANGE_PATTERN_SLOT = 24;
/** A level holds the message's end, its entries in the table, its start, and the number of bytes of its length. */
export const STACK_AT = 64;
export const LEVEL_BYTES = 16;
const MAX_LEVELS = 16;
export const TABLE_AT = STACK_AT + MAX_LEVELS * LEVEL_BYTES;
const TAGS = 256;
/** Size of the entries of one message. */
export const PLAN_BYTES = TAGS * 4;
const PLAN_BITS = Math.log2(PLAN_BYTES);
const SLOTS_AT = TABLE_AT + Object.keys(MESSAGES).length * PLAN_BYTES;
/** A slot holds size and kind, in eight bytes, and then the field. */
const SLOT_BITS = 8;
const SLOT_COUNT_BITS = 10;
const SLOT_HEADER = 8;
/** Marks the header of a field that is kept for all fields that differ from it only in their digits. */
const PATTERN = 1 << 15;
/** Shorter and longer fields are not kept. */
const MIN_RANGE = 8;
const MAX_RANGE = 2 ** SLOT_BITS - SLOT_HEADER;
export const INPUT_AT = SLOTS_AT + 2 ** (SLOT_BITS + SLOT_COUNT_BITS);
/** The walk may read this many bytes beyond the batch. */
export const SLACK_BYTES = 16;

/**
 * The action for a field is in the low bits of an entry. The number of the plan inside, or the kind of field, is above
 * them.
 */
const ACTIONS = ["varint", "64 bits", "bytes", "32 bits", "message", "attribute", "field"] as const;
const ACTION_BITS = 3;
const actionOf = (name: (typeof ACTIONS)[number]) => ACTIONS.indexOf(name);
/** Actions that skip a field, by wire type. A checked batch has no other wire types. */
const SKIPS = [actionOf("varint"), actionOf("64 bits"), actionOf("bytes"), 0, 0, actionOf("32 bits"), 0, 0];

/**
 * Returns the plans as numbers, one for each tag of each message. A tag beyond the table counts as field 0 with the
 * same wire type.
 */
export function unseenTable(plans: RewritePlans): Uint32Array {
  const table = new Uint32Array(plans.size * TAGS);
  const kinds = new Map<string, number>();
  const kindOf = (name: string) => {
    if (!kinds.has(name)) kinds.set(name, kinds.size + 1);
    return kinds.get(name)! << ACTION_BITS;
  };
  for (const plan of plans.values())
    for (let tag = 0; tag < TAGS; tag++) table[plan.number * TAGS + tag] = entryOf(plan, tag, kindOf);
  return table;
}

function entryOf(plan: RewritePlan, tag: number, kindOf: (name: string) => number): number {
  switch (plan.actions[tag]) {
    case DESCEND:
      return actionOf("message") | (plan.children[tag]!.number << ACTION_BITS);
    case ATTRIBUTE:
      return actionOf("attribute") | kindOf("attribute");
    case BODY:
      return actionOf("field") | kindOf("body");
    case TEXT:
      return actionOf("field") | kindOf(plan.texts[tag]!);
    default:
      return SKIPS[tag & 7]!;
  }
}

let variables = 0;
const variable = () => new Variable(variables++);

/** The parameter: the cleanness of the last field. */
const cleanness = variable();
/** The position, the end of the message around it, and that message's level. */
const p = variable();
const end = variable();
const level = variable();
const entries = variable();
/** The field: its start, its tag, its entry in the table, and the action. */
const at = variable();
const tag = variable();
const entry = variable();
const action = variable();
/** For fields with a length: the position of the length, the length, and start and end of the body. */
const lengthAt = variable();
const size = variable();
const start = variable();
const stop = variable();
/** The compared range: its end, its size together with the kind of field, and its slot. */
const rangeEnd = variable();
const header = variable();
const slot = variable();
/** The slot for fields that differ in their digits, and how many bytes at the start of the range must be the same. */
const patternSlot = variable();
const fixed = variable();
const shift = variable();
const value = variable();
const q = variable();

const next = jump("next field");

/** Reads the rest of a tag or length whose first byte is in `into` and has its continuation bit set. */
const readRest = (into: wasm.Variable, label: string): wasm.WasmCode =>
  steps(
    set(into, and(into, 127)),
    set(shift, 7),
    loop(
      label,
      set(value, loadByte(p)),
      set(p, add(p, 1)),
      set(into, or(into, shiftLeft(and(value, 127), shift))),
      set(shift, add(shift, 7)),
      jumpIf(label, greater(value, 127)),
    ),
  );

/** Reads the length at `p`. The body is then from `start` to `stop`. */
const readLength: wasm.WasmCode = steps(
  set(lengthAt, p),
  set(size, loadByte(p)),
  set(p, add(p, 1)),
  when(greater(size, 127), readRest(size, "length")),
  set(start, p),
  set(stop, add(p, size)),
);

/** Keeps the bytes of the last field in its slot. */
const remember: wasm.WasmCode = steps(
  set(slot, load(STATE_AT, RANGE_SLOT)),
  set(header, load(STATE_AT, RANGE_HEADER)),
  when(
    equal(cleanness, CLEAN_WITH_ANY_DIGITS),
    set(slot, load(STATE_AT, RANGE_PATTERN_SLOT)),
    set(header, or(header, PATTERN)),
  ),
  set(start, load(STATE_AT, RANGE_START)),
  set(size, load(STATE_AT, STATE_RANGE_SIZE * 4)),
  store(slot, 0, header),
  set(q, 0),
  loop(
    "keep",
    when(
      less(q, size),
      storeEight(add(slot, q), SLOT_HEADER, loadEight(add(start, q))),
      set(q, add(q, 8)),
      jump("keep"),
    ),
  ),
);

/** Ends the function: the field at `at` must be visited. If `rangeSize` is 0, the field cannot be kept. */
const show = (rangeSize: wasm.Variable | number): wasm.WasmCode =>
  steps(
    store(STATE_AT, STATE_POSITION * 4, stop),
    store(STATE_AT, STATE_LEVEL * 4, level),
    store(STATE_AT, STATE_RANGE_SIZE * 4, rangeSize),
    store(STATE_AT, RANGE_START, start),
    store(STATE_AT, RANGE_HEADER, header),
    store(STATE_AT, RANGE_SLOT, slot),
    store(STATE_AT, RANGE_PATTERN_SLOT, patternSlot),
    give(subtract(at, INPUT_AT)),
  );

/** The tag and length of a body. Digits in its first bytes count as part of them. */
const FIELD_START = 8;

/** Masks four bytes that are read as one number: tag, length, tag of the value, and one byte that does not matter. */
const VALUE_FIELDS = 0xff | (0x80 << 8) | (0xff << 16);
const numberWith = (valueTag: number) => VALUE_TAG | (valueTag << 16);

/**
 * For a key with nothing but a number, only the bytes before the number are compared. For a key with a text, the digits
 * of the text may differ, but not those of the key, nor lengths.
 */
const leaveNumberOut: wasm.WasmCode = until(
  "no number",
  set(fixed, MAX_RANGE + 8),
  jumpIf("no number", differ(loadByte(start), KEY_TAG)),
  set(q, add(add(start, 2), loadByte(start, 1))),
  jumpIf("no number", greater(add(q, 3), stop)),
  jumpIf("no number", greater(loadByte(start, 1), 127)),
  set(fixed, add(subtract(q, start), wasm.choose(greater(loadByte(q, 1), 127), 8, 4))),
  set(value, load(q)),
  jumpIf("no number", differ(add(add(q, 2), and(shiftRight(value, 8), 127)), stop)),
  set(value, and(value, VALUE_FIELDS)),
  when(
    or(
      or(equal(value, numberWith(INT_VALUE_TAG)), equal(value, numberWith(BOOL_VALUE_TAG))),
      equal(value, numberWith(DOUBLE_VALUE_TAG)),
    ),
    set(rangeEnd, add(q, 3)),
  ),
);

const EACH_BYTE = 0x01_01_01_01_01_01_01_01n;

/**
 * The eight bytes at an address with 0 for each digit, except for digits in the first `shift` bits. A byte is a digit if
 * it is at most nine after the exclusive or with 0: then the sum does not reach the highest bit.
 */
const withoutDigits = (bytes: wasm.WasmCode): wasm.WasmCode => {
  const values = xorEight(bytes, eight(0x30n * EACH_BYTE));
  const sums = addEight(andEight(values, eight(0x7fn * EACH_BYTE)), eight(0x76n * EACH_BYTE));
  const highest = eight(0x80n * EACH_BYTE);
  const digits = xorEight(andEight(orEight(sums, values), highest), highest);
  const lowHalves = multiplyEight(shiftRightEight(digits, eight(7n)), eight(15n));
  const cleared = andEight(lowHalves, shiftLeftEight(eight(-1n), toEight(shift)));
  return andEight(bytes, xorEight(cleared, eight(-1n)));
};

/**
 * Multiplies some of the bytes, the size and the kind by odd numbers. The highest bits of the sum spread the fields
 * well enough.
 */
const findSlot: wasm.WasmCode = steps(
  set(value, multiply(xor(load(start, 2), header), 0x9e3779b1)),
  set(value, add(value, multiply(load(subtract(rangeEnd, 4)), 0x85ebca77))),
  set(value, add(value, multiply(load(subtract(rangeEnd, 8)), 0xc2b2ae3d))),
  set(value, add(value, multiply(load(subtract(add(start, shiftRight(size, 1)), 2)), 0x27d4eb2f))),
  set(slot, add(SLOTS_AT, shiftLeft(shiftRight(value, 32 - SLOT_COUNT_BITS), SLOT_BITS))),
);

/** The same with 0 for each digit. */
const findPatternSlot: wasm.WasmCode = steps(
  set(shift, 0),
  set(value, multiply(header, 0x9e3779b1)),
  set(value, add(value, multiply(lowerFour(withoutDigits(loadEight(start))), 0x85ebca77))),
  set(value, add(value, multiply(lowerFour(withoutDigits(loadEight(subtract(rangeEnd, 8)))), 0xc2b2ae3d))),
  set(
    value,
    add(value, multiply(lowerFour(withoutDigits(loadEight(subtract(add(start, shiftRight(size, 1)), 4)))), 0x27d4eb2f)),
  ),
  set(patternSlot, add(SLOTS_AT, shiftLeft(shiftRight(value, 32 - SLOT_COUNT_BITS), SLOT_BITS))),
);

/** The next eight bytes towards the start. The last round compares the first eight, some perhaps for the second time. */
const nextRound = (label: string): wasm.WasmCode =>
  when(q, set(q, wasm.choose(less(q, 8), 0, subtract(q, 8))), jump(label));

const skip: wasm.WasmCode = steps(set(p, stop), next);

/** Skips the field from `start` to `stop` if an equal one is kept, or one that differs in digits that do not matter. */
const compare: wasm.WasmCode = steps(
  set(size, subtract(rangeEnd, start)),
  when(greater(subtract(size, MIN_RANGE), MAX_RANGE - MIN_RANGE), show(0)),
  set(header, or(size, shiftLeft(shiftRight(entry, ACTION_BITS), 16))),
  findSlot,
  until(
    "no copy",
    jumpIf("no copy", differ(load(slot), header)),
    set(q, subtract(size, 8)),
    loop(
      "same",
      jumpIf("no copy", eightDiffer(loadEight(add(start, q)), loadEight(add(slot, q), SLOT_HEADER))),
      nextRound("same"),
    ),
    skip,
  ),
  findPatternSlot,
  until(
    "no pattern",
    jumpIf("no pattern", differ(load(patternSlot), or(header, PATTERN))),
    set(q, subtract(size, 8)),
    loop(
      "alike",
      set(shift, wasm.choose(less(q, fixed), shiftLeft(subtract(fixed, q), 3), 0)),
      when(
        atLeast(shift, 64),
        jumpIf("no pattern", eightDiffer(loadEight(add(start, q)), loadEight(add(patternSlot, q), SLOT_HEADER))),
      ),
      when(
        less(shift, 64),
        jumpIf(
          "no pattern",
          eightDiffer(
            withoutDigits(loadEight(add(start, q))),
            withoutDigits(loadEight(add(patternSlot, q), SLOT_HEADER)),
          ),
        ),
      ),
      nextRound("alike"),
    ),
    skip,
  ),
  show(size),
);

const descend: wasm.WasmCode = steps(
  readLength,
  set(level, add(level, LEVEL_BYTES)),
  set(entries, add(TABLE_AT, shiftLeft(shiftRight(entry, ACTION_BITS), PLAN_BITS))),
  set(end, stop),
  store(level, 0, end),
  store(level, 4, entries),
  store(level, 8, start),
  store(level, 12, subtract(start, lengthAt)),
  next,
);

const ascend: wasm.WasmCode = steps(
  when(equal(level, STACK_AT), give(-1)),
  set(level, subtract(level, LEVEL_BYTES)),
  set(end, load(level)),
  set(entries, load(level, 4)),
  next,
);

const walk: wasm.WasmCode = steps(
  when(cleanness, when(load(STATE_AT, STATE_RANGE_SIZE * 4), remember)),
  set(p, load(STATE_AT, STATE_POSITION * 4)),
  set(level, load(STATE_AT, STATE_LEVEL * 4)),
  set(end, load(level)),
  set(entries, load(level, 4)),
  loop(
    "next field",
    when(atLeast(p, end), ascend),
    set(at, p),
    set(tag, loadByte(p)),
    set(p, add(p, 1)),
    when(greater(tag, 127), readRest(tag, "tag"), when(atLeast(tag, TAGS), set(tag, and(tag, 7)))),
    set(entry, load(add(entries, shiftLeft(tag, 2)))),
    set(action, and(entry, 2 ** ACTION_BITS - 1)),
    cases(
      steps(jumpIf("attribute", equal(action, actionOf("attribute"))), jumpTo(action, ACTIONS)),
      [
        "varint",
        steps(loop("more", set(value, loadByte(p)), set(p, add(p, 1)), jumpIf("more", greater(value, 127))), next),
      ],
      ["64 bits", steps(set(p, add(p, 8)), next)],
      ["32 bits", steps(set(p, add(p, 4)), next)],
      ["bytes", steps(readLength, set(p, stop), next)],
      ["message", descend],
      ["field", steps(readLength, set(rangeEnd, stop), set(fixed, FIELD_START), compare)],
      ["attribute", steps(readLength, set(rangeEnd, stop), leaveNumberOut, compare)],
    ),
  ),
);

/** Returns the walk as a module. Its function takes what the visitor said about the last field. */
export function unseenModule(): Uint8Array {
  return wasm.wasmModule(1, variables, walk);
}

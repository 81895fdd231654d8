import { wasm } from "#otlp/bytes";
import { RESOURCE_CONTAINER_TAG, SCOPE_CONTAINER_TAG, SCOPE_ITEM_TAG } from "#otlp/tags";

/**
 * A walk in WebAssembly over the records of a batch of logs or traces that writes the records that are kept. The
 * decision about a record is passed in as code. See docs/decisions/0037-sampling-in-webassembly.md.
 *
 * The batch lies in the module's memory from `INPUT_AT` on. It was checked before, so its lengths are right. The output
 * is written after it. Each call continues to the next record that the code does not decide about, and returns the
 * start of its fields, or -1 at the end. The caller decides about that record and, to keep it, writes it at the end of
 * the output. The parameter of the next call tells that decision.
 */

const { Variable, add, and, atLeast, cases, differ, equal, give, greater, isZero, jump, jumpIf, jumpTo, less } = wasm;
const { load, loadByte, loadEight, loop, move, or, set, shiftLeft, shiftRight, steps, store, storeByte } = wasm;
const { storeEight, subtract, until, when } = wasm;

/** Values of the parameter: the decision about the record that the last call returned. */
export const NONE_BEFORE = 0;
export const WAS_KEPT = 1;
export const WAS_DROPPED = 2;

/**
 * Layout of the memory: the state between two calls, counts, the messages around the position, the table, the batch,
 * the output.
 */
const STATE_AT = 0;
/** Offsets within the state. The record is the one that the function returned, from its tag on. */
export const STATE = { position: 0, out: 4, level: 8, kept: 12, lost: 16, recordAt: 20, recordEnd: 24 } as const;
/** Number of records for each kind of decision; see policies.ts. */
export const COUNTS_AT = 64;
/**
 * Offsets within a level: the message's end, the tag to look for in it, its start, the number of bytes of its length,
 * the positions of its tag and start in the output, and the records kept and lost so far in the message around it.
 */
export const LEVELS_AT = 128;
export const LEVEL = {
  end: 0,
  tag: 4,
  start: 8,
  lengthRoom: 12,
  outTag: 16,
  outStart: 20,
  kept: 24,
  lost: 28,
} as const;
export const LEVEL_BYTES = 32;
export const LEVEL_TAGS = [RESOURCE_CONTAINER_TAG, SCOPE_CONTAINER_TAG, SCOPE_ITEM_TAG] as const;
const RECORDS_LEVEL = LEVELS_AT + (LEVEL_TAGS.length - 1) * LEVEL_BYTES;
export const TABLE_AT = 256;
/** Memory of the code that decides. */
export const TABLE_BYTES = 1024;
export const FOREIGN_STATE_TABLE_AT: number = TABLE_AT + 768;
export const INPUT_AT = TABLE_AT + TABLE_BYTES;
/** The walk may read this many bytes beyond the batch, and write this many beyond the output. */
export const SLACK_BYTES = 32;

let variables = 0;
/**
 * Declares a variable of the function, for the walk or the deciding code. All are declared before the first module is
 * written.
 */
export const variable = (): wasm.Variable => new Variable(variables++);

/** The parameter. */
const before = variable();
/** The position, the message around it, the end of that message, and the records kept and lost in it. */
export const p = variable();
const level = variable();
const end = variable();
export const kept = variable();
export const lost = variable();
/** The end of the output. */
export const out = variable();
/**
 * The field: its start and its tag; if it has a length, also the position of the length, the length, and start and end
 * of the body.
 */
export const at = variable();
export const tag = variable();
const lengthAt = variable();
export const size = variable();
export const start = variable();
export const stop = variable();
/** The record, from its tag on, and its fields. */
const recordAt = variable();
export const recordStart = variable();
export const recordEnd = variable();
export const value = variable();
const shift = variable();
export const q = variable();

/** Continues after the record or field. */
export const next: wasm.WasmCode = jump("next field");
export const addTo = (to: wasm.Variable, what: number | wasm.Variable | wasm.WasmCode): wasm.WasmCode =>
  set(to, add(to, what));

/** Reads the rest of a tag or length whose first byte is in `into` and has its continuation bit set. */
const readRest = (into: wasm.Variable, label: string): wasm.WasmCode =>
  steps(
    set(into, and(into, 127)),
    set(shift, 7),
    loop(
      label,
      set(value, loadByte(p)),
      addTo(p, 1),
      set(into, or(into, shiftLeft(and(value, 127), shift))),
      addTo(shift, 7),
      jumpIf(label, greater(value, 127)),
    ),
  );

export const readTag: wasm.WasmCode = steps(
  set(at, p),
  set(tag, loadByte(p)),
  addTo(p, 1),
  when(greater(tag, 127), readRest(tag, "tag")),
);

/** Reads the length at `p`. The body is then from `start`, which equals `p`, to `stop`. */
export const readLength: wasm.WasmCode = steps(
  set(lengthAt, p),
  set(size, loadByte(p)),
  addTo(p, 1),
  when(greater(size, 127), readRest(size, "length")),
  set(start, p),
  set(stop, add(p, size)),
);

/** Skips the value of the field, and then runs `then`. */
export const skipValue = (then: wasm.WasmCode): wasm.WasmCode =>
  cases(
    jumpTo(and(tag, 7), ["varint", "64 bits", "bytes", "32 bits"]),
    ["varint", steps(loop("more", set(value, loadByte(p)), addTo(p, 1), jumpIf("more", greater(value, 127))), then)],
    ["64 bits", steps(addTo(p, 8), then)],
    ["bytes", steps(readLength, set(p, stop), then)],
    ["32 bits", steps(addTo(p, 4), then)],
  );

/** Writes the number in `size` as a varint at `to`, and moves `to` after it. */
export const putSize = (to: wasm.Variable): wasm.WasmCode =>
  steps(
    until(
      "last byte",
      loop(
        "bytes",
        jumpIf("last byte", less(size, 128)),
        storeByte(to, 0, or(size, 128)),
        set(size, shiftRight(size, 7)),
        addTo(to, 1),
        jump("bytes"),
      ),
    ),
    storeByte(to, 0, size),
    addTo(to, 1),
  );

/** Copies from `from` to `to`. Changes `from`, and may write a few bytes more than needed at first. */
export const copy = (from: wasm.Variable, to: wasm.Variable): wasm.WasmCode =>
  steps(
    loop(
      "copy",
      ...[0, 8, 16, 24].map((offset) => storeEight(out, offset, loadEight(from, offset))),
      addTo(from, 32),
      addTo(out, 32),
      jumpIf("copy", less(from, to)),
    ),
    set(out, subtract(out, subtract(from, to))),
  );

/** Enters a message around records. */
const descend: wasm.WasmCode = steps(
  addTo(level, LEVEL_BYTES),
  store(level, LEVEL.end, stop),
  store(level, LEVEL.start, start),
  store(level, LEVEL.lengthRoom, subtract(start, lengthAt)),
  store(level, LEVEL.outTag, out),
  storeByte(out, 0, tag),
  storeEight(out, 1, loadEight(lengthAt)),
  addTo(out, add(1, subtract(start, lengthAt))),
  store(level, LEVEL.outStart, out),
  store(level, LEVEL.kept, kept),
  store(level, LEVEL.lost, lost),
  set(kept, 0),
  set(lost, 0),
  set(end, stop),
  next,
);

/** Corrects the length in the output of the message that ends here, if it has changed. */
const fixLength: wasm.WasmCode = steps(
  set(start, load(level, LEVEL.outStart)),
  set(size, subtract(out, start)),
  when(
    differ(size, subtract(end, load(level, LEVEL.start))),
    set(q, subtract(start, load(level, LEVEL.lengthRoom))),
    set(
      value,
      add(add(atLeast(size, 0x80), atLeast(size, 0x4000)), add(atLeast(size, 0x200000), atLeast(size, 0x10000000))),
    ),
    set(value, add(add(q, 1), value)),
    when(differ(value, start), move(value, start, size), addTo(out, subtract(value, start))),
    putSize(q),
  ),
);

/** Leaves a message and continues after it in the one around it. A message that has lost all its records is dropped. */
const ascend: wasm.WasmCode = steps(
  store(STATE_AT, STATE.out, out),
  when(equal(level, LEVELS_AT), give(-1)),
  until(
    "closed",
    when(
      and(isZero(kept), differ(lost, 0)),
      set(out, load(level, LEVEL.outTag)),
      set(kept, load(level, LEVEL.kept)),
      set(lost, add(load(level, LEVEL.lost), 1)),
      jump("closed"),
    ),
    fixLength,
    set(kept, add(load(level, LEVEL.kept), 1)),
    set(lost, load(level, LEVEL.lost)),
  ),
  set(level, subtract(level, LEVEL_BYTES)),
  set(end, load(level, LEVEL.end)),
  next,
);

/**
 * Returns the walk as a module. Its function takes the decision about the record that it returned last. `decide` finds
 * the record between `recordStart` and `recordEnd`, with `p` at its first field. After a decision it counts the record
 * as kept or lost and runs `next`; if it cannot decide, it jumps to "give".
 */
export function rewritingWalkModule(decide: wasm.WasmCode): Uint8Array {
  return wasm.wasmModule(1, variables, walk(decide));
}

const walk = (decide: wasm.WasmCode): wasm.WasmCode =>
  steps(
    set(p, load(STATE_AT, STATE.position)),
    set(out, load(STATE_AT, STATE.out)),
    set(level, load(STATE_AT, STATE.level)),
    set(kept, add(load(STATE_AT, STATE.kept), equal(before, WAS_KEPT))),
    set(lost, add(load(STATE_AT, STATE.lost), equal(before, WAS_DROPPED))),
    set(end, load(level, LEVEL.end)),
    loop(
      "next field",
      when(atLeast(p, end), ascend),
      readTag,
      cases(
        steps(
          jumpIf("beside records", differ(tag, load(level, LEVEL.tag))),
          readLength,
          jumpIf("record", equal(level, RECORDS_LEVEL)),
        ),
        ["message", descend],
        ["record", record(decide)],
        ["beside records", skipValue(steps(copy(at, p), next))],
      ),
    ),
  );

/**
 * Runs `decide` for the record at `at`, whose fields are from `start` to `stop`, or returns the record to the caller.
 */
const record = (decide: wasm.WasmCode): wasm.WasmCode =>
  steps(
    set(recordAt, at),
    set(recordStart, start),
    set(recordEnd, stop),
    until("give", decide),
    store(STATE_AT, STATE.position, recordEnd),
    store(STATE_AT, STATE.out, out),
    store(STATE_AT, STATE.level, level),
    store(STATE_AT, STATE.kept, kept),
    store(STATE_AT, STATE.lost, lost),
    store(STATE_AT, STATE.recordAt, recordAt),
    store(STATE_AT, STATE.recordEnd, recordEnd),
    give(recordStart),
  );

import { wasm } from "#otlp/bytes";
import { KEY_TAG, STRING_VALUE_TAG, VALUE_TAG } from "#otlp/tags";
import type { Bits56 } from "../bits56.js";
import type { ScanShape } from "../record-scan.js";
import type { RecordStamp } from "../record-stamp.js";
import { findForeignState, stateAt } from "./foreign-state.js";
import { ATTRIBUTE, countIndex, MISSING, PRIORITY, TRACE_ID_HASH, TRACE_ID_W3C } from "./policies.js";
import { HASH_BUCKETS } from "./randomness.js";
import {
  addTo,
  COUNTS_AT,
  kept,
  lost,
  next,
  p,
  q,
  readLength,
  readTag,
  recordEnd,
  size,
  skipValue,
  start,
  stop,
  tag,
  value,
  variable,
} from "./rewriting-walk.js";
import { high, keepRecord, low, MISSING_STAMP_AT, STAMP_AT } from "./stamp-record.js";

/**
 * The code that the walk of rewriting-walk.ts runs for plain records: it decides about them, and stamps those that are
 * kept. The code is generated for one sampler, with its keys, tags, seed and threshold as constants.
 */

const { add, and, atLeast, cases, differ, equal, greater, isZero, jump, jumpIf, less, load, loadByte, loadTwo } = wasm;
const { loop, multiply, or, set, shiftLeft, shiftRight, steps, store, subtract, until, when, xor } = wasm;

export interface PlainSettings {
  readonly shape: ScanShape;
  /**
   * A record with an attribute of these keys is not plain. Neither is a record with a tracestate, unless only other
   * vendors wrote it.
   */
  readonly signs: readonly Uint8Array[];
  /** The initial hash; undefined if the bits of the trace id itself are the randomness. */
  readonly seedHash: number | undefined;
  readonly fromTraceId: boolean;
  /** The key of the attribute whose text is hashed if the trace id is not. */
  readonly source: Uint8Array | undefined;
  /** Undefined if nothing is kept. */
  readonly threshold: Bits56 | undefined;
  readonly stamp: RecordStamp;
  /** The stamp for records without a source of randomness; undefined if they are dropped. */
  readonly missingStamp: RecordStamp | undefined;
}

/** Longer keys have lengths of several bytes, which the code does not compare. */
export const MAX_KEY_BYTES = 127;

/**
 * The position of the trace id in the record, and of the attribute to hash, from its key's tag to its end; 0 if
 * missing.
 */
const traceAt = variable();
const sourceAt = variable();
const sourceEnd = variable();
/** The position of the counter for this kind of decision. */
const counter = variable();
const hash = variable();

/** Runs `then` if the attribute's key is this one. The key begins after `start` and has a length of one byte. */
const whenKey = (key: Uint8Array, then: wasm.WasmCode): wasm.WasmCode => {
  const bytes = Buffer.from(key);
  const words = [];
  for (let i = 0; i + 4 <= key.length; i += 4) words.push(differ(load(start, 2 + i), bytes.readInt32LE(i)));
  for (let i = key.length & ~3; i < key.length; i++) words.push(differ(loadByte(start, 2 + i), bytes[i]!));
  return until(
    "other key",
    jumpIf("other key", differ(loadByte(start, 1), key.length)),
    ...words.map((isOther) => jumpIf("other key", isOther)),
    then,
  );
};

/**
 * Masks the first two bytes of an attribute: the tag of the key, and the bit that is clear if its length takes one
 * byte.
 */
const SHORT_KEY = 0xff | (0x80 << 8);

/**
 * Walks over the fields of the record. Jumps to "decide" at the end, and to "give" as soon as the record is not plain.
 */
const scanFields = ({ shape, signs, source }: PlainSettings): wasm.WasmCode => {
  const nextField = jump("field");
  const rememberFirst = when(isZero(sourceAt), set(sourceAt, start), set(sourceEnd, stop));
  return steps(
    set(traceAt, 0),
    set(sourceAt, 0),
    set(stateAt, 0),
    loop(
      "field",
      jumpIf("decide", atLeast(p, recordEnd)),
      readTag,
      when(
        equal(tag, shape.attributes),
        readLength,
        set(p, stop),
        jumpIf("give", or(less(size, 2), differ(and(loadTwo(start), SHORT_KEY), KEY_TAG))),
        ...signs.map((key) => whenKey(key, jump("give"))),
        ...(source === undefined ? [] : [whenKey(source, rememberFirst)]),
        nextField,
      ),
      when(
        equal(tag, shape.traceId),
        readLength,
        set(p, stop),
        when(
          and(equal(size, 16), differ(or(or(load(start), load(start, 4)), or(load(start, 8), load(start, 12))), 0)),
          set(traceAt, start),
        ),
        nextField,
      ),
      shape.traceState === 0
        ? steps()
        : when(equal(tag, shape.traceState), readLength, set(p, stop), findForeignState, nextField),
      skipValue(nextField),
    ),
  );
};

const countedAs = (policy: number): wasm.WasmCode => set(counter, COUNTS_AT + 4 * countIndex(policy, false));
const count = (sampled: boolean): wasm.WasmCode => {
  const offset = 4 * (countIndex(0, sampled) - countIndex(0, false));
  return store(counter, offset, add(load(counter, offset), 1));
};

/** Reads the last 56 bits of a trace id. */
const readTraceBits: wasm.WasmCode = steps(
  set(value, loadByte(traceAt, 12)),
  set(high, or(shiftLeft(loadByte(traceAt, 9), 20), shiftLeft(loadByte(traceAt, 10), 12))),
  set(high, or(high, or(shiftLeft(loadByte(traceAt, 11), 4), shiftRight(value, 4)))),
  set(low, or(shiftLeft(and(value, 15), 24), shiftLeft(loadByte(traceAt, 13), 16))),
  set(low, or(low, or(shiftLeft(loadByte(traceAt, 14), 8), loadByte(traceAt, 15)))),
);

/** Computes what `hashRandomnessInto` does, for the bytes from `q` to `stop`. There must be at least one. */
const hashBytes = (seedHash: number): wasm.WasmCode =>
  steps(
    set(hash, seedHash),
    loop("hash", set(hash, multiply(xor(hash, loadByte(q)), FNV_PRIME)), addTo(q, 1), jumpIf("hash", less(q, stop))),
    set(low, and(hash, HASH_BUCKETS - 1)),
    set(value, shiftRight(hash, 18)),
    set(value, xor(value, shiftLeft(value, 10))),
    set(high, or(shiftLeft(subtract(HASH_BUCKETS - 1, low), 14), shiftRight(value, 14))),
    set(low, or(low, shiftLeft(and(value, 0x3fff), 14))),
  );
const FNV_PRIME = 0x01000193;

/** Two tags as they appear in four bytes: tag, length, tag, length. */
const SHORT_TEXT = VALUE_TAG | (STRING_VALUE_TAG << 16);
const SHORT_FIELDS = 0xff | (0x80 << 8) | (0xff << 16) | (0x80 << 24);

/** Finds the text of the attribute. Jumps to "give" unless its value is a short text that is not empty. */
const findSourceText = (source: Uint8Array): wasm.WasmCode =>
  steps(
    set(q, add(sourceAt, 2 + source.length)),
    set(value, load(q)),
    jumpIf("give", differ(and(value, SHORT_FIELDS), SHORT_TEXT)),
    set(size, shiftRight(value, 24)),
    jumpIf("give", isZero(size)),
    jumpIf("give", differ(and(shiftRight(value, 8), 127), add(size, 2))),
    addTo(q, 4),
    set(stop, add(q, size)),
    jumpIf("give", differ(stop, sourceEnd)),
  );

/** Finds the randomness. Jumps to "compare", to "missing" if there is none, or to "drop". */
const findRandomness = (settings: PlainSettings): wasm.WasmCode => {
  const { seedHash, fromTraceId, source, threshold } = settings;
  if (threshold === undefined) return steps(countedAs(PRIORITY), jump("drop"));
  if (seedHash === undefined)
    return steps(jumpIf("missing", isZero(traceAt)), countedAs(TRACE_ID_W3C), readTraceBits, jump("compare"));
  const hashTraceId = steps(set(q, traceAt), set(stop, add(q, 16)), countedAs(TRACE_ID_HASH));
  const hashSource = (key: Uint8Array) => when(sourceAt, findSourceText(key), countedAs(ATTRIBUTE), jump("hash it"));
  return steps(
    until(
      "hash it",
      ...(fromTraceId ? [when(traceAt, hashTraceId, jump("hash it"))] : []),
      ...(source === undefined ? [] : [hashSource(source)]),
      jump("missing"),
    ),
    hashBytes(seedHash),
    jump("compare"),
  );
};

/** Whether the threshold keeps the randomness. */
const isKept = ({ threshold }: PlainSettings) =>
  threshold === undefined
    ? 0
    : or(greater(high, threshold.high), and(equal(high, threshold.high), atLeast(low, threshold.low)));

const keep = (stampAt: number, stamp: RecordStamp, { shape }: PlainSettings): wasm.WasmCode =>
  steps(count(true), addTo(kept, 1), keepRecord(stampAt, stamp, shape.traceState));

/** Returns code that decides about a plain record, and leaves any other record to the caller. */
export function decidePlain(settings: PlainSettings): wasm.WasmCode {
  const { stamp, missingStamp } = settings;
  const keepMissing = missingStamp === undefined ? jump("drop") : keep(MISSING_STAMP_AT, missingStamp, settings);
  return cases(
    scanFields(settings),
    ["decide", findRandomness(settings)],
    ["compare", steps(jumpIf("keep", isKept(settings)), jump("drop"))],
    ["missing", steps(countedAs(MISSING), keepMissing)],
    ["keep", keep(STAMP_AT, stamp, settings)],
    ["drop", steps(count(false), addTo(lost, 1), next)],
  );
}

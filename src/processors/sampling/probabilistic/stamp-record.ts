import { wasm } from "#otlp/bytes";
import { SCOPE_ITEM_TAG } from "#otlp/tags";
import type { RecordStamp } from "../record-stamp.js";
import { foreignStateTable, stateAt, stateEnd, stateStart } from "./foreign-state.js";
import {
  addTo,
  copy,
  FOREIGN_STATE_TABLE_AT,
  next,
  out,
  putSize,
  q,
  recordEnd,
  recordStart,
  size,
  TABLE_AT,
  TABLE_BYTES,
  variable,
} from "./rewriting-walk.js";

/** Writes plain records with their stamps. */

const { add, and, atLeast, loadEight, loadTwo, or, set, shiftLeft, shiftRight, steps, storeByte, storeEight } = wasm;
const { storeTwo, subtract, when } = wasm;

export const MAX_STAMP_BYTES = 128;
/** The table: the two hex digits of each byte, the stamps, and the kinds of characters in a tracestate. */
const HEX_AT = TABLE_AT;
export const STAMP_AT: number = HEX_AT + 512;
export const MISSING_STAMP_AT: number = STAMP_AT + MAX_STAMP_BYTES;

/** The second stamp is for records without a source of randomness, if those are kept. */
export function stampTable(stamp: RecordStamp, missingStamp: RecordStamp | undefined): Uint32Array {
  const table = Buffer.alloc(TABLE_BYTES);
  for (let byte = 0; byte < 256; byte++) table.write(byte.toString(16).padStart(2, "0"), byte * 2);
  table.set(stamp.bytes, STAMP_AT - TABLE_AT);
  if (missingStamp !== undefined) table.set(missingStamp.bytes, MISSING_STAMP_AT - TABLE_AT);
  table.set(foreignStateTable(), FOREIGN_STATE_TABLE_AT - TABLE_AT);
  return new Uint32Array(Uint8Array.from(table).buffer);
}

/** The randomness of the present record, in two halves. */
export const high: wasm.Variable = variable();
export const low: wasm.Variable = variable();

/** Writes the seven bytes of the randomness as two digits each into the placeholder. */
const putDigits = (holeAt: number): wasm.WasmCode =>
  steps(
    ...[
      shiftRight(high, 20),
      and(shiftRight(high, 12), 255),
      and(shiftRight(high, 4), 255),
      or(shiftLeft(and(high, 15), 4), shiftRight(low, 24)),
      and(shiftRight(low, 16), 255),
      and(shiftRight(low, 8), 255),
      and(low, 255),
    ].map((byte, i) => storeTwo(out, holeAt + 2 * i, loadTwo(shiftLeft(byte, 1), HEX_AT))),
  );

/** Writes the stamp from its byte `from` on, with the randomness in the placeholder. */
const putStamp = (stampAt: number, { bytes, placeholderAt }: RecordStamp, from: number): wasm.WasmCode => {
  const length = bytes.length - from;
  const words = Array.from({ length: Math.ceil(length / 8) }, (_, i) => i * 8);
  return steps(
    ...words.map((offset) => storeEight(out, offset, loadEight(stampAt + from, offset))),
    placeholderAt < 0 ? steps() : putDigits(placeholderAt - from),
    addTo(out, length),
  );
};

const beginRecord = (newSize: wasm.WasmCode): wasm.WasmCode =>
  steps(storeByte(out, 0, SCOPE_ITEM_TAG), addTo(out, 1), set(size, newSize), putSize(out));

/** Size of the tag and length of a tracestate stamp, which is never longer than 127 bytes. */
const STAMP_HEAD = 2;

/** Writes a span that has a tracestate of other vendors: a new tracestate at its end begins with the stamp's text. */
const keepWithState = (stampAt: number, stamp: RecordStamp, stateTag: number): wasm.WasmCode => {
  const textSize = set(q, add(subtract(stateEnd, stateStart), stamp.bytes.length - STAMP_HEAD + 1));
  const fieldSize = add(q, add(2, atLeast(q, 128)));
  return steps(
    textSize,
    beginRecord(add(subtract(subtract(recordEnd, recordStart), subtract(stateEnd, stateAt)), fieldSize)),
    copy(recordStart, stateAt),
    set(size, q),
    set(q, stateEnd),
    copy(q, recordEnd),
    storeByte(out, 0, stateTag),
    addTo(out, 1),
    putSize(out),
    putStamp(stampAt, stamp, STAMP_HEAD),
    storeByte(out, 0, ",".charCodeAt(0)),
    addTo(out, 1),
    copy(stateStart, stateEnd),
    next,
  );
};

/**
 * Writes the record with the stamp at this position to the output, and continues the walk. `stateTag` is 0 for records
 * without a tracestate.
 */
export const keepRecord = (stampAt: number, stamp: RecordStamp, stateTag: number): wasm.WasmCode =>
  steps(
    stateTag === 0 ? steps() : when(stateAt, keepWithState(stampAt, stamp, stateTag)),
    beginRecord(add(subtract(recordEnd, recordStart), stamp.bytes.length)),
    copy(recordStart, recordEnd),
    putStamp(stampAt, stamp, 0),
    next,
  );

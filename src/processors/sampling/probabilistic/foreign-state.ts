import { wasm } from "#otlp/bytes";
import { addTo, at, FOREIGN_STATE_TABLE_AT, q, size, start, stop, variable } from "./rewriting-walk.js";
import { MAX_KEY, MAX_LENGTH, MAX_MEMBERS, MAX_VALUE } from "./trace-state.js";

/**
 * Recognises a tracestate that only other vendors have written, in its most common form: members whose key has no @ and
 * is not `ot`, whose value has no spaces, and nothing else between the commas. Such a tracestate is kept after the
 * sampler's own member. trace-state.ts handles all other forms.
 */

const { and, atLeast, differ, equal, greater, isZero, jump, jumpIf, less, loadByte, loadTwo, loop, set, steps } = wasm;
const { subtract, until, when } = wasm;

/** The tracestate of the present record: the start of its field, and start and end of its text; 0 if there is none. */
export const stateAt: wasm.Variable = variable();
export const stateStart: wasm.Variable = variable();
export const stateEnd: wasm.Variable = variable();
const partAt = variable();
const members = variable();

/** Kinds of characters: the first of a key, any of a key, any of a value. */
const FIRST = 1;
const KEY = 2;
const VALUE = 4;

/** Returns the kinds of each character. */
export function foreignStateTable(): Uint8Array {
  const kindOf = (character: string) =>
    (/[a-z]/.test(character) ? FIRST : 0) |
    (/[a-z0-9_\-*/]/.test(character) ? KEY : 0) |
    (/[!-+\--<>-~]/.test(character) ? VALUE : 0);
  return Uint8Array.from({ length: 256 }, (_, byte) => kindOf(String.fromCharCode(byte)));
}

const isA = (kind: number) => and(loadByte(loadByte(q), FOREIGN_STATE_TABLE_AT), kind);
const code = (character: string) => character.charCodeAt(0);
const OT = code("o") | (code("t") << 8);

/** Reads a key and the = after it. */
const passKey: wasm.WasmCode = steps(
  set(partAt, q),
  jumpIf("give", isZero(isA(FIRST))),
  loop("key", addTo(q, 1), jumpIf("give", atLeast(q, stop)), jumpIf("key", isA(KEY))),
  jumpIf("give", differ(loadByte(q), code("="))),
  jumpIf("give", greater(subtract(q, partAt), MAX_KEY)),
  when(equal(subtract(q, partAt), 2), jumpIf("give", equal(loadTwo(partAt), OT))),
  addTo(q, 1),
);

const passValue: wasm.WasmCode = steps(
  set(partAt, q),
  until(
    "end of value",
    loop("value", jumpIf("end of value", atLeast(q, stop)), when(isA(VALUE), addTo(q, 1), jump("value"))),
  ),
  jumpIf("give", atLeast(subtract(subtract(q, partAt), 1), MAX_VALUE)),
);

/**
 * Remembers the tracestate from `start` to `stop`, whose field begins at `at`. Jumps to "give" if it has another form.
 */
export const findForeignState: wasm.WasmCode = steps(
  jumpIf("give", greater(size, MAX_LENGTH)),
  jumpIf("give", isZero(size)),
  set(stateAt, at),
  set(stateStart, start),
  set(stateEnd, stop),
  set(q, start),
  set(members, 0),
  until(
    "whole state",
    loop(
      "member",
      passKey,
      passValue,
      addTo(members, 1),
      jumpIf("whole state", equal(q, stop)),
      jumpIf("give", differ(loadByte(q), code(","))),
      addTo(q, 1),
      jumpIf("member", less(q, stop)),
      jump("give"),
    ),
  ),
  jumpIf("give", atLeast(members, MAX_MEMBERS)),
);

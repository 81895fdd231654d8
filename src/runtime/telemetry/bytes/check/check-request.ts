import type { MalformedError } from "../malformed.js";
import { REQUEST } from "../messages.js";
import type { Signal } from "../signal.js";
import { malformed, tooManyElements } from "./check-faults.js";
import { checkInJavaScript } from "./check-in-javascript.js";
import { checkTable, messageOf, numberOf } from "./check-table.js";
import { checkModule, FAULT_AT, FAULTS, HAS_DUPLICATES, INPUT_AT, MESSAGE_BYTES, TABLE_AT } from "./check-walk.js";

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
 * The pieces are copied one behind the other into memory that is kept for it, where WebAssembly walks over them (check-walk.ts):
 * they need not be joined for it, and that takes less time than a walk in JavaScript takes without a copy.
 */

/** What `checkRequest` answers when a singular field came again, or a second member of a choice. */
export const HAS_DUPLICATE_FIELDS = HAS_DUPLICATES;

/**
 * Returns the number of records: log records, spans or data points; or `HAS_DUPLICATE_FIELDS`. Throws a `MalformedError`
 * with the offset, also for more than `maxElements` messages: records, attributes, values and whatever else is in it.
 */
export function checkRequest(
  signal: Signal,
  pieces: readonly Uint8Array[],
  byteLength: number,
  maxElements = MAX_ELEMENTS,
): number {
  const checker = checkerFor(byteLength);
  if (checker === undefined) return checkInJavaScript(signal, pieces, byteLength, maxElements);
  const { bytes, run } = checker;
  let p = INPUT_AT;
  for (const piece of pieces) {
    bytes.set(piece, p);
    p += piece.length;
  }
  const found = run(p - INPUT_AT, REQUEST_ENTRIES[signal], Math.min(maxElements, MAX_ELEMENTS));
  if (found < HAS_DUPLICATES) throw faultOf(found, bytes);
  return found;
}

const MAX_ELEMENTS = 0xffffffff;
const REQUEST_ENTRIES: Readonly<Record<Signal, number>> = {
  logs: TABLE_AT + numberOf(REQUEST.logs) * MESSAGE_BYTES,
  traces: TABLE_AT + numberOf(REQUEST.traces) * MESSAGE_BYTES,
  metrics: TABLE_AT + numberOf(REQUEST.metrics) * MESSAGE_BYTES,
};

/** The walk, and the memory that it works on. */
interface Checker {
  readonly bytes: Uint8Array;
  readonly run: (byteLength: number, requestEntries: number, maxElements: number) => number;
}

/** What is used of WebAssembly, which the types of Node.js do not have. */
interface WebAssemblyApi {
  readonly Module: new (bytes: Uint8Array) => object;
  readonly Instance: new (module: object, imports: object) => { readonly exports: { readonly run: Checker["run"] } };
  readonly Memory: new (settings: { initial: number }) => { readonly buffer: ArrayBuffer };
}

/** Memory comes in pages of this size. */
const PAGE_BYTES = 65_536;
const MIN_BYTES = 1024 * 1024;
/** What is made for a larger request is not kept for the next one. */
const MAX_KEPT_BYTES = 32 * 1024 * 1024;

/** A refused memory is not asked for again at once: each asking costs V8 a full garbage collection. */
const RETRY_MS = 10_000;

let compiled: object | undefined;
let nextTryAt = 0;
let kept: Checker | undefined;

/** Undefined where WebAssembly has no memory to give. */
function checkerFor(byteLength: number): Checker | undefined {
  if (kept !== undefined && INPUT_AT + byteLength <= kept.bytes.length) return kept;
  const needed = INPUT_AT + byteLength;
  if (needed > MAX_KEPT_BYTES) return createChecker(needed);
  const created = createChecker(Math.max(MIN_BYTES, 2 ** Math.ceil(Math.log2(needed))));
  kept = created ?? kept;
  return created;
}

/** A memory that has become too small is replaced: growing it would take its buffer away from JavaScript, which makes all buffers slower. */
function createChecker(byteLength: number): Checker | undefined {
  const { WebAssembly } = globalThis as unknown as { WebAssembly?: WebAssemblyApi };
  if (WebAssembly === undefined || performance.now() < nextTryAt) return undefined;
  try {
    return compileChecker(WebAssembly, byteLength);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    nextTryAt = performance.now() + RETRY_MS;
    return undefined;
  }
}

function compileChecker({ Module, Instance, Memory }: WebAssemblyApi, byteLength: number): Checker {
  compiled ??= new Module(checkModule());
  const memory = new Memory({ initial: Math.ceil(byteLength / PAGE_BYTES) });
  new Uint32Array(memory.buffer, TABLE_AT).set(checkTable());
  const { run } = new Instance(compiled, { "": { memory } }).exports;
  return { bytes: new Uint8Array(memory.buffer), run };
}

function faultOf(fault: number, memory: Uint8Array): MalformedError {
  const [at, number, detail] = new Uint32Array(memory.buffer, FAULT_AT, 3) as unknown as [number, number, number];
  if (fault === FAULTS.tooManyElements) return tooManyElements(at);
  return malformed(fault, messageOf(number), detail, at);
}

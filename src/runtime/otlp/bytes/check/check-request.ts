import process from "node:process";
import type { MalformedError } from "../../signals/malformed.js";
import { SIGNALS, type Signal } from "../../signals/signal.js";
import { type Field, type Message, REQUEST } from "../messages.js";
import { type WasmFunction, WasmSource } from "../wasm/wasm-source.js";
import { after, fieldTag, LENGTH_DELIMITED, stepOver, valueAt, varint } from "../wire.js";
import { FAULTS, HAS_DUPLICATES, malformed, tooManyElements } from "./check-faults.js";
import { checkInJavaScript } from "./check-in-javascript.js";
import { checkTable, messageOf, numberOf } from "./check-table.js";
import { checkModule, FAULT_AT, INPUT_AT, MESSAGE_BYTES, MOST_VALUES_AT, TABLE_AT } from "./check-walk.js";

/**
 * Checks that bytes are the OTLP request they claim to be, down to the last attribute, and counts its records.
 *
 * This is the only reader that does not trust its input. Everything else works on a `Batch`, and a batch exists only if
 * its bytes passed this check or were made from bytes that did. So every length, wire type and varint is checked, and
 * messages may nest at most MAX_DEPTH deep; a value takes three levels for each map around it. A trace id has 16 bytes
 * and a span id 8, or none, as the Collector requires. Unknown fields may contain anything.
 *
 * It also detects repeated singular fields, which are allowed but must be normalised: see normal-form.ts. And it counts
 * messages, because two bytes are enough for one, and creating an object for each would need fifty times the memory.
 *
 * The pieces are copied one after the other into a reused memory, where WebAssembly checks them (check-walk.ts). They
 * need not be joined, and copy and check together take less time than a check in JavaScript without a copy.
 */

/** Result of `checkRequest` if a singular field or a second member of a oneof was repeated. */
export const HAS_DUPLICATE_FIELDS = HAS_DUPLICATES;

interface CheckResult {
  /** The number of log records, spans or data points, or `HAS_DUPLICATE_FIELDS`. */
  readonly records: number;
  /**
   * An upper bound for the values of any one record, resource, scope or metric, as `hasTooManyValues` counts them. It
   * is at most the number of values between the starts of two records, twice. Infinity if nothing is known.
   */
  readonly mostValues: number;
}

/**
 * Throws a `MalformedError` with the offset, also for more than `maxElements` messages: records, attributes, values and
 * all others.
 */
export function checkRequest(
  signal: Signal,
  pieces: readonly Uint8Array[],
  byteLength: number,
  maxElements = MAX_ELEMENTS,
): CheckResult {
  const checker = checkerFor(byteLength);
  if (checker === undefined) {
    warnOnce();
    const records = checkInJavaScript(signal, pieces, byteLength, maxElements);
    return { records, mostValues: Number.POSITIVE_INFINITY };
  }
  const { bytes, run } = checker;
  let p = INPUT_AT;
  for (const piece of pieces) {
    bytes.set(piece, p);
    p += piece.length;
  }
  const found = run(p - INPUT_AT, REQUEST_ENTRIES[signal], Math.min(maxElements, MAX_ELEMENTS));
  if (found < HAS_DUPLICATES) throw faultOf(found, bytes);
  return { records: found, mostValues: 2 * numberAt(bytes, MOST_VALUES_AT) };
}

function numberAt(memory: Uint8Array, at: number): number {
  return (memory[at]! | (memory[at + 1]! << 8) | (memory[at + 2]! << 16) | (memory[at + 3]! << 24)) >>> 0;
}

const MAX_ELEMENTS = 0xffffffff;
const REQUEST_ENTRIES: Readonly<Record<Signal, number>> = {
  logs: TABLE_AT + numberOf(REQUEST.logs) * MESSAGE_BYTES,
  traces: TABLE_AT + numberOf(REQUEST.traces) * MESSAGE_BYTES,
  metrics: TABLE_AT + numberOf(REQUEST.metrics) * MESSAGE_BYTES,
};

type Checker = WasmFunction<(byteLength: number, requestEntries: number, maxElements: number) => number>;

const MIN_BYTES = 1024 * 1024;
/** A memory for a larger request is not kept for the next one. */
const MAX_KEPT_BYTES = 32 * 1024 * 1024;

const checkers = new WasmSource<Checker["run"]>(checkModule);
let kept: Checker | undefined;

/** Returns undefined if WebAssembly is unavailable or gets no memory. */
function checkerFor(byteLength: number): Checker | undefined {
  if (kept !== undefined && INPUT_AT + byteLength <= kept.bytes.length) return kept;
  const needed = INPUT_AT + byteLength;
  if (needed > MAX_KEPT_BYTES) return createChecker(needed);
  const created = createChecker(Math.max(MIN_BYTES, 2 ** Math.ceil(Math.log2(needed))));
  kept = created ?? kept;
  return created;
}

function createChecker(byteLength: number): Checker | undefined {
  return checkers.create(byteLength, TABLE_AT, checkTable());
}

let hasWarned = false;

function warnOnce(): void {
  if (hasWarned) return;
  hasWarned = true;
  const advice = "start Node.js without --jitless and without a limit on the address space (ulimit -v)";
  const message = `OTLP requests are checked without WebAssembly, which takes up to 19 times as long; ${advice}`;
  process.emitWarning(message, "SluiceWarning");
}

function faultOf(fault: number, memory: Uint8Array): MalformedError {
  const [at, number, detail] = new Uint32Array(memory.buffer, FAULT_AT, 3) as unknown as [number, number, number];
  if (fault === FAULTS.tooManyElements) return tooManyElements(at);
  return malformed(fault, messageOf(number), detail, at);
}

/** A request that was checked, and what the check counted. */
interface CheckedBytes {
  readonly signal: Signal;
  readonly bytes: Uint8Array;
  readonly byteLength: number;
  readonly mostValues: number;
}

/**
 * Whether a record, resource, scope or metric of the request has more than `limit` values: attributes, events, links,
 * exemplars, buckets, quantiles, and the items of lists and maps in them. Ordinary requests are answered from what the
 * check counted, without another look at their bytes. Of others, only messages with more than `limit` bytes are looked
 * into, because a value takes at least one.
 */
export function hasTooManyValues(batch: CheckedBytes, limit: number): boolean {
  if (batch.mostValues <= limit || batch.byteLength <= limit) return false;
  return isCrowdedContainer(batch.bytes, 0, batch.byteLength, REQUEST[batch.signal], limit);
}

function isCrowdedContainer(b: Uint8Array, start: number, end: number, message: Message, limit: number): boolean {
  let own = 0;
  for (let p = start; p < end; ) {
    p = stepOver(b, p);
    const field = message.byNumber[fieldTag >>> 3];
    const child = field?.message;
    if (field === undefined || (fieldTag & 7) !== LENGTH_DELIMITED) continue;
    const next = p;
    varint(b, valueAt);
    const body = after;
    if (child !== undefined && (child.isRecord || isContainer(child))) {
      if (next - body <= limit) continue;
      if (
        isContainer(child)
          ? isCrowdedContainer(b, body, next, child, limit)
          : count(b, body, next, child, limit) > limit
      )
        return true;
    } else if ((own += valuesOfField(b, body, next, field, limit)) > limit) return true;
  }
  return false;
}

/** Whether the message contains records, or messages that contain them. */
function isContainer(message: Message): boolean {
  return CONTAINERS.has(message);
}

const CONTAINERS: ReadonlySet<Message> = new Set(SIGNALS.flatMap((signal) => containersIn(REQUEST[signal])));

function containersIn(message: Message, around: readonly Message[] = []): Message[] {
  if (message.isRecord) return [...around];
  if (around.includes(message)) return []; // values nest
  return message.fields.flatMap(({ message: child }) => (child ? containersIn(child, [...around, message]) : []));
}

/** The number of values in the message [start, end); stops soon above the limit. */
function count(b: Uint8Array, start: number, end: number, message: Message, limit: number): number {
  let values = 0;
  for (let p = start; p < end && values <= limit; ) {
    p = stepOver(b, p);
    const field = message.byNumber[fieldTag >>> 3];
    if (field === undefined || (fieldTag & 7) !== LENGTH_DELIMITED) continue;
    const next = p;
    varint(b, valueAt);
    values += valuesOfField(b, after, next, field, limit);
  }
  return values;
}

/** The number of values in one occurrence of a field whose body is [start, end). */
function valuesOfField(b: Uint8Array, start: number, end: number, field: Field, limit: number): number {
  const itself = field.repeated ? 1 : 0;
  if (field.message !== undefined) return itself + count(b, start, end, field.message, limit);
  if (!field.repeated || field.type === "string") return itself;
  return /fixed64|double/.test(field.type) ? (end - start) / 8 : end - start;
}

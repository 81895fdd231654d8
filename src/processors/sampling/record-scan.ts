import { after, anyValueAt, anyValueEnd, bodyEnd, encodedKey, nextBody, varint } from "#otlp/bytes";
import {
  KEY_TAG,
  LOG_ATTRIBUTES_TAG,
  LOG_EVENT_NAME_TAG,
  LOG_SEVERITY_NUMBER_TAG,
  LOG_TRACE_ID_TAG,
  SPAN_ATTRIBUTES_TAG,
  SPAN_NAME_TAG,
  SPAN_STATUS_TAG,
  SPAN_TRACE_ID_TAG,
  SPAN_TRACE_STATE_TAG,
  STRING_VALUE_TAG,
} from "#otlp/tags";
import { SampledFields } from "./record.generated.js";

/** The tags of the fields that samplers read; 0 for fields that the record type does not have. */
export interface ScanShape {
  readonly traceId: number;
  readonly traceState: number;
  readonly attributes: number;
  readonly name: number;
  readonly severity: number;
  readonly status: number;
}

export const LOG_SHAPE: ScanShape = {
  traceId: LOG_TRACE_ID_TAG,
  traceState: 0,
  attributes: LOG_ATTRIBUTES_TAG,
  name: LOG_EVENT_NAME_TAG,
  severity: LOG_SEVERITY_NUMBER_TAG,
  status: 0,
};
export const SPAN_SHAPE: ScanShape = {
  traceId: SPAN_TRACE_ID_TAG,
  traceState: SPAN_TRACE_STATE_TAG,
  attributes: SPAN_ATTRIBUTES_TAG,
  name: SPAN_NAME_TAG,
  severity: 0,
  status: SPAN_STATUS_TAG,
};

/**
 * Finds everything that a sampler needs from a record in one pass over its fields, without allocations: ids, name,
 * severity, tracestate and a few attributes. The results are positions in the bytes of the record scanned last; -1
 * means absent.
 */
export class RecordScan extends SampledFields {
  /** Start of the sixteen bytes of the trace id; -1 also if they are all zero, or not sixteen. */
  traceId = -1;
  /** Start of the tracestate field, including its tag. */
  stateField = -1;
  /** Start and end of the tracestate's text. */
  stateStart = -1;
  stateEnd = -1;
  /** For each of the keys: the start of the whole field, at its tag. */
  readonly fieldAt: number[];
  /** For each of the keys: the position of the length of its KeyValue. */
  readonly keyValueAt: number[];

  private readonly isSpan: boolean;
  private readonly keys: readonly Uint8Array[];
  /** Whether a key with this first length byte can be one of the keys. Lengths of several bytes always can. */
  private readonly possibleLengths = new Uint8Array(256).fill(1, 128);

  constructor(shape: ScanShape, keys: readonly string[]) {
    super();
    this.isSpan = shape === SPAN_SHAPE;
    this.keys = keys.map((key) => encodedKey(key));
    for (const { length } of this.keys) if (length < 128) this.possibleLengths[length] = 1;
    this.fieldAt = keys.map(() => -1);
    this.keyValueAt = keys.map(() => -1);
  }

  run(b: Uint8Array, start: number, end: number): void {
    const { keyValueAt } = this;
    this.traceId = -1;
    this.stateField = -1;
    for (let i = 0; i < keyValueAt.length; i++) keyValueAt[i] = -1;
    if (this.isSpan) this.readSpan(b, start, end);
    else {
      this.readLog(b, start, end);
      this.severity |= 0; // a severity may be negative
    }
  }

  protected override addAttribute(b: Uint8Array, at: number, start: number, end: number): void {
    const { keys, keyValueAt, possibleLengths } = this;
    if (end - start > 1 && b[start] === KEY_TAG && possibleLengths[b[start + 1]!] === NOT_ASKED) return;
    for (let i = 0; i < keys.length; i++) {
      if (keyValueAt[i] !== -1 || !keyValueHasKey(b, start, end, keys[i]!)) continue;
      varint(b, at);
      keyValueAt[i] = after;
      this.fieldAt[i] = at;
    }
  }

  protected override setTraceId(b: Uint8Array, _at: number, start: number, end: number): void {
    if (end - start === 16 && !isZeroId(b, start)) this.traceId = start;
  }

  protected override setTraceState(_b: Uint8Array, at: number, start: number, end: number): void {
    this.stateField = at;
    this.stateStart = start;
    this.stateEnd = end;
  }
}

function isZeroId(b: Uint8Array, p: number): boolean {
  for (let i = p + 15; i >= p; i--) if (b[i] !== 0) return false;
  return true;
}

const NOT_ASKED = 0;

function keyValueHasKey(b: Uint8Array, start: number, end: number, key: Uint8Array): boolean {
  const { length } = key;
  if (end - start > 1 && b[start] === KEY_TAG && b[start + 1]! < 128) {
    if (b[start + 1] !== length) return false;
    for (let i = length - 1; i >= 0; i--) if (b[start + 2 + i] !== key[i]) return false; // keys differ most at their ends
    return true;
  }
  return unusualKeyValueHasKey(b, start, end, key);
}

/** Handles the uncommon forms: the key after the value, or longer than 127 bytes. */
function unusualKeyValueHasKey(b: Uint8Array, start: number, end: number, key: Uint8Array): boolean {
  const from = nextBody(b, start, end, KEY_TAG);
  return from < 0 ? key.length === 0 : Buffer.compare(b.subarray(from, bodyEnd), key) === 0;
}

/** The end of the text that `findText` found last. */
export let textEnd = 0;

/** Returns the start of the text in the KeyValue whose length is at `lengthAt`; -1 if its value is not a text. */
export function findText(b: Uint8Array, lengthAt: number): number {
  const value = anyValueAt(b, lengthAt);
  if (value < 0 || value === anyValueEnd || b[value] !== STRING_VALUE_TAG) return -1;
  const length = varint(b, value + 1);
  textEnd = after + length;
  return textEnd === anyValueEnd ? after : -1;
}

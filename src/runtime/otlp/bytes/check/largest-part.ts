import type { Signal } from "../../signals/signal.js";
import { leadsToRecord, SHAPES, type SignalShape } from "../signal-shape.js";
import { after, fieldTag, stepOver, valueAt, varint } from "../wire.js";

/** Sizes in bytes. */
export interface LargestParts {
  /** The largest record. */
  readonly record: number;
  /** The largest of what is around records: a resource container, scope container or metric without its records. */
  readonly owner: number;
}

/** Finds the largest parts of a request by skimming lengths. */
export function largestParts(signal: Signal, bytes: Uint8Array): LargestParts {
  const largest = { record: 0, owner: 0 };
  measure(bytes, 0, bytes.length, SHAPES[signal], 0, largest);
  return largest;
}

function measure(
  bytes: Uint8Array,
  start: number,
  end: number,
  shape: SignalShape,
  depth: number,
  largest: { record: number; owner: number },
): void {
  let own = 0;
  for (let p = start; p < end; ) {
    const at = p;
    p = stepOver(bytes, p);
    if (!leadsToRecord(shape, depth, fieldTag)) {
      own += p - at;
      continue;
    }
    varint(bytes, valueAt);
    const body = after;
    if (depth < shape.levels.length) measure(bytes, body, p, shape, depth + 1, largest);
    else if (p - body > largest.record) largest.record = p - body;
  }
  if (own > largest.owner) largest.owner = own;
}

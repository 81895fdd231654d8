import type { Batch } from "../../plugin.js";
import { type Paint, SHAPES } from "../../runtime/kit.js";
import { withThousandsSeparators } from "./values.js";

const RESOURCES = [1];
const METRICS = [1, 2, 2];

/** One line: logs: 12 log records from 2 resources, 4,123 bytes */
export function basicLine(batch: Batch, paint: Paint): string {
  const resources = amount(countMessages(batch.bytes, RESOURCES), "resource");
  const records = amount(batch.count, SHAPES[batch.signal].itemNoun);
  const parts =
    batch.signal === "metrics" ? [amount(countMessages(batch.bytes, METRICS), "metric"), records] : [records];
  const size = paint("dim", `from ${resources}, ${amount(batch.byteLength, "byte")}`);
  return `${paint("bold", `${batch.signal}:`)} ${parts.join(", ")} ${size}`;
}

function amount(count: number, noun: string): string {
  return `${withThousandsSeparators(count)} ${noun}${count === 1 ? "" : "s"}`;
}

/**
 * Counts messages of a checked request by their lengths alone, so that a basic line costs next to nothing.
 * `path` are the field numbers from the request down to what is counted, all of them messages.
 */
function countMessages(bytes: Uint8Array, path: readonly number[]): number {
  return countIn(bytes, 0, bytes.length, path, 0);
}

function countIn(bytes: Uint8Array, start: number, end: number, path: readonly number[], depth: number): number {
  let count = 0;
  position = start;
  while (position < end) {
    const tag = varint(bytes);
    const size = sizeOf(bytes, tag & 7);
    const from = position;
    if (tag === ((path[depth]! << 3) | 2)) {
      count += depth === path.length - 1 ? 1 : countIn(bytes, from, from + size, path, depth + 1);
    }
    position = from + size;
  }
  return count;
}

let position = 0;

/** Bytes of the value at `position`; of a length-delimited one, without its length, which is read. */
function sizeOf(bytes: Uint8Array, wireType: number): number {
  if (wireType === 2) return varint(bytes);
  if (wireType === 1) return 8;
  if (wireType === 5) return 4;
  let size = 1;
  while (bytes[position + size - 1]! > 127) size++;
  return size;
}

function varint(bytes: Uint8Array): number {
  let value = 0;
  for (let scale = 1; ; scale *= 128) {
    const byte = bytes[position++]!;
    value += (byte & 127) * scale;
    if (byte < 128) return value;
  }
}

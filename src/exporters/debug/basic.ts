import { bodyEnd, LENGTH_DELIMITED, nextBody, SHAPES } from "#otlp/bytes";
import type { Paint } from "#text";
import type { Batch } from "../../plugin.js";
import { withThousandsSeparators } from "./values.js";

const RESOURCES = [1];
const METRICS = [1, 2, 2];

/** Returns one line: logs: 12 log records from 2 resources, 4,123 bytes */
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
 * Counts messages of a checked request by their lengths alone, so that a basic line costs next to nothing. `path` holds
 * the field numbers from the request down to the counted messages.
 */
function countMessages(bytes: Uint8Array, path: readonly number[]): number {
  return countIn(bytes, 0, bytes.length, path, 0);
}

function countIn(bytes: Uint8Array, start: number, end: number, path: readonly number[], depth: number): number {
  const wanted = (path[depth]! << 3) | LENGTH_DELIMITED;
  let count = 0;
  for (let p = start; (p = nextBody(bytes, p, end, wanted)) >= 0; ) {
    const body = p;
    p = bodyEnd;
    count += depth === path.length - 1 ? 1 : countIn(bytes, body, p, path, depth + 1);
  }
  return count;
}

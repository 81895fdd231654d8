import { createHash } from "node:crypto";
import { after, bodyEnd, findField, lengthAt, message, nextBody, SHAPES, varint } from "#otlp/bytes";
import { partition } from "#otlp/edit";
import { LOG_TRACE_ID_TAG, OWNER_TAG, RESOURCE_ATTRIBUTES_TAG, SPAN_TRACE_ID_TAG } from "#otlp/tags";
import type { Frame, RecordWalk } from "#otlp/views";
import type { Batch } from "../../plugin.js";

/** Records that belong to one partition. */
interface KeyedBatch {
  /** Undefined if any partition will do. */
  readonly key: Buffer | undefined;
  readonly batch: Batch;
  /** The indexes of its records in the batch that was split; undefined if it was not. */
  readonly records?: readonly number[];
}

/**
 * Splits the batch by traces or by resources, each part with its key. Records without a trace id form a part without a
 * key.
 */
export function keyedBatches(batch: Batch, keying: "trace" | "resource" | undefined): KeyedBatch[] {
  if (keying === undefined) return [{ key: undefined, batch }];
  const groups = new Map<string, number>();
  const groupOf = (name: string) => {
    const known = groups.get(name) ?? groups.size;
    groups.set(name, known);
    return known;
  };
  const choose = keying === "trace" ? byTrace(batch, groupOf) : byResource(groupOf);
  const records: number[][] = [];
  let next = 0;
  const pieces = partition(batch, SHAPES[batch.signal], 0, (walk, start, end) => {
    const group = choose(walk, start, end);
    (records[group] ??= []).push(next++);
    return group;
  });
  const keyOf = keying === "trace" ? traceKey : resourceKey;
  return [...groups].map(([name, index]) => ({ key: keyOf(name), batch: pieces[index]!, records: records[index]! }));
}

type ChooseGroup = (walk: RecordWalk, start: number, end: number) => number;

function byTrace({ signal }: Batch, groupOf: (name: string) => number): ChooseGroup {
  const tag = signal === "traces" ? SPAN_TRACE_ID_TAG : LOG_TRACE_ID_TAG;
  return ({ bytes }, start, end) => {
    const at = findField(bytes, start, end, tag);
    if (at < 0) return groupOf("");
    const length = varint(bytes, at);
    return groupOf(Buffer.from(bytes.buffer, bytes.byteOffset + after, length).toString("hex"));
  };
}

function byResource(groupOf: (name: string) => number): ChooseGroup {
  let serial = -1;
  let group = 0;
  return ({ bytes, frames, serials }) => {
    if (serials[0] === serial) return group;
    serial = serials[0]!;
    group = groupOf(resourceName(bytes, frames[0]!));
    return group;
  };
}

/** Returns the attributes of a resource in a canonical order, so that equal resources give the same text. */
function resourceName(bytes: Uint8Array, { start, end }: Frame): string {
  const [resourceStart, resourceEnd] = message(bytes, start, end, OWNER_TAG);
  const attributes: string[] = [];
  for (let p = resourceStart; (p = nextBody(bytes, p, resourceEnd, RESOURCE_ATTRIBUTES_TAG)) >= 0; p = bodyEnd) {
    attributes.push(Buffer.prototype.latin1Slice.call(bytes, lengthAt, bodyEnd));
  }
  return attributes.toSorted().join("");
}

function traceKey(name: string): Buffer | undefined {
  return name === "" ? undefined : Buffer.from(name);
}

function resourceKey(name: string): Buffer {
  return createHash("sha256").update(name, "latin1").digest().subarray(0, 16);
}

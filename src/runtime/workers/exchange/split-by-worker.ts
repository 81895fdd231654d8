import { FNV32_START, fnv32 } from "#codecs";
import type { WorkerMode } from "#contract/operators";
import { AttributeKey } from "#metrics";
import type { Batch } from "#otlp";
import { after, findField, SHAPES, varint } from "#otlp/bytes";
import { partition } from "#otlp/edit";
import { LOG_TRACE_ID_TAG, OWNER_TAG, RESOURCE_ATTRIBUTES_TAG, SPAN_TRACE_ID_TAG } from "#otlp/tags";
import type { RecordWalk } from "#otlp/views";

/** Chooses the worker, from 0, for a record of a walk. */
type ChooseWorker = (walk: RecordWalk, start: number, end: number) => number;

/**
 * Divides a batch between workers: by the hash of the trace id, or of the resource. The result has a batch for each
 * worker, undefined if it gets nothing. If all records belong to one worker, that is the batch itself. Records without
 * a trace id belong to `here`. The same records always go to the same worker, as long as the number of workers stays.
 */
export function splitByWorker(
  batch: Batch,
  mode: Exclude<WorkerMode, "each">,
  workers: number,
  here: number,
): (Batch | undefined)[] {
  return partition(batch, SHAPES[batch.signal], workers, chooserOf(batch, mode, workers, here));
}

function chooserOf(batch: Batch, mode: Exclude<WorkerMode, "each">, workers: number, here: number): ChooseWorker {
  if (mode === "one") return () => 0;
  if (mode === "series") return byResource(workers);
  if (batch.signal === "metrics") return () => here;
  return byTraceId(batch.signal === "traces" ? SPAN_TRACE_ID_TAG : LOG_TRACE_ID_TAG, workers, here);
}

function byTraceId(tag: number, workers: number, here: number): ChooseWorker {
  return ({ bytes }, start, end) => {
    const at = findField(bytes, start, end, tag);
    if (at < 0) return here;
    const length = varint(bytes, at);
    return length === 0 ? here : mixed(fnv32(FNV32_START, bytes, after, after + length)) % workers;
  };
}

/** Equal resources give the same worker, whatever the order of their attributes. A resource is hashed once per batch. */
function byResource(workers: number): ChooseWorker {
  const key = new AttributeKey();
  let serial = -1;
  let last = 0;
  return ({ bytes, frames, serials }) => {
    if (serials[0] === serial) return last;
    serial = serials[0]!;
    const frame = frames[0]!;
    const at = findField(bytes, frame.start, frame.end, OWNER_TAG);
    const size = at < 0 ? 0 : varint(bytes, at);
    key.begin(bytes);
    if (size > 0) key.addAll(after, after + size, RESOURCE_ATTRIBUTES_TAG);
    key.finish();
    last = mixed(fnv32(FNV32_START, key.bytes, key.start, key.end)) % workers;
    return last;
  };
}

/** The last bits of an FNV hash depend only on the last bits of each byte, so texts that contain a number twice collide. */
function mixed(hash: number): number {
  let h = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return (h ^ (h >>> 16)) >>> 0;
}

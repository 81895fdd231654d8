import { FNV32_START, fnv32 } from "#codecs";
import type { WorkerMode } from "#contract/operators";
import { AttributeKey } from "#metrics";
import type { Batch } from "#otlp";
import { after, findField, varint } from "#otlp/bytes";
import { partition } from "#otlp/edit";
import {
  LOG_TRACE_ID_TAG,
  OWNER_TAG,
  RESOURCE_ATTRIBUTES_TAG,
  RESOURCE_CONTAINER_TAG,
  SPAN_TRACE_ID_TAG,
} from "#otlp/tags";
import type { RecordWalk, WalkShape } from "#otlp/views";
import { splitRecords } from "./split-records.js";

/**
 * Divides a batch between workers: by the hash of the trace id, or of the resource. The result has a batch for each
 * worker, undefined if it gets nothing. If all records belong to one worker, that is the batch itself. Records without
 * a trace id belong to `here`, a number from 0. The same records always go to the same worker, as long as the number of
 * workers stays.
 */
export function splitByWorker(
  batch: Batch,
  mode: Exclude<WorkerMode, "each" | "one">,
  workers: number,
  here: number,
): (Batch | undefined)[] {
  if (mode === "series") return partition(batch, RESOURCES, workers, byResource(workers));
  if (batch.signal === "metrics") return onlyFor(batch, workers, here);
  const tag = batch.signal === "traces" ? SPAN_TRACE_ID_TAG : LOG_TRACE_ID_TAG;
  return splitRecords(batch, workers, (bytes, start, end) => {
    const at = findField(bytes, start, end, tag);
    if (at < 0) return here;
    const length = varint(bytes, at);
    return length === 0 ? here : mixed(fnv32(FNV32_START, bytes, after, after + length)) % workers;
  });
}

function onlyFor(batch: Batch, workers: number, worker: number): (Batch | undefined)[] {
  return Array.from({ length: workers }, (_, i) => (i === worker ? batch : undefined));
}

/** Everything of a resource goes to the same worker, so that the records themselves are not looked at. */
const RESOURCES: WalkShape = { levels: [], record: RESOURCE_CONTAINER_TAG };

/** Equal resources give the same worker, whatever the order of their attributes. */
function byResource(workers: number): (walk: RecordWalk, start: number, end: number) => number {
  const key = new AttributeKey();
  return ({ bytes }, start, end) => {
    const at = findField(bytes, start, end, OWNER_TAG);
    const size = at < 0 ? 0 : varint(bytes, at);
    key.begin(bytes);
    if (size > 0) key.addAll(after, after + size, RESOURCE_ATTRIBUTES_TAG);
    key.finish();
    return mixed(fnv32(FNV32_START, key.bytes, key.start, key.end)) % workers;
  };
}

/** The last bits of an FNV hash depend only on the last bits of each byte, so texts that contain a number twice collide. */
function mixed(hash: number): number {
  let h = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return (h ^ (h >>> 16)) >>> 0;
}

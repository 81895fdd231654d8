import type { Signal } from "../signals/signal.js";
import { DATA_POINT_TAG, METRIC_DATA_TAGS } from "./metric-tags.generated.js";
import { RESOURCE_CONTAINER_TAG, SCOPE_CONTAINER_TAG, SCOPE_ITEM_TAG } from "./tags.generated.js";
import { after, fieldTag, stepOver, valueAt, varint } from "./wire.js";

/**
 * Where the records of a signal are in its OTLP request, and their names.
 *
 * `levels` are the tags (field << 3 | wire type) to descend through from the request to the message that contains the
 * records; `record` is the tag of a record in it. A metric's points are in one of five containers, so the last level of
 * metrics accepts any of five tags.
 */
export interface SignalShape {
  readonly signal: Signal;
  readonly levels: readonly (readonly number[])[];
  readonly record: number;
  /** The name of a record in messages to people. */
  readonly itemNoun: string;
  /** Suffix of the Collector's metric names: otelcol_receiver_accepted_<metricNoun>. */
  readonly metricNoun: string;
}

/** The shape of each signal. */
export const SHAPES: Readonly<Record<Signal, SignalShape>> = {
  logs: {
    signal: "logs",
    levels: [[RESOURCE_CONTAINER_TAG], [SCOPE_CONTAINER_TAG]],
    record: SCOPE_ITEM_TAG,
    itemNoun: "log record",
    metricNoun: "log_records",
  },
  traces: {
    signal: "traces",
    levels: [[RESOURCE_CONTAINER_TAG], [SCOPE_CONTAINER_TAG]],
    record: SCOPE_ITEM_TAG,
    itemNoun: "span",
    metricNoun: "spans",
  },
  metrics: {
    signal: "metrics",
    levels: [[RESOURCE_CONTAINER_TAG], [SCOPE_CONTAINER_TAG], [SCOPE_ITEM_TAG], METRIC_DATA_TAGS],
    record: DATA_POINT_TAG,
    itemNoun: "data point",
    metricNoun: "metric_points",
  },
};

/** The path to repeated messages in a request: the records of its signal or any others. */
export type RecordPath = Pick<SignalShape, "levels" | "record">;

/** Whether a field with this tag is a record, or contains records, in a message `depth` levels below the request. */
export function leadsToRecord({ levels, record }: RecordPath, depth: number, tag: number): boolean {
  return levels[depth]?.includes(tag) ?? tag === record;
}

export type FieldRange = readonly [from: number, to: number];

/**
 * The other fields of the message [start, end) at this depth, each with its tag. They are repeated wherever some of its
 * records go.
 */
export function fieldsBesideRecords(
  b: Uint8Array,
  start: number,
  end: number,
  path: RecordPath,
  depth: number,
): FieldRange[] {
  const fields: FieldRange[] = [];
  for (let p = start; p < end; ) {
    const at = p;
    p = stepOver(b, p);
    if (!leadsToRecord(path, depth, fieldTag)) fields.push([at, p]);
  }
  return fields;
}

/** The number of records in the message [p, end), which is `depth` messages deep in the request. */
export function countRecords(b: Uint8Array, p: number, end: number, path: RecordPath, depth = 0): number {
  if (depth > path.levels.length) return 1;
  let count = 0;
  while (p < end) {
    p = stepOver(b, p);
    if (!leadsToRecord(path, depth, fieldTag)) continue;
    varint(b, valueAt);
    count += countRecords(b, after, p, path, depth + 1);
  }
  return count;
}

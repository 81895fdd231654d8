/** Batches, and the records in them: views, walks and edits. */

export { Batch, isBatch } from "./batch.js";
export { type AnyRecordView, editRecords, type RecordVerdict, RecordViews, readRecords } from "./edit/edit-records.js";
export { editRecordsAsync } from "./edit/edit-records-async.js";
export { partition, partitionByMarks } from "./edit/partition.js";
export { ResourceStamp, stampResources } from "./edit/resource-stamp.js";
export { SplitOverflow, splitBatch } from "./edit/split-batch.js";
export {
  type Attributes,
  attributeEnd,
  attributeValue,
  encodedKey,
  findAttribute,
  hasKey,
  keyAt,
  keyEnd,
  nextAttribute,
  readKey,
} from "./views/attributes.js";
export type { DataPointView } from "./views/data-point-view.js";
export type { LogRecordView } from "./views/log-record-view.js";
export { type MetricData, type MetricVisitor, message, walkMetrics } from "./views/metric-walk.js";
export type { MetricView, ResourceView } from "./views/owner-views.js";
export { RecordReader, recordAttributesTag } from "./views/record-reader.js";
export {
  DROP,
  type Frame,
  type FrameEdit,
  KEEP,
  type RecordVisitor,
  RecordWalk,
  type Verdict,
  type WalkShape,
} from "./views/record-walk.js";
export type { SpanEventView, SpanView } from "./views/span-view.js";
export { asDouble, DoubleValue, readValue, type Value, valueText, writeKeyValue, writeValue } from "./views/value.js";

/** The records of a batch: walks, views and edits. */

export {
  type AnyRecordView,
  editRecordAttributes,
  editRecords,
  type RecordVerdict,
  RecordViews,
  readRecords,
} from "../edit/edit-records.js";
export { editRecordsAsync } from "../edit/edit-records-async.js";
export type { Attributes } from "./attributes.js";
export type { DataPointView } from "./data-point-view.js";
export type { LogRecordView } from "./log-record-view.js";
export { type MetricData, type MetricVisitor, walkMetrics } from "./metric-walk.js";
export type { MetricView, ResourceView } from "./owner-views.js";
export { EventFields, LinkFields, LogFields, SpanFields, StatusFields } from "./record-fields.generated.js";
export { RecordReader, recordAttributesTag } from "./record-reader.js";
export {
  DROP,
  type Frame,
  type FrameEdit,
  KEEP,
  type RecordVisitor,
  RecordWalk,
  type Verdict,
  type WalkShape,
} from "./record-walk.js";
export type { SpanEventView, SpanView } from "./span-view.js";
export { type OwnedRecordVisitor, walkOwnedRecords } from "./walk-owned-records.js";

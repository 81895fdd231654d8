/** The door for component authors: all that a receiver, processor, exporter, connector or extension needs. */
export type { Upcaster, VersionedEvent } from "./processors/versioning/upcast.js";
export { defineVersioning, type VersioningDefinition } from "./processors/versioning/versioning.js";
export { AdminError } from "./runtime/contract/admin.js";
export type { Clock } from "./runtime/contract/clock.js";
export {
  CONTRACT_VERSION,
  type ComponentContext,
  type ComponentFactory,
  type ConnectorContext,
  type ConnectorFactory,
  defineConnector,
  defineExporter,
  defineExtension,
  defineProcessor,
  defineReceiver,
  type Exporter,
  type ExporterContext,
  type ExporterFactory,
  type Extension,
  type ExtensionContext,
  type ExtensionFactory,
  type HeldBytesLimit,
  type Host,
  IDEMPOTENCY_HEADER,
  type Intake,
  type Processor,
  type ProcessorContext,
  type ProcessorFactory,
  type Receiver,
  type ReceiverContext,
  type ReceiverFactory,
  type ReplayStep,
  type SendOptions,
  StartError,
  type Zone,
} from "./runtime/contract/component.js";
export { DeadLetter, deadLetter, isDeadLetter, type Setback } from "./runtime/contract/dead-letter.js";
export { Delivery, type Origin, type Outcome, type PartialRejection } from "./runtime/contract/delivery.js";
export { limitedLog } from "./runtime/contract/limited-log.js";
export type { Counter, Histogram, Logger, Metrics } from "./runtime/contract/observability.js";
export { Batcher, type BatcherSettings } from "./runtime/contract/operators/batcher.js";
export { type BatchResult, type EachBatchOptions, eachBatch } from "./runtime/contract/operators/each-batch.js";
export {
  type EachRecordOptions,
  eachRecord,
  type RecordResult,
  type RecordSetback,
} from "./runtime/contract/operators/each-record.js";
export {
  type DeliveryHandlers,
  type DeliveryOutput,
  statefulProcessor,
} from "./runtime/contract/operators/stateful-processor.js";
export {
  isRefusal,
  Refusal,
  type RefusalCategory,
  type RefusalKind,
  type RefusalOptions,
} from "./runtime/contract/refusal.js";
export type { ConfigSchema } from "./runtime/contract/schema/config-schema.js";
export {
  byteSize,
  caseInsensitiveEnum,
  configPath,
  deprecated,
  duration,
  headers,
  ignored,
  parseByteSize,
  parseDuration,
  recordPattern,
  secret,
  section,
  unsupported,
} from "./runtime/contract/schema/schema.js";
export { Batch } from "./runtime/telemetry/batch.js";
export { isMalformed, MalformedError } from "./runtime/telemetry/bytes/malformed.js";
export { SIGNALS, type Signal } from "./runtime/telemetry/bytes/signal.js";
export {
  type AnyRecordView,
  editRecords,
  type RecordVerdict,
  readRecords,
} from "./runtime/telemetry/edit/edit-records.js";
export { type SplitLimits, splitBatch } from "./runtime/telemetry/edit/split-batch.js";
export { batchFromJson, batchToJson } from "./runtime/telemetry/json/batch-json.js";
export { decodeTree, encodeTree, type Tree } from "./runtime/telemetry/json/tree.js";
export type { Attributes } from "./runtime/telemetry/views/attributes.js";
export type { DataPointView } from "./runtime/telemetry/views/data-point-view.js";
export type { LogRecordView } from "./runtime/telemetry/views/log-record-view.js";
export type { SpanView } from "./runtime/telemetry/views/span-view.js";
export { asDouble, type Value } from "./runtime/telemetry/views/value.js";

/**
 * For authors of components: everything needed to write a receiver, processor, exporter, connector or extension. Other
 * names that the built-in components use are not part of the public API.
 */

// Components: one `define...` function per kind, and the types that a plugin exports.

export { defineHandler, type HandlerContext, type HandlerMessage } from "./runtime/brokers/messages/handler.js";
export {
  CONTRACT_VERSION,
  type ComponentFactory,
  type ConnectorFactory,
  type ExporterFactory,
  type ExtensionFactory,
  type ProcessorFactory,
  type ReceiverFactory,
  type ReplayStep,
  type WorkerMode,
  type Zone,
} from "./runtime/contract/component.js";
export {
  defineConnector,
  defineExporter,
  defineExtension,
  defineProcessor,
  defineReceiver,
} from "./runtime/contract/define.js";
export { StartError } from "./runtime/contract/errors/start-error.js";

// The arguments and the result of a `create` function.

export type { Clock } from "./runtime/contract/clock.js";
export type {
  ComponentContext,
  ConnectorContext,
  ExporterContext,
  Extension,
  ExtensionContext,
  Host,
  Intake,
  Processor,
  ProcessorContext,
  Receiver,
  ReceiverContext,
} from "./runtime/contract/component.js";
export { IDEMPOTENCY_HEADER } from "./runtime/contract/component.js";
export type { Exporter, SendOptions } from "./runtime/contract/exporter.js";
export { limitedLog } from "./runtime/contract/limited-log.js";
export type { Counter, Histogram, Logger, Metrics } from "./runtime/contract/observability.js";

// Processors made from a function of one record or one batch, and processors that hold data back.

export { Batcher, type BatcherSettings } from "./runtime/contract/operators/batcher.js";
export {
  type BatchResult,
  type DeliveryHandlers,
  type DeliveryOutput,
  type EachBatchOptions,
  eachBatch,
  statefulProcessor,
} from "./runtime/contract/operators/each-batch.js";
export {
  type EachRecordOptions,
  eachRecord,
  type RecordResult,
  type RecordSetback,
} from "./runtime/contract/operators/each-record.js";

// Deliveries: a batch and the debt to its sender; refusals and dead letters.

export { type DeadLetter, deadLetter, type Setback } from "./runtime/contract/dead-letter.js";
export type { Outcome } from "./runtime/contract/debt.js";
export type { PartialRejection } from "./runtime/contract/delivery.js";
export { Delivery, type Origin } from "./runtime/contract/delivery.js";
export type { RefusalKind } from "./runtime/contract/errors/error-codes.js";
export { isRefusal, Refusal, type RefusalCategory, type RefusalOptions } from "./runtime/contract/errors/refusal.js";
export type { FailureReason } from "./runtime/contract/operations/failure-reasons.js";

// Batches: creating, splitting, and conversion to JSON or plain objects.

export { Batch } from "./runtime/otlp/batch.js";
export { type SplitLimits, splitBatch } from "./runtime/otlp/edit/split-batch.js";
export { batchFromJson, batchToJson } from "./runtime/otlp/json/batch-json.js";
export { decodeTree, encodeTree, type Tree } from "./runtime/otlp/json/tree.js";
export { isMalformed, MalformedError } from "./runtime/otlp/signals/malformed.js";
export { SIGNALS, type Signal } from "./runtime/otlp/signals/signal.js";

// Records: views of log records, spans and data points.

export { asDouble, type Value } from "./runtime/otlp/bytes/value.js";
export { type AnyRecordView, editRecords, type RecordVerdict, readRecords } from "./runtime/otlp/edit/edit-records.js";
export type { Attributes } from "./runtime/otlp/views/attributes.js";
export type { DataPointView } from "./runtime/otlp/views/data-point-view.js";
export type { LogRecordView } from "./runtime/otlp/views/log-record-view.js";
export type { SpanView } from "./runtime/otlp/views/span-view.js";

// Schemas: the config of a component.

export type { ConfigSchema } from "./runtime/contract/schema/config-schema.js";
export {
  byteSize,
  caseInsensitiveEnum,
  deprecated,
  duration,
  headers,
  ignored,
  secret,
  section,
  unsupported,
} from "./runtime/contract/schema/schema.js";

// Versioning: upcasts of events in code.

export { defineVersioning, type VersioningDefinition } from "./processors/versioning/component.js";
export type { Upcaster, VersionedEvent } from "./processors/versioning/upcast.js";

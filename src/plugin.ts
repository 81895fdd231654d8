/** The door for component authors: all that a receiver, processor, exporter, connector or extension needs. */

export type * from "./runtime/contract/clock.js";
export * from "./runtime/contract/component.js";
export { Delivery, type Origin, type Outcome, type PartialRejection } from "./runtime/contract/delivery.js";
export { type BatchResult, eachBatch } from "./runtime/contract/each-batch.js";
export { eachRecord } from "./runtime/contract/each-record.js";
export * from "./runtime/contract/observability.js";
export * from "./runtime/contract/refusal.js";
export * from "./runtime/contract/schema.js";
export { type Endpoint, formatEndpoint, parseEndpoint } from "./runtime/net/endpoint.js";
export {
  isPortTaken,
  listenFailure,
  type SmallAnswer,
  type SmallServer,
  type SmallServerSettings,
  startSmallServer,
} from "./runtime/net/small-server.js";
export { Batch } from "./runtime/telemetry/batch.js";
export { type AnyRecordView, editRecords, type RecordVerdict, readRecords } from "./runtime/telemetry/edit.js";
export { batchFromJson, batchToJson } from "./runtime/telemetry/json.js";
export { isMalformed, MalformedError } from "./runtime/telemetry/malformed.js";
export { SHAPES, SIGNALS, type Signal } from "./runtime/telemetry/signal.js";
export { type SplitLimits, splitBatch } from "./runtime/telemetry/split.js";
export { decodeTree, encodeTree, type Tree, type TreeValue } from "./runtime/telemetry/tree.js";
export type { Attributes } from "./runtime/telemetry/views/attributes.js";
export { asDouble, type Value } from "./runtime/telemetry/views/value.js";

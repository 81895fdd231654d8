/** The door for component authors: all that a receiver, processor, exporter, connector or extension needs. */

export * from "./runtime/contract/admin.js";
export { Batcher, type BatcherSettings } from "./runtime/contract/batcher.js";
export type * from "./runtime/contract/clock.js";
export * from "./runtime/contract/component.js";
export { type ConfigSchema, configSchema } from "./runtime/contract/config-schema.js";
export {
  DeadLetter,
  deadLetter,
  isDeadLetter,
  refusalOfSetback,
  type Setback,
} from "./runtime/contract/dead-letter.js";
export {
  Delivery,
  type Origin,
  type Outcome,
  type PartialRejection,
  validateRejection,
} from "./runtime/contract/delivery.js";
export { directOutlet } from "./runtime/contract/direct-outlet.js";
export { type BatchResult, type EachBatchOptions, eachBatch } from "./runtime/contract/each-batch.js";
export {
  type EachRecordOptions,
  eachRecord,
  type RecordResult,
  type RecordSetback,
} from "./runtime/contract/each-record.js";
export type * from "./runtime/contract/entry.js";
export { FAILURE_REASONS } from "./runtime/contract/entry.js";
export {
  type CompleteSettings,
  completeSettings,
  type ExporterSettings,
} from "./runtime/contract/exporter-settings.js";
export { limitedLog } from "./runtime/contract/limited-log.js";
export * from "./runtime/contract/observability.js";
export type * from "./runtime/contract/outlet.js";
export { glob, parseRecordPattern, type RecordPattern } from "./runtime/contract/record-pattern.js";
export * from "./runtime/contract/refusal.js";
export * from "./runtime/contract/schema.js";
export { createMatcher, type MatchConfig, type Matcher, matchSchema } from "./runtime/match/match.js";
export { compilePattern, type Pattern } from "./runtime/match/pattern.js";
export * from "./runtime/net/decompress.js";
export * from "./runtime/net/endpoint.js";
export { gzip } from "./runtime/net/gzip.js";
export { listen } from "./runtime/net/listen.js";
export {
  isPortInUse,
  listenFailure,
  type SimpleHttpResponse,
  type SimpleHttpServer,
  type SimpleHttpServerSettings,
  startSimpleHttpServer,
} from "./runtime/net/small-server.js";
export * from "./runtime/net/tls-config.js";
export * from "./runtime/net/tls-load.js";
export { reloadServerTls } from "./runtime/net/tls-reload.js";
export * from "./runtime/otlp/answer.js";
export * from "./runtime/otlp/grpc-frame.js";
export * from "./runtime/otlp/grpc-status.js";
export * from "./runtime/otlp/refusals.js";
export { decodeResponse, encodeResponse } from "./runtime/otlp/response.js";
export * from "./runtime/otlp/services.js";
export { decodeStatus, encodeStatus, type RpcStatus } from "./runtime/otlp/status.js";
export { type Condition, compileCondition, compileStatement, type Statement } from "./runtime/ottl/compiled.js";
export { CONTEXT_SIGNALS, CONTEXTS, type ContextName } from "./runtime/ottl/context.js";
export { isOttlError, isOttlSyntaxError, OttlError, OttlSyntaxError, pointAt } from "./runtime/ottl/error.js";
export { ERROR_MODES, type ErrorMode, errorHandler } from "./runtime/ottl/error-mode.js";
export {
  type CompiledGroup,
  compileIn,
  compileInferred,
  contextNamed,
  ottlIssue,
  SIGNAL_CONTEXTS,
} from "./runtime/ottl/infer.js";
export {
  exporterSettingsSchema,
  parseRecordCondition,
  type RecordCondition,
  recordCondition,
} from "./runtime/ottl/record-condition.js";
export {
  anyMatches,
  ConditionSet,
  dropWhere,
  keepWhere,
  type OnOttlError,
  partitionWhere,
  transformBatch,
} from "./runtime/ottl/run.js";
export { type CountSpec, countWhere, type MatchCount, type ResourceCounts } from "./runtime/ottl/tally.js";
export { DETECTORS, type DetectorName } from "./runtime/pii/detect/detectors.js";
export { STRATEGIES, type Strategy } from "./runtime/pii/strategies.js";
export { PiiTreatment, type PiiTreatmentSettings } from "./runtime/pii/treatment.js";
export { FNV64_START, fnv64 } from "./runtime/sampling/fnv.js";
export { type OnDecided, ThresholdSampler, type ThresholdSamplerSettings } from "./runtime/sampling/probabilistic.js";
export {
  RATE_ATTRIBUTE,
  type RateRules,
  RateSampler,
  type RateSamplerSettings,
  type RecordFacts,
} from "./runtime/sampling/rate-sampler.js";
export { batchOfSlices, isSameSpan, type SpanSlice, sliceByTrace } from "./runtime/sampling/trace-slices.js";
export { parseValuePath, type ValuePath } from "./runtime/sampling/value-path.js";
export { Batch } from "./runtime/telemetry/batch.js";
export {
  type AnyRecordView,
  editRecords,
  type RecordVerdict,
  RecordViews,
  readRecords,
} from "./runtime/telemetry/edit.js";
export {
  type AttributeOwner,
  type FieldVisitor,
  rewriteFields,
  type TextField,
} from "./runtime/telemetry/field-walk.js";
export { isRegroupOverflow, RegroupOverflow } from "./runtime/telemetry/group-tree.js";
export { batchFromJson, batchToJson } from "./runtime/telemetry/json.js";
export { isMalformed, MalformedError } from "./runtime/telemetry/malformed.js";
export { partitionByMarks } from "./runtime/telemetry/partition.js";
export { RecordReader } from "./runtime/telemetry/record-reader.js";
export { type Regrouped, regroup } from "./runtime/telemetry/regroup.js";
export type { Rewriter } from "./runtime/telemetry/rewriter.js";
export { SHAPES, SIGNALS, type Signal } from "./runtime/telemetry/signal.js";
export { type SplitLimits, SplitOverflow, splitBatch } from "./runtime/telemetry/split.js";
export { SummaryAttributes } from "./runtime/telemetry/summary-attributes.js";
export { decodeTree, encodeTree, type Tree, type TreeValue } from "./runtime/telemetry/tree.js";
export {
  rewriteAttribute,
  rewriteValue,
  type ValueVerdict,
  type ValueVisitor,
} from "./runtime/telemetry/value-walk.js";
export type { Attributes } from "./runtime/telemetry/views/attributes.js";
export type { DataPointView } from "./runtime/telemetry/views/data-point-view.js";
export type { LogRecordView } from "./runtime/telemetry/views/log-record-view.js";
export type { SpanView } from "./runtime/telemetry/views/span-view.js";
export { asDouble, type Value } from "./runtime/telemetry/views/value.js";
export { DROP, KEEP, type RecordVisitor, RecordWalk, type Verdict } from "./runtime/telemetry/walk.js";
export { splitLines } from "./runtime/text/lines.js";
export { type Paint, painterFor, printable, type Style } from "./runtime/text/terminal.js";
export { defineVersioning, type VersioningDefinition } from "./runtime/versioning/define-versioning.js";
export type { Upcaster, VersionedEvent } from "./runtime/versioning/upcast.js";

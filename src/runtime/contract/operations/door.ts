/** Data and actions for operators: entries, dead letters, replays, the audit, the graph. */

export type { GraphDescription, GraphEdge, GraphNode } from "../inspect/graph.js";
export { layerGraph, type Slot } from "../inspect/graph-layers.js";
export type { AgentInspection, BatchWatcher, EdgeWatcher, NodeCounts, Traffic } from "../inspect/inspection.js";
export { sampleTraffic } from "../inspect/sample-traffic.js";
export { TapBudget } from "../inspect/tap-budget.js";
export {
  type Admin,
  AdminError,
  type AdminErrorCode,
  DEAD_LETTER_QUERY,
  type DeadLetterEdit,
  type DeadLetterPage,
  type DeadLetterQuery,
  type DeadLetterStats,
  type ExporterStatus,
  type ImportReport,
  RECORD_FILTERS,
  type ReplayOptions,
  type RevealOptions,
  type Selection,
} from "./admin.js";
export {
  AUDITED_ACTIONS,
  type AuditedAction,
  type AuditPage,
  type AuditQuery,
  type AuditRecord,
  type Operator,
} from "./audit.js";
export type {
  ConfigControl,
  ConfigGeneration,
  ReloadOptions,
  ReloadOutcome,
  ReloadReport,
  RemoteConfigControl,
  RemoteConfigFile,
  RemoteConfigResult,
} from "./config-control.js";
export { DEAD_LETTER_PREFIX, type DeadLetterAttributes, deadLetterOf } from "./dead-letter-attributes.js";
export type { DeadLetterGroup, DeadLetterGroups } from "./dead-letter-groups.js";
export {
  type BatchFacts,
  DEAD_LETTER_FACTS,
  type DeadLetterLanguage,
  type RecordCondition,
  type Transform,
} from "./dead-letter-language.js";
export {
  type Attempt,
  type AttemptError,
  type Cycle,
  type Entry,
  type EntryEdit,
  type Failure,
  revisionOf,
} from "./entry.js";
export { FAILURE_REASONS, FAILURE_RULES, type FailureReason, type FailureRule, ruleOf } from "./failure-reasons.js";
export { fromIsoTimes, withIsoTimes } from "./iso-times.js";
export type { AdoptOptions, OrphanedQueue, OrphanedQueues, QueueAdoption } from "./orphaned-queues.js";
export { reasonLog } from "./reason-log.js";
export { ReceiverHealth, type SourceHealth } from "./receiver-health.js";
export type { ReceiverStatus } from "./receiver-status.js";
export type { ReplayEnd, ReplayJob, ReplayOutcome, ReplayReport, ReplaySample, ReplaySkip } from "./replay-job.js";
export type { WorkerPart, WorkerStatus } from "./workers.js";

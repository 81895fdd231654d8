/**
 * For programs that run Sluice inside themselves: start a config in this process, emit into it, and look after its dead
 * letters.
 */

// An instance, and what it is made of.

export type { Clock } from "./runtime/contract/clock.js";
export type { ComponentFactory } from "./runtime/contract/component.js";
export type { Logger } from "./runtime/contract/observability.js";
export type { SluiceConfig } from "./runtime/embed/load-embedded.js";
export { createSluice, type Sluice, type SluiceOptions, type SluiceStatus } from "./runtime/embed/sluice.js";

// What is wrong with a config.

export type { Place, Problem } from "./runtime/config/text/problem.js";
export { SluiceConfigError } from "./runtime/embed/config-error.js";

// What goes in, and what becomes of it.

export type { Outcome } from "./runtime/contract/debt.js";
export { isRefusal, Refusal, type RefusalKind, type RefusalOptions } from "./runtime/contract/refusal.js";
export type { EmitOptions, LogEmitter } from "./runtime/embed/log-emitter.js";
export type { LogInput, SeverityName } from "./runtime/embed/log-record.js";
export type { PinoDestination } from "./runtime/embed/pino/destination.js";
export type { Batch } from "./runtime/telemetry/batch.js";
export type { Signal } from "./runtime/telemetry/bytes/signal.js";

// Dead letters, status and metrics.

export {
  AdminError,
  type AdminErrorCode,
  type DeadLetterPage,
  type DeadLetterQuery,
  type DeadLetterStats,
  type ExporterStatus,
  type ImportReport,
  type ReplayOptions,
  type ReplayReport,
  type ReplaySkip,
  type Selection,
} from "./runtime/contract/admin.js";
export type { Attempt, AttemptError, Cycle, Entry, Failure } from "./runtime/contract/entry.js";
export type { FailureReason } from "./runtime/contract/operations/failure-reasons.js";
export type { DeadLetters } from "./runtime/embed/dead-letters.js";
export type { MetricSample } from "./runtime/embed/metric-samples.js";

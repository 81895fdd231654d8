/** For programs that embed Sluice: run a config in this process, emit into it, and manage its dead letters. */

// Instances and their settings.

export type { SluiceConfig } from "./agent/embed/load-embedded.js";
export { createSluice, type Sluice, type SluiceOptions, type SluiceStatus } from "./agent/embed/sluice.js";
export type { Clock } from "./runtime/contract/clock.js";
export type { ComponentFactory } from "./runtime/contract/component.js";
export type { RefusalKind } from "./runtime/contract/errors/error-codes.js";
export type { Logger } from "./runtime/contract/observability.js";
export type { ReplayReport, ReplaySkip } from "./runtime/contract/operations/replay-job.js";

// Problems of a config.

export { SluiceConfigError } from "./agent/embed/config-error.js";
export type { Place, Problem } from "./runtime/config/text/problem.js";

// Input and its outcome.

export type { EmitOptions, LogEmitter } from "./agent/embed/log-emitter.js";
export type { LogInput, SeverityName } from "./agent/embed/log-record.js";
export type { PinoDestination } from "./agent/embed/pino/destination.js";
export type { Outcome } from "./runtime/contract/debt.js";
export { isRefusal, Refusal, type RefusalOptions } from "./runtime/contract/errors/refusal.js";
export type { Batch } from "./runtime/otlp/batch.js";
export type { Signal } from "./runtime/otlp/signals/signal.js";

// Dead letters, status and metrics.

export type { DeadLetters } from "./agent/embed/dead-letters.js";
export type { MetricSample } from "./agent/embed/embedded-telemetry.js";
export {
  AdminError,
  type AdminErrorCode,
  type DeadLetterPage,
  type DeadLetterQuery,
  type DeadLetterStats,
  type ExporterStatus,
  type ImportReport,
  type ReplayOptions,
  type Selection,
} from "./runtime/contract/operations/admin.js";
export type { Attempt, AttemptError, Cycle, Entry, Failure } from "./runtime/contract/operations/entry.js";
export type { FailureReason } from "./runtime/contract/operations/failure-reasons.js";

/** The interfaces of components and their contexts; deliveries, debts and dead letters. */

export {
  AUTH_PREFIX,
  AuthError,
  type AuthenticatedClient,
  type Authenticators,
  type AuthHeaders,
  type AuthSide,
  type ClientAuthenticator,
  type ClientAuthRequest,
  isAuthError,
  type ServerAuthenticator,
  type ServerAuthRequest,
} from "./auth.js";
export { type Blame, blameOf, mayBePoison } from "./blame.js";
export { entriesOfKey, GroupKey, type KeyedEntry } from "./calls/group-key.js";
export { type Clock, MAX_CLOCK_STEP_MS, SteadyTime, systemClock } from "./clock.js";
export {
  CONTRACT_VERSION,
  type ComponentContext,
  type ComponentFactory,
  type ComponentKind,
  type ExporterContext,
  type ExporterFactory,
  type HeldBytesLimit,
  IDEMPOTENCY_HEADER,
  type Intake,
  type NamedPipeline,
  type Processor,
  type ProcessorContext,
  type ProcessorFactory,
  type Receiver,
  type ReceiverContext,
  type ReceiverFactory,
  type ReplayStep,
  ZONES,
  type Zone,
} from "./component.js";
export { deadLetter, refusalOfSetback, type Setback } from "./dead-letter.js";
export { ACCEPTED, Debt, type FailureHandler, HeldDebts, type Outcome, possiblyRejected } from "./debt.js";
export { defineExporter, defineReceiver } from "./define.js";
export { Delivery, type Origin, type PartialRejection } from "./delivery.js";
export type { Exporter, SendOptions } from "./exporter.js";
export { limitedLog } from "./limited-log.js";
export type { ListenSockets, ServerListener } from "./listen-sockets.js";
export type { MessageSource, MessageWatch } from "./message-source.js";
export {
  type Counter,
  type Histogram,
  type Logger,
  type MetricAttributes,
  type MetricDescription,
  type Metrics,
  noMetrics,
  silentLogger,
} from "./observability.js";
export type { DurableIntake } from "./operators/outlet.js";
export type { GraphPlan, PipelineErrorMode, PlannedComponent, PlannedExporter, PlannedPipeline } from "./plan.js";

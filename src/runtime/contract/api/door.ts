/** The API for operators: its operations, and what they answer. */

export type {
  AgentState,
  AgentSummary,
  Alert,
  Answers,
  CutRehearsal,
  ExporterCounts,
  ExporterReading,
  LastRehearsal,
  NodeHistory,
  NodeRates,
  OtherAgent,
  OttlTrialResult,
  Overview,
  RateName,
  Sample,
  StateCounts,
  TappedRecord,
} from "./answers.js";
export { ADMIN_ROLES, type AdminRole, OPERATIONS, type OperationName } from "./operations.js";

/** Rehearsals of a config: the report, and the control of a running agent's rehearsals. */

export type { RehearsalControl, RehearsalRequest, RehearsalStatus, RehearsedChange } from "./rehearsal-control.js";
export type {
  ErrorComparison,
  ExporterComparison,
  FieldChange,
  FieldComparison,
  RecordExample,
  RehearsalErrorKind,
  RehearsalReport,
  RehearsedAmount,
  SampleFacts,
  ShownRecord,
} from "./rehearsal-report.js";

/** The API's answers as the console gets them, made from the agent's own types. Older agents may leave members out. */

import type {
  Alert as AgentAlert,
  AgentAnswer,
  ExporterReading as AgentExporterReading,
  OtherAgent as AgentOfList,
  Overview as AgentOverview,
  Sample as AgentSample,
  StateCounts as AgentStateCounts,
  TappedRecord as AgentTappedRecord,
  Answers,
  NodeHistory,
  OttlTrialResult,
  ShownRehearsal,
} from "../../src/runtime/contract/api/answers.js";
import type {
  ReplayReport as AgentReplayReport,
  ReplaySample as AgentReplaySample,
  ReplayJob,
} from "../../src/runtime/contract/operations/replay-job.js";

export type { GraphDescription as Graph, GraphEdge, GraphNode } from "../../src/runtime/contract/inspect/graph.js";

/** ISO 8601; a number is milliseconds since 1970. */
export type Time = string | number;

/** What arrives of a value that was sent as JSON: times are texts, see `withIsoTimes`. */
export type Json<T> = T extends readonly (infer Item)[]
  ? readonly Json<Item>[]
  : T extends object
    ? { readonly [Key in keyof T]: Key extends TimeKey ? TimeOf<T[Key]> : Json<T[Key]> }
    : T;
type TimeKey = "at" | "since" | "until" | `${string}At`;
type TimeOf<T> = T extends number ? Time : Json<T>;

/** The answer of an operation: `Answer<"GET /exporters">`. */
export type Answer<At extends keyof Answers> = Json<Answers[At]>;

export type Agent = Json<AgentAnswer>;
export type Overview = Json<AgentOverview>;
export type Alert = Json<AgentAlert>;
export type StateCounts = Json<AgentStateCounts>;
export type OtherAgent = Json<AgentOfList>;
export type Exporter = Answer<"GET /exporters/:id">;
export type Receiver = Answer<"GET /receivers">["receivers"][number];
export type Worker = Answer<"GET /workers">["workers"][number];
export type History = Json<NodeHistory>;
export type Sample = Json<AgentSample>;
export type ExporterReading = Json<AgentExporterReading>;
export type TappedRecord = Json<AgentTappedRecord>;
export type OttlResult = Json<OttlTrialResult>;

export type Entry = Answer<"GET /dead-letters">["entries"][number];
export type Cycle = Entry["cycles"][number];
/** A change of an entry's payload by an operator; revision 0 is the original payload. */
export type Edit = NonNullable<Entry["edits"]>[number];
export type GroupPage = Answer<"GET /dead-letters/groups">;
export type Group = GroupPage["groups"][number];
/** Newer agents may record other actions. */
export type AuditRecord = Omit<Answer<"GET /audit">["records"][number], "action"> & { readonly action: string };

type Job = Json<Omit<ReplayJob, "report">>;
/** Older agents tell less. */
export type Replay = Pick<Job, "id" | "state" | "startedAt" | "total"> &
  Partial<Job> & { readonly skipped?: ReplayReport["skipped"] };
export type ReplayCause = NonNullable<Replay["causes"]>[number];
export type ReplayOutcome = NonNullable<Replay["outcomes"]>[number];
/** The result of a replay, or the expected result of a dry run. */
export type ReplayReport = Json<AgentReplayReport>;
export type ReplaySample = Json<AgentReplaySample>;
export type SkippedExample = ReplayReport["examples"][number];

export interface DryRun extends Omit<ReplayReport, "selected" | "replayed"> {
  readonly total: number;
  readonly wouldReplay: number;
}

export type RunningConfig = Answer<"GET /config">;
export type ReloadReport = Answer<"POST /config/reload">;
/** An error or warning of a config, with its place. */
export type ConfigProblem = ReloadReport["problems"][number];
export type Rehearsal = Json<ShownRehearsal>;
export type RehearsalReport = NonNullable<Rehearsal["report"]>;

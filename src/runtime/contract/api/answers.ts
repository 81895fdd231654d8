import type { Signal } from "#otlp/signals";
import type { InsightAnswer, InsightCut, InsightCutRehearsal } from "../insight/insight-answers.js";
import type { AgentFacts, GraphDescription } from "../inspect/graph.js";
import type { DeadLetterPage, DeadLetterStats, ExporterStatus, ImportReport } from "../operations/admin.js";
import type { AuditPage } from "../operations/audit.js";
import type { ConfigControl, ConfigGeneration, ReloadReport } from "../operations/config-control.js";
import type { DeadLetterGroups } from "../operations/dead-letter-groups.js";
import type { Entry } from "../operations/entry.js";
import type { OrphanedQueue, QueueAdoption } from "../operations/orphaned-queues.js";
import type { ReceiverStatus } from "../operations/receiver-status.js";
import type { ReplayJob } from "../operations/replay-job.js";
import type { WorkerStatus } from "../operations/workers.js";
import type { RehearsalStatus } from "../rehearsal/rehearsal-control.js";
import type { Rehydration } from "../rehydration/rehydration.js";
import type { AdminRole } from "./operations.js";

/**
 * The answers of every operation of the API, by method and path; for streams, the data of an event. The routes are
 * checked against it, and the console's types and `docs/openapi.yaml` are made from it. The answers have times as
 * ISO 8601, see `withIsoTimes`.
 */
export interface Answers {
  "GET /agent": AgentAnswer;
  "GET /graph": GraphDescription;
  "GET /graph/nodes/:id/config": {
    readonly yaml: string;
    /** The same as plain values. */
    readonly json: unknown;
  };
  "GET /me": {
    /** The name in the audit. */
    readonly name: string;
    readonly roles: readonly AdminRole[];
    /** Whether this is the token of the token file. */
    readonly owner: boolean;
  };
  "GET /console": {
    readonly routes: readonly string[];
    readonly filters: readonly string[];
    readonly replay: readonly string[];
    /** The roles of the caller. */
    readonly roles: readonly AdminRole[];
    /** The address of a trace, with {trace_id} for its id. */
    readonly traceUrl?: string;
  };
  "GET /live": Sample;
  "GET /overview": Overview;
  "GET /history": NodeHistory;
  "GET /tap": TappedRecord;
  "POST /samples": SentBatch;
  "GET /insight": InsightAnswer;
  "GET /insight/cut": InsightCut;
  "GET /insight/cut/rehearsal": CutRehearsal;
  "POST /insight/cut/rehearsal": CutRehearsal;
  "DELETE /insight/cut/rehearsal": CutRehearsal;
  "POST /ottl": OttlResults;
  "GET /receivers": { readonly receivers: readonly ReceiverStatus[] };
  "GET /workers": { readonly workers: readonly WorkerStatus[] };
  "GET /exporters": { readonly exporters: readonly ExporterStatus[] };
  "GET /exporters/:id": ExporterStatus;
  "POST /exporters/:id/pause": ExporterStatus;
  "POST /exporters/:id/resume": ExporterStatus;
  "POST /exporters/:id/retry": ExporterStatus;
  "POST /exporters/:id/breaker": ExporterStatus;
  "POST /exporters/:id/replay-rate": ExporterStatus;
  "GET /queues/orphaned": { readonly queues: readonly OrphanedQueue[] };
  "GET /queues/orphaned/:id/adoption": QueueAdoption;
  "POST /queues/orphaned/:id/adopt": QueueAdoption;
  "POST /queues/orphaned/:id/delete": {
    /** Number of entries; null if it is not known. */
    readonly deleted: number | null;
  };
  "GET /dead-letters": DeadLetterPage;
  "GET /dead-letters/stats": DeadLetterStats;
  "GET /dead-letters/groups": DeadLetterGroups;
  "GET /dead-letters/export": string;
  "POST /dead-letters/export": string;
  "POST /dead-letters/import": ImportReport;
  "POST /dead-letters/purge": { readonly deleted: number; readonly dryRun: boolean };
  "POST /dead-letters/restore": { readonly restored: number };
  "POST /dead-letters/replay": ReplayJob;
  "GET /dead-letters/:id": { readonly entry: Entry } & Partial<ShownPayload>;
  "POST /dead-letters/:id/reveal": { readonly entry: Entry } & ShownPayload;
  "POST /dead-letters/:id/edit": { readonly entry: Entry };
  "DELETE /dead-letters/:id": { readonly deleted: number };
  "GET /replays": { readonly replays: readonly ReplayJob[] };
  "GET /replays/:id": ReplayJob;
  "DELETE /replays/:id": ReplayJob;
  "GET /replays/:id/events": Omit<ReplayJob, "outcomes">;
  "POST /replays/:id/pause": ReplayJob;
  "POST /replays/:id/resume": ReplayJob;
  "POST /replays/:id/cancel": ReplayJob;
  "POST /rehydrations": Rehydration;
  "GET /rehydrations": { readonly rehydrations: readonly Rehydration[] };
  "GET /rehydrations/:id": Rehydration;
  "DELETE /rehydrations/:id": Rehydration;
  "GET /audit": AuditPage;
  "GET /config": RunningConfig;
  "POST /config/reload": ReloadReport;
  "GET /config/rehearsal": LastRehearsal;
  "POST /config/rehearsal": LastRehearsal;
  "DELETE /config/rehearsal": LastRehearsal;
  "GET /agents": { readonly agents: readonly OtherAgent[] };
}

/** The agent, and the warnings about its config. */
export interface AgentAnswer extends Omit<AgentFacts, "startedAt"> {
  readonly state: string;
  readonly generation: string | undefined;
  /** How many configs it has run with; older agents do not tell. */
  readonly generationNumber?: number | undefined;
  readonly startedAt: string;
}

/** The config that runs. */
interface RunningConfig {
  readonly generation: ConfigGeneration;
  /** Whether a reload would change something, or fail. */
  readonly differs: boolean;
  readonly lastReload: NonNullable<ConfigControl["lastReload"]> | null;
}

interface ShownPayload {
  readonly masked: boolean;
  /** An OTLP/JSON request; null for an entry that was delivered. */
  readonly payload: unknown;
}

type PlainObject = Readonly<Record<string, unknown>>;

/** A record that passes an edge, as OTLP/JSON and masked. */
export interface TappedRecord {
  readonly at: string;
  readonly edge: string;
  readonly signal: Signal;
  readonly record: PlainObject;
  readonly resource: PlainObject;
  readonly scope: PlainObject;
}

/** A batch as its receiver handed it in, unmasked. */
interface SentBatch {
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly receiver: string;
  readonly signal: Signal;
  /** An OTLP request as protobuf, in base64. */
  readonly payload: string;
}

/** Null if there was none since the agent started. */
export interface LastRehearsal {
  readonly rehearsal: ShownRehearsal | null;
}

/** `secondsLeft`: until the sample is complete. */
export type ShownRehearsal = RehearsalStatus & { readonly secondsLeft: number };
export type CutRehearsal = InsightCutRehearsal<ShownRehearsal>;

interface OttlResults {
  readonly results: readonly OttlTrialResult[];
}

/** The effect of one text. Each statement continues with the result of the previous one. */
export interface OttlTrialResult {
  readonly statement: string;
  readonly context?: string;
  readonly changed: boolean;
  /** For a condition: whether it holds. */
  readonly matched?: boolean;
  /** Why it does not compile or failed on the record; the record is then unchanged. */
  readonly error?: string;
  /** The error's position in the text, counted from 0. */
  readonly offset?: number;
  readonly record: PlainObject;
  readonly resource?: PlainObject;
  readonly scope?: PlainObject;
}

/** How the agent is, at a glance. Times are milliseconds since the epoch. */
export interface Overview {
  /** The worst state of all exporters, receivers and workers. */
  readonly state: ExporterStatus["state"];
  readonly alerts: readonly Alert[];
  readonly exporters: StateCounts;
  readonly receivers: StateCounts;
  readonly workers: { readonly total: number; readonly ready: number };
  readonly queue: {
    readonly entries: number;
    readonly items: number;
    readonly bytes: number;
    /** When the oldest entry came in, and the exporter that it waits for. */
    readonly oldestAt?: number;
    readonly oldestOf?: string;
  };
  readonly deadLetters: { readonly entries: number; readonly items: number };
}

/** How many are in each state, and those that are not well. */
export interface StateCounts {
  readonly total: number;
  readonly up: number;
  readonly degraded: number;
  readonly down: number;
  readonly unwell: readonly { readonly id: string; readonly state: ExporterStatus["state"]; readonly why: string }[];
}

/** An alert of packaging/prometheus/alerts.yaml whose condition holds. Times are milliseconds since the epoch. */
export interface Alert {
  readonly name: string;
  readonly severity: "critical" | "warning";
  /** `pending`: the condition holds, but not for as long as the rule demands. */
  readonly state: "pending" | "firing";
  /** The exporter or receiver. */
  readonly target: string;
  readonly since: number;
  readonly summary: string;
}

/** The activity of a node step by step, the oldest first. `from` is when the first step began. */
export interface NodeHistory {
  readonly stepMs: number;
  readonly from: string;
  readonly series: Readonly<Record<string, readonly number[]>>;
}

/** The rates since the previous sample. */
export interface Sample {
  readonly at: string;
  readonly edges: Readonly<Record<string, { readonly perSecond: number }>>;
  readonly nodes: Readonly<Record<string, NodeRates>>;
  readonly exporters: Readonly<Record<string, ExporterReading>>;
}

/** Records per second of a node, over one step. */
export type NodeRates = Readonly<Record<RateName, number>>;

export type RateName = "in" | "out" | "dropped" | "refused" | "failed";

/** The present state of an exporter; `queueAge` is in seconds. */
export interface ExporterReading {
  readonly state: ExporterStatus["state"];
  readonly breaker: ExporterStatus["breaker"]["state"];
  readonly paused: boolean;
  readonly queueEntries: number;
  readonly queueBytes: number;
  readonly queueAge: number;
  readonly deadLetters: number;
}

/** A row of the list: an agent that the config names, and what it answered last. */
export interface OtherAgent extends Omit<AgentSummary, "state"> {
  readonly name: string;
  /** Where a browser finds its console. */
  readonly consoleUrl: string;
  /** `WAITING`: it was not read yet. */
  readonly state: AgentSummary["state"] | "WAITING";
  /** When it was read, in milliseconds since the epoch. */
  readonly readAt?: number;
}

/** The state of another agent, for display. Every text in it came from that agent. */
export interface AgentSummary {
  readonly state: AgentState;
  /** Why it could not be read. */
  readonly problem?: string;
  readonly agent?: Omit<AgentAnswer, "pipelines" | "warnings" | "generation"> & { readonly generation: string };
  /** Undefined if the agent has no queues. */
  readonly exporters?: ExporterCounts;
}

/**
 * `UP`, `DEGRADED`, `DOWN`: the worst of its exporters, or DOWN if it is not ready. `UNREACHABLE`: it does not answer.
 * `DENIED`: it refuses the token. `INVALID`: what answers is no Sluice agent.
 */
export type AgentState = "UP" | "DEGRADED" | "DOWN" | "UNREACHABLE" | "DENIED" | "INVALID";

/** Numbers of exporters, of their breakers that are not closed, of dead letters, and of what waits in queues. */
export interface ExporterCounts {
  readonly total: number;
  readonly degraded: number;
  readonly down: number;
  readonly paused: number;
  readonly openBreakers: number;
  readonly halfOpenBreakers: number;
  readonly deadLetters: number;
  readonly queuedEntries: number;
  readonly queuedBytes: number;
}

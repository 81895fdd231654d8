/** The API's response types, as far as the console uses them; docs/openapi.yaml has all fields. */

import type { RehearsalReport } from "../../src/runtime/contract/rehearsal/rehearsal-report.js";

export type { GraphDescription as Graph, GraphEdge, GraphNode } from "../../src/runtime/contract/inspect/graph.js";
export type { RehearsalReport } from "../../src/runtime/contract/rehearsal/rehearsal-report.js";

/** ISO 8601; a number is milliseconds since 1970. */
export type Time = string | number;

export interface Exporter {
  readonly id: string;
  readonly state: "UP" | "DEGRADED" | "DOWN";
  readonly paused: boolean;
  readonly breaker: {
    readonly state: "closed" | "open" | "half_open";
    readonly forced: boolean;
    readonly since?: Time;
    readonly probeAt?: Time;
  };
  readonly refused?: {
    readonly since: Time;
    readonly signals: readonly string[];
    readonly message: string;
    readonly advice: string;
  };
  readonly queue: Amount & {
    readonly enabled: boolean;
    readonly inFlight: number;
    readonly retries?: { readonly entries: number; readonly nextAt: Time };
    readonly writeError?: { readonly code: string; readonly message: string };
  };
  readonly deadLetters: Amount;
  readonly lastSentAt?: Time;
  readonly lastError?: { readonly at: Time; readonly class: string; readonly message: string };
  /** The share of failed sends among `recentCalls`, those of the last minute. */
  readonly failureRate: number;
  readonly recentCalls?: number;
  readonly failureTrend: "rising" | "steady" | "falling";
  readonly replayRate: number;
}

export interface Receiver {
  readonly id: string;
  readonly state: Exporter["state"];
  readonly lastMessageAt?: Time;
  readonly lastError?: { readonly at: Time; readonly source: string; readonly message: string };
  readonly lag?: number;
  readonly reconnects: number;
  readonly down: readonly string[];
  /** Facts about sources, by their names. */
  readonly facts?: Readonly<Record<string, Readonly<Record<string, string | number>>>>;
}

/** A process of an agent with `service.workers`. */
export interface Worker {
  readonly worker: number;
  readonly pid?: number;
  readonly state: "starting" | "ready" | "draining" | "down";
  readonly since: Time;
  readonly restarts: number;
  readonly lastExit?: { readonly at: Time; readonly reason: string };
}

export interface Amount {
  readonly entries: number;
  readonly items: number;
  readonly bytes: number;
  readonly oldestAt?: Time;
}

export interface AttemptError {
  readonly kind?: string;
  readonly class: string;
  readonly message: string;
  readonly code?: string;
  readonly status?: string;
  readonly retryAfterMs?: number;
  readonly stack?: string;
}

export interface Failure {
  readonly at: Time;
  readonly reason: string;
  readonly category: string;
  readonly error: AttemptError;
  readonly signature: string;
  readonly names: readonly string[];
  readonly traceIds: readonly string[];
}

export interface Attempt {
  readonly at: Time;
  readonly error: string;
  readonly message?: string;
  readonly requestItems?: number;
  readonly delayMs?: number;
}

export interface Cycle {
  readonly failure: Failure;
  readonly calls: number;
  readonly replayedAt: Time;
  readonly replayedBy: string;
}

export interface Entry {
  readonly id: string;
  readonly exporter: string;
  readonly pipeline: string;
  readonly signal: string;
  readonly items: number;
  readonly bytes: number;
  readonly enqueuedAt: Time;
  readonly source: {
    readonly receiver: string;
    readonly transport: string;
    readonly metadata?: Readonly<Record<string, string>>;
  };
  readonly state: string;
  readonly attempts: number;
  readonly calls: number;
  readonly history: readonly Attempt[];
  readonly cycles: readonly Cycle[];
  readonly failure?: Failure;
  readonly parent?: string;
  readonly generation?: string;
  readonly replays?: number;
  readonly edits?: readonly Edit[];
  readonly movedFrom?: string;
  readonly forwarded?: { readonly to: string; readonly state: string; readonly error?: string };
}

/** A change of an entry's payload by an operator; revision 0 is the original payload. */
export interface Edit {
  readonly revision: number;
  readonly at: Time;
  readonly by: string;
  readonly reason?: string;
  readonly transform?: readonly string[];
}

/** The causes of dead letters. While `isComplete` is false, only some of them have been counted. */
export interface GroupPage {
  readonly groups: readonly Group[];
  readonly total: number;
  readonly others: number;
  readonly isComplete: boolean;
  readonly looked: number;
  readonly at: Time;
}

export interface Group {
  readonly signature: string;
  readonly exporter: string;
  readonly reason?: string;
  readonly category?: string;
  readonly error: AttemptError | string;
  readonly entries: number;
  readonly items: number;
  readonly firstAt: Time;
  readonly lastAt: Time;
  readonly trend?: readonly number[];
}

/** The last 15 minutes of a node, newest value last. */
export interface History {
  readonly stepMs: number;
  readonly from: Time;
  readonly series: Readonly<Record<string, readonly (number | null)[] | undefined>>;
}

export interface Agent {
  readonly name: string;
  readonly version: string;
  readonly state: string;
  readonly startedAt: Time;
  readonly generation: string;
  readonly pipelines: readonly string[];
  readonly warnings: readonly { readonly message: string; readonly place?: string }[];
}

/** Traffic in the last second, in records per second. */
export interface Sample {
  readonly at: Time;
  readonly edges: Readonly<Record<string, { readonly perSecond: number } | undefined>>;
  readonly nodes: Readonly<Record<string, Readonly<Record<string, number | undefined>> | undefined>>;
  readonly exporters: Readonly<Record<string, ExporterReading | undefined>>;
}

export interface ExporterReading {
  readonly state: Exporter["state"];
  readonly breaker: Exporter["breaker"]["state"];
  readonly paused?: boolean;
  readonly queueEntries: number;
  readonly queueBytes: number;
  readonly deadLetters: number;
}

export interface TappedRecord {
  readonly at: Time;
  readonly edge: string;
  readonly signal: string;
  readonly record: Readonly<Record<string, unknown>>;
  readonly resource?: unknown;
  readonly scope?: unknown;
}

export interface AuditRecord {
  readonly at: Time;
  readonly actor: string;
  readonly from?: string;
  readonly action: string;
  readonly target?: string;
  readonly filter?: unknown;
  readonly count?: number;
  readonly reason?: string;
  readonly outcome: string;
}

export interface Replay {
  readonly id: string;
  readonly state: "running" | "paused" | "done" | "cancelled" | "failed";
  readonly by?: string;
  readonly reason?: string;
  readonly dryRun?: boolean;
  readonly to?: string;
  readonly transform?: readonly string[];
  /** Entries per second; 0 is no limit, and undefined the limit of each exporter. */
  readonly rate?: number;
  readonly causes?: readonly ReplayCause[];
  readonly startedAt: Time;
  readonly endedAt?: Time;
  readonly done?: number;
  readonly total: number;
  readonly queued?: number;
  readonly delivered?: number;
  readonly failedAgain?: number;
  readonly pending?: number;
  readonly skipped?: Readonly<Record<string, number>>;
  readonly error?: string;
  readonly outcomes?: readonly ReplayOutcome[];
  readonly cursor?: string;
}

/** How entries had failed before they were replayed. */
export interface ReplayCause {
  readonly signature: string;
  readonly class: string;
  readonly message: string;
  readonly entries: number;
}

export interface ReplayOutcome {
  readonly id: string;
  readonly outcome: string;
  readonly error?: { readonly class: string; readonly message: string };
}

export interface DryRun {
  readonly total: number;
  readonly wouldReplay: number;
  readonly skipped: Readonly<Record<string, number>>;
  readonly examples?: readonly SkippedExample[];
  readonly samples?: readonly ReplaySample[];
}

export interface SkippedExample {
  readonly id: string;
  readonly reason: string;
  readonly message?: string;
}

/** An entry before and after the replay's changes; `note` says why there is nothing to compare. */
export interface ReplaySample {
  readonly id: string;
  readonly before?: unknown;
  readonly after?: unknown;
  readonly changed?: boolean;
  readonly masked: boolean;
  readonly note?: string;
}

export interface OttlResult {
  readonly statement: string;
  readonly changed: boolean;
  readonly error?: string;
  readonly record: unknown;
}

/** Result of a replay, or the expected result of a dry run. */
export interface ReplayReport {
  readonly selected: number;
  readonly replayed: number;
  readonly skipped: Readonly<Record<string, number>>;
  readonly examples?: readonly SkippedExample[];
  readonly samples?: readonly ReplaySample[];
}

/** An error or warning of a config, with its place. */
export interface ConfigProblem {
  readonly severity: "error" | "warning";
  readonly code: string;
  readonly message: string;
  readonly place?: string;
}

/** The config that runs. */
export interface RunningConfig {
  readonly generation: Generation;
  /** Whether a reload would change something, or fail. */
  readonly differs: boolean;
  readonly lastReload: {
    readonly outcome: ReloadReport["outcome"];
    readonly at: Time;
    readonly problems: readonly ConfigProblem[];
  } | null;
}

export interface Generation {
  readonly number: number;
  readonly hash: string;
  readonly loadedAt: Time;
}

/** The report of a reload, or of a trial of one. */
export interface ReloadReport {
  readonly outcome: "applied" | "unchanged" | "planned" | "invalid" | "rolled_back";
  readonly generation: Generation;
  readonly changes: readonly {
    readonly kind: string;
    readonly id: string;
    readonly pipeline?: string;
    readonly action: "replace" | "add" | "remove";
    readonly reasons: readonly string[];
  }[];
  readonly kept: number;
  readonly settings: readonly string[];
  readonly afterRestart: readonly string[];
  readonly problems: readonly ConfigProblem[];
}

export interface Rehearsal {
  readonly id: string;
  /** A change of the running config that is rehearsed in place of the files. */
  readonly change?: string;
  readonly state: "sampling" | "comparing" | "done" | "failed" | "cancelled";
  readonly by: string;
  readonly startedAt: Time;
  readonly endedAt?: Time;
  readonly seconds: number;
  readonly secondsLeft: number;
  readonly share: number;
  readonly sample: {
    readonly batches: number;
    readonly records: number;
    readonly bytes: number;
    readonly skipped: number;
  };
  readonly progress: number;
  readonly generation: { readonly before: string; readonly after?: string };
  readonly failOn: readonly string[];
  readonly failed: readonly string[];
  readonly problems: readonly ConfigProblem[];
  readonly changedPlugins: readonly string[];
  readonly error?: string;
  readonly report?: RehearsalReport;
}

export interface OtherAgent {
  readonly name: string;
  readonly consoleUrl: string;
  readonly state: Exporter["state"] | "UNREACHABLE" | "DENIED" | "INVALID" | "WAITING";
  readonly problem?: string;
  readonly readAt?: Time;
  readonly agent?: {
    readonly name: string;
    readonly version: string;
    readonly state: string;
    readonly startedAt: Time;
    readonly generation: string;
    readonly generationNumber?: number;
  };
  readonly exporters?: {
    readonly total: number;
    readonly degraded: number;
    readonly down: number;
    readonly paused: number;
    readonly openBreakers: number;
    readonly halfOpenBreakers: number;
    readonly deadLetters: number;
    readonly queuedEntries: number;
    readonly queuedBytes: number;
  };
}

/** How the agent is, at a glance; docs/openapi.yaml explains the fields. */
export interface Overview {
  readonly state: Exporter["state"];
  readonly alerts: readonly Alert[];
  readonly exporters: StateCounts;
  readonly receivers: StateCounts;
  readonly workers: { readonly total: number; readonly ready: number };
  readonly queue: {
    readonly entries: number;
    readonly items: number;
    readonly bytes: number;
    readonly oldestAt?: Time;
    readonly oldestOf?: string;
  };
  readonly deadLetters: { readonly entries: number; readonly items: number };
}

export interface Alert {
  readonly name: string;
  readonly severity: "critical" | "warning";
  readonly state: "pending" | "firing";
  readonly target: string;
  readonly since: Time;
  readonly summary: string;
}

export interface StateCounts {
  readonly total: number;
  readonly up: number;
  readonly degraded: number;
  readonly down: number;
  readonly unwell: readonly { readonly id: string; readonly state: Exporter["state"]; readonly why: string }[];
}

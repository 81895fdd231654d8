import type { Batch } from "#otlp";
import type { GraphDescription, GraphEdge } from "./graph.js";

/**
 * What can be seen of a running agent beside its queues: what it is, how its components are linked, and with what config.
 * For the extensions that show it to people; nothing here changes anything.
 */
export interface AgentInspection {
  readonly agent: AgentFacts;
  readonly graph: GraphDescription;
  /** The config of a node as it counts, defaults filled in and secrets taken out; undefined when there is no such node. */
  configOf(node: string): unknown;
  /** What has passed so far. */
  traffic(): Traffic;
  /** Shows every batch that passes one of these edges, until the returned function is called. */
  watch(edges: readonly GraphEdge[], watcher: EdgeWatcher): () => void;
}

/** Is shown a batch while it passes. It must be quick, for the pipeline waits; what it throws is ignored. */
export type BatchWatcher = (batch: Batch) => void;

/** The same, and on which edge that is; of several edges that the batch takes at once, the first. */
export type EdgeWatcher = (batch: Batch, edge: GraphEdge) => void;

/** Records since the start, by edge and by node. */
export interface Traffic {
  readonly edges: ReadonlyMap<string, number>;
  readonly nodes: ReadonlyMap<string, NodeCounts>;
}

/**
 * Records that came in and went out; that were dropped on purpose; that were given back to the sender; and that failed: dead
 * letters of a processor, and what an exporter gave up.
 */
export interface NodeCounts {
  readonly in: number;
  readonly out: number;
  readonly dropped: number;
  readonly refused: number;
  readonly failed: number;
}

/** Who runs, since when, and what its config was warned of. */
export interface AgentFacts {
  readonly name: string;
  readonly version: string;
  /** Milliseconds since the epoch. */
  readonly startedAt: number;
  readonly pipelines: readonly string[];
  readonly warnings: readonly ConfigWarning[];
}

/** What is doubtful in the config, and where that is: `gateway.yaml:3:7`. */
export interface ConfigWarning {
  readonly message: string;
  readonly place?: string;
}

import type { Batch } from "../../telemetry/batch.js";
import type { Signal } from "../../telemetry/bytes/signal.js";

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

/** The components of a config as nodes, and the ways of data between them as edges. */
export interface GraphDescription {
  readonly nodes: readonly GraphNode[];
  readonly edges: readonly GraphEdge[];
}

/** A processor is a node in each pipeline that has it; other components are one node however many pipelines they are in. */
export interface GraphNode {
  /** Unique among all nodes: a receiver and an exporter may have the same name. */
  readonly id: string;
  readonly kind: "receiver" | "processor" | "connector" | "exporter";
  /** The `type[/name]` of the config. */
  readonly name: string;
  readonly type: string;
  readonly pipelines: readonly string[];
  readonly signals: readonly Signal[];
}

/** From one node to the next in a pipeline; what a connector hands on is on the edges of the pipeline that takes it. */
export interface GraphEdge {
  readonly id: string;
  readonly from: string;
  readonly to: string;
  readonly pipeline: string;
  readonly signal: Signal;
}

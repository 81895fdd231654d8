import type { Signal } from "#otlp/signals";

/** Properties of the agent, with the warnings about its config. */
export interface AgentFacts {
  readonly name: string;
  readonly version: string;
  /** Milliseconds since the epoch. */
  readonly startedAt: number;
  readonly pipelines: readonly string[];
  readonly warnings: readonly ConfigWarning[];
}

/** A warning about the config, and its place: `gateway.yaml:3:7`. */
export interface ConfigWarning {
  readonly message: string;
  readonly place?: string;
}

/** The components of a config as nodes, and the paths of data between them as edges. */
export interface GraphDescription {
  readonly nodes: readonly GraphNode[];
  readonly edges: readonly GraphEdge[];
}

/** A component. A processor has one node in each pipeline; other components have one node in total. */
export interface GraphNode {
  /** Unique among all nodes, because a receiver and an exporter may have the same name. */
  readonly id: string;
  readonly kind: "receiver" | "processor" | "connector" | "exporter";
  /** The `type[/name]` of the config. */
  readonly name: string;
  readonly type: string;
  readonly pipelines: readonly string[];
  readonly signals: readonly Signal[];
}

/**
 * Leads from one node to the next in a pipeline. A connector's output is on the edges of the pipeline that takes it.
 */
export interface GraphEdge {
  readonly id: string;
  readonly from: string;
  readonly to: string;
  readonly pipeline: string;
  readonly signal: Signal;
}

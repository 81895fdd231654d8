import type { Signal } from "#otlp/signals";

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

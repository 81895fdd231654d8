import type { Signal } from "#otlp/signals";

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

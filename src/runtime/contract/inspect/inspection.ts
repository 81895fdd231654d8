import type { Batch } from "#otlp";
import type { AgentFacts, GraphDescription, GraphEdge } from "./graph.js";

/**
 * A read-only view of a running agent in addition to its queues: its properties, how its components are connected, and
 * their config. For extensions that show it to people.
 */
export interface AgentInspection {
  readonly agent: AgentFacts;
  readonly graph: GraphDescription;
  /** The resource attributes of the agent's own telemetry, without an instance id that was made up. */
  readonly resource: Readonly<Record<string, string | number | boolean | string[]>>;
  /** The whole merged config without secrets, as `sluice print-config` shows it; undefined if it is not known. */
  config(): Readonly<Record<string, unknown>> | undefined;
  /** The effective config of a node, with defaults and without secrets; undefined if there is no such node. */
  configOf(node: string): unknown;
  /** The numbers of records so far. */
  traffic(): Traffic;
  /**
   * Calls the watcher with every batch that passes one of these edges, until the returned function is called. An agent
   * with several workers leaves out batches that come too fast, and calls `onMissed` with the number of their records.
   */
  watch(edges: readonly GraphEdge[], watcher: EdgeWatcher, onMissed?: (records: number) => void): () => void;
}

/** Called with a batch while it passes. It must be fast, because the pipeline waits for it. Errors are ignored. */
export type BatchWatcher = (batch: Batch) => void;

/** Like `BatchWatcher`, with the edge. If the batch takes several edges at once, the first one is given. */
export type EdgeWatcher = (batch: Batch, edge: GraphEdge) => void;

/** Numbers of records since the start, by edge and by node. */
export interface Traffic {
  readonly edges: ReadonlyMap<string, number>;
  readonly nodes: ReadonlyMap<string, NodeCounts>;
}

/**
 * Numbers of records that came in and went out, were dropped on purpose, were refused to their sender, and failed: dead
 * letters of a processor, and records that an exporter gave up.
 */
export interface NodeCounts {
  readonly in: number;
  readonly out: number;
  readonly dropped: number;
  readonly refused: number;
  readonly failed: number;
}

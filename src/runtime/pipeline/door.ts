/** The graph that runs a config. */

export { ComponentCreateError } from "./component-maker.js";
export { describeGraph, nodeId, processorNodeId } from "./describe-graph.js";
export { buildGraph, type Graph } from "./graph.js";
export { type GraphParts, journalUnit } from "./graph-builder.js";
export type { RunningJournal } from "./graph-journals.js";
export type { Flow, Flows } from "./intake/intake.js";
export { isolate } from "./isolate.js";
export type { GraphServices, RunningReceiver } from "./part-maker.js";
export { journalPlace } from "./plan-paths.js";
export { trafficReader } from "./read-traffic.js";
export { connectorJournalName } from "./replay-steps.js";
export type { RunningExporter } from "./running-exporter.js";
export { type Former, whenEnded } from "./streams.js";
export type { Retired } from "./wiring.js";
export type {
  ExchangePlace,
  ExchangePlaceSettings,
  WorkerExchange,
} from "./worker-exchange.js";

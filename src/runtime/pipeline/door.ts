/** The graph that runs a config. */

export { ComponentCreateError } from "./component-maker.js";
export { describeGraph } from "./describe-graph.js";
export type { Flow, Flows } from "./flows.js";
export { buildGraph, type Graph } from "./graph.js";
export { isolate } from "./isolate.js";
export { trafficReader } from "./read-traffic.js";

import type { Builtin } from "./builtin.js";

export const CONNECTORS: readonly Builtin[] = [
  {
    kind: "connector",
    types: ["service_graph", "servicegraph"],
    load: async () => (await import("../../connectors/spans/service-graph/component.js")).serviceGraph,
  },
  {
    kind: "connector",
    types: ["span_metrics", "spanmetrics"],
    load: async () => (await import("../../connectors/spans/span-metrics/component.js")).spanMetrics,
  },
  {
    kind: "connector",
    types: ["count"],
    load: async () => (await import("../../connectors/count/component.js")).count,
  },
  {
    kind: "connector",
    types: ["sum"],
    load: async () => (await import("../../connectors/sum/component.js")).sum,
  },
  {
    kind: "connector",
    types: ["datadog"],
    load: async () => (await import("../../connectors/datadog/component.js")).datadogConnector,
  },
  {
    kind: "connector",
    types: ["exceptions"],
    load: async () => (await import("../../connectors/spans/exceptions/component.js")).exceptions,
  },
  {
    kind: "connector",
    types: ["failover"],
    load: async () => (await import("../../connectors/failover/component.js")).failover,
  },
  {
    kind: "connector",
    types: ["forward"],
    load: async () => (await import("../../connectors/forward.js")).forward,
  },
  {
    kind: "connector",
    types: ["routing"],
    load: async () => (await import("../../connectors/routing/component.js")).routing,
  },
];

import type { GraphPlan, Metrics } from "#contract";
import type { GraphDescription, GraphNode, NodeCounts, Traffic } from "#contract/operations";
import { SHAPES } from "#otlp/bytes";
import type { Flows } from "./intake/intake.js";

/** Returns a function that reads how much has passed each edge and node of a graph. */
export function trafficReader(
  plan: GraphPlan,
  { nodes, edges }: GraphDescription,
  flows: Flows,
  metrics: Metrics,
): () => Traffic {
  const recordsOf = edges.map((edge) => ({ edge, flow: flows.from(edge.from, edge.pipeline) }));
  const readers = nodes.map((node) => {
    const into = recordsOf.filter(({ edge }) => edge.to === node.id);
    const taken = () => into.reduce((sum, { flow }) => sum + flow.records, 0);
    return { node, read: nodeReader(plan, node, taken, flows, metrics) };
  });
  return () => ({
    edges: new Map(recordsOf.map(({ edge, flow }) => [edge.id, flow.records])),
    nodes: new Map(readers.map(({ node, read }) => [node.id, read()])),
  });
}

function nodeReader(
  plan: GraphPlan,
  node: GraphNode,
  taken: () => number,
  flows: Flows,
  metrics: Metrics,
): () => NodeCounts {
  const tally = flows.tally(node.id);
  switch (node.kind) {
    case "receiver":
      return () => ({ in: tally.taken, out: tally.handedOn, dropped: 0, refused: tally.refused, failed: 0 });
    case "processor":
      return processorReader(plan, node, taken, flows);
    case "connector": {
      const fed = node.pipelines.filter((id) =>
        plan.pipelines.some((p) => p.id === id && p.receivers.includes(node.name)),
      );
      const handedOn = () => fed.reduce((sum, pipeline) => sum + flows.from(node.id, pipeline).records, 0);
      return () => ({ in: taken(), out: handedOn(), dropped: 0, refused: tally.refused, failed: 0 });
    }
    case "exporter": {
      const sum = exporterCounts(node, metrics);
      return () => ({
        in: taken(),
        out: sum("sent"),
        dropped: 0,
        refused: sum("enqueue_failed"),
        failed: sum("send_failed"),
      });
    }
  }
}

/**
 * Records that went in and did not come out count as dropped, once the processor is idle. A processor that holds
 * records back is hardly ever idle: its own metrics tell what it drops.
 */
function processorReader(plan: GraphPlan, node: GraphNode, taken: () => number, flows: Flows): () => NodeCounts {
  const tally = flows.tally(node.id);
  const holds = plan.processors.get(node.name)?.factory.maxHeldBytes !== undefined;
  const output = flows.from(node.id, node.pipelines[0]!);
  let dropped = 0;
  return () => {
    const { refused, deadLettered: failed } = tally;
    const out = output.records;
    if (!holds && tally.isIdle()) dropped = Math.max(dropped, taken() - out - refused - failed);
    return { in: taken(), out, dropped, refused, failed };
  };
}

/** Reads the counters of the exporter's outlet; 0 if there are no metrics. */
function exporterCounts({ name: exporter, signals }: GraphNode, metrics: Metrics): (what: string) => number {
  return (what) => {
    const names = signals.map((signal) => `otelcol_exporter_${what}_${SHAPES[signal].metricNoun}`);
    return names.reduce((sum, name) => sum + (metrics.read?.(name, { exporter }) ?? 0), 0);
  };
}

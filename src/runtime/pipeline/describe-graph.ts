import type { GraphPlan, PlannedComponent, PlannedPipeline } from "#contract";
import type { GraphDescription, GraphEdge, GraphNode } from "#contract/operations";

/** Describes a plan as nodes and edges, receivers first and exporters last. */
export function describeGraph(plan: GraphPlan): GraphDescription {
  const nodesOf = (
    kind: "receiver" | "connector" | "exporter",
    specs: ReadonlyMap<string, PlannedComponent<{ readonly type: string }>>,
    ends: (pipeline: PlannedPipeline) => readonly string[],
  ) =>
    [...specs.values()].map((spec) => {
      const pipelines = plan.pipelines.filter((pipeline) => ends(pipeline).includes(spec.id));
      return nodeOf(kind, nodeId(kind, spec.id), spec, pipelines);
    });
  const processors = plan.pipelines.flatMap((pipeline) =>
    pipeline.processors.map((id) =>
      nodeOf("processor", processorNodeId(pipeline.id, id), plan.processors.get(id)!, [pipeline]),
    ),
  );
  const nodes = [
    ...nodesOf("receiver", plan.receivers, ({ receivers }) => receivers),
    ...processors,
    ...nodesOf("connector", plan.connectors, ({ receivers, exporters }) => [...receivers, ...exporters]),
    ...nodesOf("exporter", plan.exporters, ({ exporters }) => exporters),
  ];
  return { nodes, edges: plan.pipelines.flatMap((pipeline) => edgesOf(plan, pipeline)) };
}

/** The id of a node that all pipelines share. */
export function nodeId(kind: "receiver" | "connector" | "exporter", id: string): string {
  return `${kind}:${id}`;
}

/** The id of a processor's node in one pipeline. */
export function processorNodeId(pipeline: string, processor: string): string {
  return `processor:${pipeline}:${processor}`;
}

/** From the pipeline's inputs through its processors to its ends. Without processors every input leads to every end. */
function edgesOf(plan: GraphPlan, { id: pipeline, signal, receivers, processors, exporters }: PlannedPipeline) {
  const begins = receivers.map((id) => nodeId(plan.connectors.has(id) ? "connector" : "receiver", id));
  const middle = processors.map((id) => processorNodeId(pipeline, id));
  const ends = exporters.map((id) => nodeId(plan.connectors.has(id) ? "connector" : "exporter", id));
  const edge = (from: string, to: string): GraphEdge => {
    return { id: `${from}>${to}@${pipeline}`, from, to, pipeline, signal };
  };
  const [first] = middle;
  const last = middle.at(-1);
  if (first === undefined || last === undefined) return begins.flatMap((from) => ends.map((to) => edge(from, to)));
  return [
    ...begins.map((from) => edge(from, first)),
    ...middle.slice(1).map((to, i) => edge(middle[i]!, to)),
    ...ends.map((to) => edge(last, to)),
  ];
}

function nodeOf(
  kind: GraphNode["kind"],
  id: string,
  { id: name, factory }: PlannedComponent<{ readonly type: string }>,
  pipelines: readonly PlannedPipeline[],
): GraphNode {
  const signals = [...new Set(pipelines.map(({ signal }) => signal))];
  return { id, kind, name, type: factory.type, pipelines: pipelines.map((each) => each.id), signals };
}

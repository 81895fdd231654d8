import type { GraphPlan, PlannedComponent, PlannedPipeline } from "#contract";
import type { GraphDescription, GraphEdge, GraphNode } from "#contract/operations";

/** Describes a plan as nodes and edges, receivers first and exporters last. */
export function describeGraph(plan: GraphPlan): GraphDescription {
  const inPipelines = (has: (pipeline: PlannedPipeline) => boolean) => placesOf(plan.pipelines.filter(has));
  const receivers = [...plan.receivers.values()].map((spec) =>
    nodeOf("receiver", nodeId("receiver", spec.id), spec, inPipelines(fedBy(spec.id))),
  );
  const processors = plan.pipelines.flatMap((pipeline) =>
    pipeline.processors.map((id) =>
      nodeOf("processor", processorNodeId(pipeline.id, id), plan.processors.get(id)!, placesOf([pipeline])),
    ),
  );
  const connectors = [...plan.connectors.values()].map((spec) =>
    nodeOf(
      "connector",
      nodeId("connector", spec.id),
      spec,
      inPipelines((pipeline) => fedBy(spec.id)(pipeline) || endsIn(spec.id)(pipeline)),
    ),
  );
  const exporters = [...plan.exporters.values()].map((spec) =>
    nodeOf("exporter", nodeId("exporter", spec.id), spec, inPipelines(endsIn(spec.id))),
  );
  const nodes = [...receivers, ...processors, ...connectors, ...exporters];
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
  places: Pick<GraphNode, "pipelines" | "signals">,
): GraphNode {
  return { id, kind, name, type: factory.type, ...places };
}

function placesOf(pipelines: readonly PlannedPipeline[]): Pick<GraphNode, "pipelines" | "signals"> {
  return { pipelines: pipelines.map(({ id }) => id), signals: [...new Set(pipelines.map(({ signal }) => signal))] };
}

function fedBy(id: string) {
  return ({ receivers }: PlannedPipeline) => receivers.includes(id);
}

function endsIn(id: string) {
  return ({ exporters }: PlannedPipeline) => exporters.includes(id);
}

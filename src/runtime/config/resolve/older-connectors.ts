import type { PlannedPipeline } from "#contract";
import { type BuiltInConnectorFactory, type BuiltInProcessorFactory, defineBuiltInConnector } from "#contract/built-in";
import { SIGNALS } from "#otlp/signals";
import type { Findings } from "../text/findings.js";
import { nodeAt } from "../text/node.js";
import type { ComponentDefinitions, ComponentSpec, ResolvedConfig } from "./spec.js";

type PlannedSections = Pick<ResolvedConfig, "receivers" | "processors" | "exporters" | "connectors" | "pipelines">;

interface OlderProcessor extends ComponentSpec<BuiltInProcessorFactory> {
  readonly factory: BuiltInProcessorFactory & Required<Pick<BuiltInProcessorFactory, "asConnector">>;
}

/** Leads from the first half of a pipeline to the second. */
const REST = defineBuiltInConnector({
  type: "rest",
  summary: "Passes everything on to the rest of a pipeline.",
  routes: SIGNALS.map((signal) => ({ from: signal, to: signal })),
  create: () => (deliveries) => deliveries,
});

/**
 * Processors that are older than connectors pass data on, and send another signal about it to an exporter. They run as
 * connectors: their pipelines are cut in two where they are, and the first half leads to the second and to the connector.
 *
 *     traces: [a, spanmetrics, b] -> out    becomes    traces/before_spanmetrics: [a] -> rest, spanmetrics
 *                                                      traces: rest -> [b] -> out
 *                                                      metrics/spanmetrics: spanmetrics -> the exporter it names
 *
 * The second half keeps the name, which queues and dead letters know.
 */
export function withOlderConnectors(
  graph: PlannedSections,
  definitions: ComponentDefinitions,
  findings: Findings,
): PlannedSections {
  const older = [...graph.processors.values()].filter(isOlder);
  return older.reduce((current, spec) => withConnector(current, spec, definitions, findings), graph);
}

function isOlder(spec: ComponentSpec<BuiltInProcessorFactory>): spec is OlderProcessor {
  return spec.factory.asConnector !== undefined;
}

function withConnector(
  graph: PlannedSections,
  spec: OlderProcessor,
  definitions: ComponentDefinitions,
  findings: Findings,
): PlannedSections {
  const { connector, exporter } = spec.factory.asConnector(spec.config);
  const [{ to }] = connector.routes as [BuiltInConnectorFactory["routes"][number]];
  if (!graph.pipelines.some(({ signal, exporters }) => signal === to && exporters.includes(exporter.id))) {
    const { node, section, name } = definitions.processors.get(spec.id)!;
    const message = `no pipeline of ${to} has the exporter ${exporter.id}`;
    findings.error(
      "undefined_reference",
      nodeAt(node, exporter.path) ?? node,
      [section, name, ...exporter.path],
      message,
    );
    return graph;
  }
  const taken = new Set([graph.receivers, graph.exporters, graph.connectors].flatMap((each) => [...each.keys()]));
  const id = unused(spec.id, taken);
  const rests: ComponentSpec<BuiltInConnectorFactory>[] = [];
  const pipelines = graph.pipelines.flatMap((pipeline) => {
    if (!pipeline.processors.includes(spec.id)) return [pipeline];
    const rest = { ...spec, id: unused(`rest/${pipeline.id}`, taken), factory: REST, config: {}, written: null };
    rests.push(rest);
    return halvesOf(pipeline, spec.id, { connector: id, rest: rest.id, taken: graph.pipelines });
  });
  const made = { id: unused(`${to}/${spec.id}`, idsOf(pipelines)), signal: to, receivers: [id], processors: [] };
  return {
    ...graph,
    processors: new Map([...graph.processors].filter(([each]) => each !== spec.id)),
    connectors: new Map([...graph.connectors, ...[{ ...spec, id, factory: connector }, ...rests].map(byId)]),
    pipelines: [...pipelines, { ...made, exporters: [exporter.id] }],
  };
}

interface Ends {
  readonly connector: string;
  readonly rest: string;
  readonly taken: readonly PlannedPipeline[];
}

function halvesOf(pipeline: PlannedPipeline, processor: string, { connector, rest, taken }: Ends): PlannedPipeline[] {
  const { processors } = pipeline;
  const at = processors.indexOf(processor);
  const id = unused(`${pipeline.id}/before_${processor}`, idsOf(taken));
  const first = {
    chosenAs: pipeline.id,
    ...pipeline,
    id,
    processors: processors.slice(0, at),
    exporters: [rest, connector],
  };
  const { chosenAs: _, ...whole } = pipeline;
  const second = { ...whole, receivers: [rest], processors: processors.slice(at + 1) };
  // Data is on disk before the first half already; the second half has a journal of its own if it holds data.
  return [first, pipeline.durableIntake === "on" ? { ...second, durableIntake: "auto" } : second];
}

function idsOf(pipelines: readonly PlannedPipeline[]): ReadonlySet<string> {
  return new Set(pipelines.map(({ id }) => id));
}

function unused(id: string, taken: ReadonlySet<string>): string {
  return taken.has(id) ? unused(`${id}_`, taken) : id;
}

function byId<Spec extends { readonly id: string }>(spec: Spec): readonly [string, Spec] {
  return [spec.id, spec];
}

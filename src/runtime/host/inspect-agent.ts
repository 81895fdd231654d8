import type { ResolvedConfig } from "#config/resolve";
import { type Problem, placeText, problemMessage } from "#config/text";
import type { Metrics } from "#contract";
import type { AgentInspection, EdgeWatcher, GraphEdge, GraphNode } from "#contract/operations";
import type { Flow, Flows } from "#pipeline";
import { describeGraph, trafficReader } from "#pipeline";
import { packageVersion } from "#system";
import { resourceAttributes } from "./self-telemetry/resource-attributes.js";

/** Further facts about a loaded config. */
export interface ConfigFacts {
  readonly warnings: readonly Problem[];
  /** The whole config as plain values for display: with defaults, and with secrets masked. */
  readonly shown: () => Readonly<Record<string, unknown>>;
  /** The same without defaults, as `sluice print-config` shows it. */
  readonly merged?: () => Readonly<Record<string, unknown>>;
}

/** The parts of an agent that are inspected. */
interface InspectedAgent extends DescribedAgent {
  readonly flows: Flows;
  readonly metrics: Metrics;
}

interface DescribedAgent {
  readonly config: ResolvedConfig;
  readonly facts: ConfigFacts | undefined;
  readonly startedAt: number;
}

/** The part of an inspection that needs no running components. */
export type AgentDescription = Omit<AgentInspection, "traffic" | "watch">;

/** The parts of an agent that its extensions can see. */
export function inspectAgent(agent: InspectedAgent): AgentInspection {
  const { config, flows, metrics } = agent;
  const description = describeAgent(agent);
  return {
    ...description,
    traffic: trafficReader(config, description.graph, flows, metrics),
    watch: (edges, watcher) => watchEdges(edges, flows, watcher),
  };
}

/** Describes an agent by its config alone. */
export function describeAgent({ config, facts, startedAt }: DescribedAgent): AgentDescription {
  const graph = describeGraph(config);
  const nodes = new Map(graph.nodes.map((node) => [node.id, node]));
  const resource = resourceAttributes(config.service.telemetry.resource, null);
  const { "service.name": name = "sluice" } = resource;
  let shown: Readonly<Record<string, unknown>> | undefined;
  return {
    agent: {
      name: String(name),
      version: packageVersion(),
      startedAt,
      pipelines: config.pipelines.map(({ id }) => id),
      warnings: (facts?.warnings ?? []).map((problem) => ({
        message: problemMessage(problem),
        ...(problem.place && { place: placeText(problem.place) }),
      })),
    },
    graph,
    configOf(id) {
      const node = nodes.get(id);
      if (node === undefined) return undefined;
      shown ??= facts?.shown() ?? {};
      return configIn(shown, node) ?? {};
    },
    resource,
    config: () => facts?.merged?.(),
  };
}

/** Edges that begin at the same node of a pipeline share one flow, which is watched once. */
function watchEdges(edges: readonly GraphEdge[], flows: Flows, watcher: EdgeWatcher): () => void {
  const byFlow = new Map<Flow, GraphEdge>();
  for (const edge of edges) {
    const flow = flows.from(edge.from, edge.pipeline);
    if (!byFlow.has(flow)) byFlow.set(flow, edge);
  }
  const ends = [...byFlow].map(([flow, edge]) => flow.watch((batch) => watcher(batch, edge)));
  return () => {
    for (const end of ends) end();
  };
}

function configIn(shown: Readonly<Record<string, unknown>>, { kind, name }: GraphNode): unknown {
  const components = Object.entries((shown[`${kind}s`] ?? {}) as Record<string, unknown>);
  return components.find(([id]) => id.replace(/\s/g, "") === name)?.[1];
}

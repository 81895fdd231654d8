import type { ResolvedConfig } from "../config/resolve/spec.js";
import { type Problem, placeText, problemMessage } from "../config/text/problem.js";
import type { AgentInspection, GraphNode } from "../contract/inspect/inspection.js";
import { packageVersion } from "../contract/package-info.js";
import { describeGraph } from "../pipeline/describe-graph.js";
import { resourceAttributes } from "./self-telemetry/resource-attributes.js";

/** What is known of a config beside what it resolves to. */
export interface ConfigFacts {
  readonly warnings: readonly Problem[];
  /** All of it as plain values to be shown: defaults filled in, secrets taken out. */
  readonly shown: () => Readonly<Record<string, unknown>>;
}

/** What an agent lets its extensions see of itself. */
export function inspectAgent(
  config: ResolvedConfig,
  facts: ConfigFacts | undefined,
  startedAt: number,
): AgentInspection {
  const graph = describeGraph(config);
  const nodes = new Map(graph.nodes.map((node) => [node.id, node]));
  const { "service.name": name = "sluice" } = resourceAttributes(config.service.telemetry.resource);
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
  };
}

function configIn(shown: Readonly<Record<string, unknown>>, { kind, name }: GraphNode): unknown {
  const components = Object.entries((shown[`${kind}s`] ?? {}) as Record<string, unknown>);
  return components.find(([id]) => id.replace(/\s*\/\s*/, "/").trim() === name)?.[1];
}

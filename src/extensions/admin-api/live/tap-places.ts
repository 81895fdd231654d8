import { AdminError, type AgentInspection, type GraphEdge } from "../../../runtime/kit.js";

/**
 * The edges that `at` names: an edge, a node, a pipeline (what comes out of it), or a component by the name it has in the
 * config. Of a node they are those that leave it; of an exporter those that lead to it.
 */
export function edgesAt(at: string, { graph, agent }: AgentInspection): readonly GraphEdge[] {
  const { nodes, edges } = graph;
  const edge = edges.filter(({ id }) => id === at);
  if (edge.length > 0) return edge;
  if (agent.pipelines.includes(at)) {
    const ends = new Set(nodes.filter(({ kind }) => kind !== "processor").map(({ id }) => id));
    return edges.filter(({ pipeline, to }) => pipeline === at && ends.has(to));
  }
  const found = nodes.filter(({ id, name }) => id === at || name === at);
  const kinds = new Set(found.map(({ kind }) => kind));
  if (kinds.size > 1) {
    const choices = found.map(({ id }) => id).join(" or ");
    throw new AdminError("bad_request", `${JSON.stringify(at)} may be more than one: write ${choices}`);
  }
  const ids = new Set(found.map(({ id }) => id));
  const here = edges.filter(({ from, to }) => ids.has(kinds.has("exporter") ? to : from));
  if (here.length > 0) return here;
  const known = [...new Set(nodes.map(({ name }) => name)), ...agent.pipelines].join(", ");
  throw new AdminError("not_found", `there is no ${JSON.stringify(at)}; there are: ${known}`);
}

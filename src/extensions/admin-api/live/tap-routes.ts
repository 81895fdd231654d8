import { AdminError, type AgentInspection, type GraphEdge } from "#contract/operations";
import { isOttlSyntaxError, parseRecordCondition } from "#ottl";
import { badRequest } from "../http-error.js";
import { readCount } from "../parameters.js";
import { type ApiRoute, type RouteRequest, route } from "../route.js";
import { tapEvents } from "./tap.js";

const DEFAULT_RATE = 10;
const MAX_RATE = 1000;
const DEFAULT_LIMIT = 1000;
const MAX_LIMIT = 1_000_000;

/** Streams records as they pass. Even masked, they need the same role as the content of dead letters. */
export const tapRoutes: readonly ApiRoute[] = [
  route({ at: "GET /tap", role: "reveal" }, { needs: "components", query: ["at", "where", "rate", "limit"] }, tap),
];

async function tap({ host, inspection, clock, tapBudget: budget, values }: RouteRequest) {
  const { at, where, rate, limit } = values;
  if (at === undefined) throw badRequest("name a place: at=ID of a node, an edge or a pipeline");
  const settings = {
    edges: edgesAt(at, inspection),
    where: where === undefined ? undefined : readCondition(where),
    rate: readCount("rate", rate, DEFAULT_RATE, MAX_RATE),
    limit: readCount("limit", limit, DEFAULT_LIMIT, MAX_LIMIT),
  };
  const mask = await host.loadMask?.();
  if (mask === undefined) throw badRequest("nothing can be shown here, because it cannot be masked");
  return { events: tapEvents(settings, { inspection, clock, budget, mask }), counted: "records" };
}

function readCondition(text: string) {
  const condition = parseRecordCondition(text);
  if (!isOttlSyntaxError(condition)) return condition;
  const { reason, suggestion, offset } = condition;
  throw badRequest(`where: ${reason}${suggestion === undefined ? "" : `; ${suggestion}`} (at character ${offset + 1})`);
}

/**
 * Returns the edges that `at` names: an edge, a node, a pipeline (its output), or a component by its name in the
 * config. For a node these are its outgoing edges, for an exporter the incoming ones.
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
    throw new AdminError("bad_request", `${JSON.stringify(at)} is ambiguous: write ${choices}`);
  }
  const ids = new Set(found.map(({ id }) => id));
  const here = edges.filter(({ from, to }) => ids.has(kinds.has("exporter") ? to : from));
  if (here.length > 0) return here;
  const known = [...new Set(nodes.map(({ name }) => name)), ...agent.pipelines].join(", ");
  throw new AdminError("not_found", `there is no ${JSON.stringify(at)}; there are: ${known}`);
}

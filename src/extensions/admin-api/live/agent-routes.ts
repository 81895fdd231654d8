import { OPERATIONS } from "#contract/api";
import { AdminError } from "#contract/operations";
import { badRequest } from "../http-error.js";
import { readNumber, readTime } from "../parameters.js";
import { type ApiRoute, route, view } from "../route.js";
import { overviewOf } from "./overview.js";

/** Routes for the agent itself, the graph of its components, and their effective config. */
export const agentRoutes: readonly ApiRoute[] = [
  view("GET /agent", { needs: "components", query: [] }, ({ host, inspection }) => {
    const { startedAt, ...facts } = inspection.agent;
    const { state, generation, configControl } = host;
    const generationNumber = configControl?.generation.number;
    return {
      body: {
        ...facts,
        state,
        generation,
        ...(generationNumber !== undefined && { generationNumber }),
        startedAt: new Date(startedAt).toISOString(),
      },
    };
  }),
  view("GET /graph", { needs: "components", query: [] }, ({ inspection }) => ({ body: inspection.graph })),
  view("GET /graph/nodes/:id/config", { needs: "components", query: [] }, async ({ inspection, id }) => {
    const json = inspection.configOf(id);
    if (json === undefined) throw new AdminError("not_found", `there is no node ${JSON.stringify(id)}`);
    const { stringify } = await import("yaml");
    return { body: { yaml: stringify(json, { aliasDuplicateObjects: false, lineWidth: 0 }), json } };
  }),
];

/** Routes for the present and recent flow of data through the agent. */
export const liveRoutes: readonly ApiRoute[] = [
  view("GET /live", { needs: "components", query: [] }, ({ samples }) => ({
    events: (stream) => samples.sendTo(stream),
  })),
  view("GET /overview", { needs: "nothing", query: [] }, async ({ host, alerts }) => {
    await host.refresh?.();
    return { body: overviewOf(host, alerts.check()) };
  }),
  view("GET /history", { needs: "components", query: ["node"] }, ({ history, values: { node } }) => {
    if (node === undefined) throw badRequest("name a node: node=ID, as in /graph, or node=agent for the whole agent");
    const found = history.of(node);
    if (found === undefined) throw new AdminError("not_found", `there is no node ${JSON.stringify(node)}`);
    return { body: found };
  }),
];

/** How the receivers and the workers are. */
export const receiverRoutes: readonly ApiRoute[] = [
  view("GET /receivers", { needs: "nothing", query: [] }, async ({ host }) => {
    await host.refresh?.();
    return { body: { receivers: host.receivers?.() ?? [] } };
  }),
  view("GET /workers", { needs: "nothing", query: [] }, ({ host }) => ({ body: { workers: host.workers?.() ?? [] } })),
];

/** The state of the other agents that the config names. */
export const agentsRoutes: readonly ApiRoute[] = [
  view("GET /agents", { needs: "nothing", query: [] }, async ({ agents }) => ({
    body: { agents: await agents.list() },
  })),
];

const AUDIT_FILTERS = ["since", "until", "actor", "action", "limit", "cursor"];

/** The operators' actions, newest first. */
export const auditRoutes: readonly ApiRoute[] = [
  route(OPERATIONS.audit, { query: AUDIT_FILTERS }, async ({ admin, values }) => {
    const { since, until, limit, ...texts } = values;
    const page = await admin.audit({
      ...texts,
      ...(since !== undefined && { since: readTime("since", since) }),
      ...(until !== undefined && { until: readTime("until", until) }),
      ...(limit !== undefined && { limit: readNumber("limit", limit) }),
    });
    return { body: page };
  }),
];

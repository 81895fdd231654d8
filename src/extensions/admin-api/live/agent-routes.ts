import { AdminError } from "#contract/operations";
import { type ApiRoute, view } from "../route.js";

/** Routes for the agent itself, the graph of its components, and their effective config. */
export const agentRoutes: readonly ApiRoute[] = [
  view("GET /agent", { needs: "components", query: [] }, ({ host, inspection }) => {
    const { startedAt, ...facts } = inspection.agent;
    const { state, generation, configControl } = host;
    const generationNumber = configControl?.generation.number;
    return {
      body: {
        ...facts,
        ...{ state, generation },
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

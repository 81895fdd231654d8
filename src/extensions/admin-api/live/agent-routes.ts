import { AdminError } from "#contract/operations";
import { readParameters } from "../parameters.js";
import type { ApiRoute } from "../route.js";

/** Routes for the agent itself, the graph of its components, and their effective config. */
export const agentRoutes: readonly ApiRoute[] = [
  {
    method: "GET",
    path: "/agent",
    role: "view",
    needs: "components",
    answer({ host, inspection, query }) {
      readParameters(query, []);
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
    },
  },
  {
    method: "GET",
    path: "/graph",
    role: "view",
    needs: "components",
    answer({ inspection, query }) {
      readParameters(query, []);
      return { body: inspection.graph };
    },
  },
  {
    method: "GET",
    path: "/graph/nodes/:id/config",
    role: "view",
    needs: "components",
    async answer({ inspection, params, query }) {
      readParameters(query, []);
      const id = params["id"]!;
      const json = inspection.configOf(id);
      if (json === undefined) throw new AdminError("not_found", `there is no node ${JSON.stringify(id)}`);
      const { stringify } = await import("yaml");
      return { body: { yaml: stringify(json, { aliasDuplicateObjects: false, lineWidth: 0 }), json } };
    },
  },
];

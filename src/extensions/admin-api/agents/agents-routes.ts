import { readParameters } from "../parameters.js";
import type { ApiRoute } from "../route.js";

/** What other agents are doing, as far as the config names them. */
export const agentsRoutes: readonly ApiRoute[] = [
  {
    method: "GET",
    path: "/agents",
    role: "view",
    needs: "nothing",
    async answer({ agents, query }) {
      readParameters(query, []);
      return { body: { agents: await agents.list() } };
    },
  },
];

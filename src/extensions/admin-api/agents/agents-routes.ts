import { readParameters } from "../parameters.js";
import type { ApiRoute } from "../route.js";

/** The state of the other agents that the config names. */
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

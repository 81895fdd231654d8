import { type ApiRoute, view } from "../route.js";

/** The state of the other agents that the config names. */
export const agentsRoutes: readonly ApiRoute[] = [
  view("GET /agents", { needs: "nothing", query: [] }, async ({ agents }) => ({
    body: { agents: await agents.list() },
  })),
];

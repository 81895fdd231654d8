import { readParameters } from "./parameters.js";
import type { ApiRoute } from "./route.js";

/** How the receivers and the workers are. */
export const receiverRoutes: readonly ApiRoute[] = [
  {
    method: "GET",
    path: "/receivers",
    role: "view",
    needs: "nothing",
    async answer({ host, query }) {
      readParameters(query, []);
      await host.refresh?.();
      return { body: { receivers: host.receivers?.() ?? [] } };
    },
  },
  {
    method: "GET",
    path: "/workers",
    role: "view",
    needs: "nothing",
    answer({ host, query }) {
      readParameters(query, []);
      return { body: { workers: host.workers?.() ?? [] } };
    },
  },
];

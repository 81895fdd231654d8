import { readParameters } from "./parameters.js";
import type { ApiRoute } from "./route.js";

/** How the receivers are. */
export const receiverRoutes: readonly ApiRoute[] = [
  {
    method: "GET",
    path: "/receivers",
    role: "view",
    needs: "nothing",
    answer({ host, query }) {
      readParameters(query, []);
      return { body: { receivers: host.receivers?.() ?? [] } };
    },
  },
];

import { readParameters } from "../parameters.js";
import type { ApiRoute } from "../route.js";

/** What the config says about the console itself. */
export const consoleRoutes: readonly ApiRoute[] = [
  {
    method: "GET",
    path: "/console",
    role: "view",
    needs: "nothing",
    answer({ traceUrl, query }) {
      readParameters(query, []);
      return { body: { ...(traceUrl !== undefined && { traceUrl }) } };
    },
  },
];

import { FILTERS, readParameters } from "../parameters.js";
import { REPLAY_KEYS } from "../replay-routes.js";
import type { ApiRoute } from "../route.js";

/** What the console must know before it shows anything: what the config says of it, and what this API can be asked. */
export function consoleRoute(routes: () => readonly ApiRoute[]): ApiRoute {
  return {
    method: "GET",
    path: "/console",
    role: "view",
    needs: "nothing",
    answer({ traceUrl, query, actor }) {
      readParameters(query, []);
      return {
        body: {
          ...(traceUrl !== undefined && { traceUrl }),
          routes: routes().map(({ method, path }) => `${method} ${path}`),
          filters: FILTERS,
          replay: REPLAY_KEYS,
          roles: [...actor.roles],
        },
      };
    },
  };
}

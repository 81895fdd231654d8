import { ADMIN_ROLES } from "#contract/api";
import { FILTERS, readParameters } from "../parameters.js";
import { REPLAY_KEYS } from "../replay-routes.js";
import type { ApiRoute } from "../route.js";

/** Answers who the caller is: the name in the audit, and the roles. */
export const meRoute: ApiRoute = {
  method: "GET",
  path: "/me",
  role: undefined,
  needs: "nothing",
  answer({ query, actor: { name, roles, isOwner = false } }) {
    readParameters(query, []);
    return { body: { name, roles: ADMIN_ROLES.filter((role) => roles.has(role)), owner: isOwner } };
  },
};

/** Answers what the console needs first: its config, and the routes of this API. */
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

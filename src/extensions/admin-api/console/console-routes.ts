import { ADMIN_ROLES } from "#contract/api";
import { FILTERS } from "../parameters.js";
import { REPLAY_KEYS } from "../replay-routes.js";
import { type ApiRoute, route, view } from "../route.js";

/** Answers who the caller is: the name in the audit, and the roles. */
export const meRoute = route({ at: "GET /me" }, { needs: "nothing", query: [] }, ({ actor }) => {
  const { name, roles, isOwner = false } = actor;
  return { body: { name, roles: ADMIN_ROLES.filter((role) => roles.has(role)), owner: isOwner } };
});

/** Answers what the console needs first: its config, and the routes of this API. */
export function consoleRoute(routes: () => readonly ApiRoute[]): ApiRoute {
  return view("GET /console", { needs: "nothing", query: [] }, ({ traceUrl, actor }) => ({
    body: {
      ...(traceUrl !== undefined && { traceUrl }),
      routes: routes().map(({ method, path }) => `${method} ${path}`),
      filters: FILTERS,
      replay: REPLAY_KEYS,
      roles: [...actor.roles],
    },
  }));
}

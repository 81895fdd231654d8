import { ADMIN_ROLES } from "#contract/api";
import { configRoutes } from "./config-routes.js";
import { deadLetterRoutes } from "./dead-letter-routes.js";
import { insightRoutes } from "./insight/insight-routes.js";
import { agentRoutes, agentsRoutes, auditRoutes, liveRoutes, receiverRoutes } from "./live/agent-routes.js";
import { rehearsalRoutes } from "./live/rehearsal-routes.js";
import { ottlRoutes, sampleRoutes } from "./live/sample-routes.js";
import { tapRoutes } from "./live/tap-routes.js";
import { FILTERS } from "./parameters.js";
import { exporterRoutes } from "./queues/exporter-routes.js";
import { queueRoutes } from "./queues/queue-routes.js";
import { rehydrationRoutes } from "./queues/rehydration-routes.js";
import { REPLAY_KEYS, replayRoutes } from "./replay-routes.js";
import { type ApiRoute, route, view } from "./route.js";

export const API_ROOT = "/api/v1";

/** Answers who the caller is: the name in the audit, and the roles. */
const meRoute = route({ at: "GET /me" }, { needs: "nothing", query: [] }, ({ actor }) => {
  const { name, roles, isOwner = false } = actor;
  return { body: { name, roles: ADMIN_ROLES.filter((role) => roles.has(role)), owner: isOwner } };
});

/** All routes of the API except its root. `docs/openapi.yaml` describes the same routes. */
export const ROUTES: readonly ApiRoute[] = [
  ...agentRoutes,
  meRoute,
  consoleRoute(() => ROUTES),
  ...liveRoutes,
  ...tapRoutes,
  ...sampleRoutes,
  ...insightRoutes,
  ...ottlRoutes,
  ...receiverRoutes,
  ...exporterRoutes,
  ...queueRoutes,
  ...deadLetterRoutes,
  ...replayRoutes,
  ...rehydrationRoutes,
  ...auditRoutes,
  ...configRoutes,
  ...rehearsalRoutes,
  ...agentsRoutes,
];

interface MatchedRoute {
  readonly route: ApiRoute;
  readonly params: Readonly<Record<string, string>>;
}

/**
 * Returns the route for a path below the root, the allowed methods if the path has no such method, or undefined for an
 * unknown path.
 */
export function findRoute(
  method: string,
  path: string,
): MatchedRoute | { readonly methods: readonly string[] } | undefined {
  const matches = ROUTES.flatMap((route) => {
    const params = paramsOf(route.path, path);
    return params === undefined ? [] : [{ route, params }];
  });
  const found = matches.find(({ route }) => route.method === method);
  if (found !== undefined) return found;
  return matches.length === 0 ? undefined : { methods: matches.map(({ route }) => route.method) };
}

/** Fixed segments come before placeholders in the table, so `/dead-letters/stats` is never taken for an id. */
function paramsOf(pattern: string, path: string): Record<string, string> | undefined {
  const wanted = segments(pattern);
  const given = segments(path);
  if (wanted.length !== given.length) return undefined;
  const params: Record<string, string> = {};
  for (const [i, segment] of wanted.entries()) {
    const text = decodeSegment(given[i]!);
    if (text === undefined) return undefined;
    if (segment.startsWith(":")) params[segment.slice(1)] = text;
    else if (segment !== text) return undefined;
  }
  return params;
}

function segments(path: string): string[] {
  return path.split("/").filter((segment) => segment !== "");
}

function decodeSegment(segment: string): string | undefined {
  try {
    return decodeURIComponent(segment);
  } catch {
    return undefined;
  }
}

/** Answers what the console needs first: its config, and the routes of this API. */
function consoleRoute(routes: () => readonly ApiRoute[]): ApiRoute {
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

import { useLoad } from "./use-load.js";

/**
 * Console settings from the config, and the features of this agent's API: the console offers nothing that the API
 * lacks.
 */
export interface Abilities {
  readonly traceUrl: string | undefined;
  /** For example `POST /dead-letters/:id/edit`. */
  hasRoute(route: string): boolean;
  /** Whether dead letters can be filtered by this name. */
  hasFilter(name: string): boolean;
  /** Whether the signed-in user has this role. */
  hasRole(role: string): boolean;
  /** Whether a replay request may have this key. */
  hasReplayKey(name: string): boolean;
}

interface Answer {
  readonly traceUrl?: string;
  readonly routes: readonly string[];
  readonly filters: readonly string[];
  readonly replay: readonly string[];
  readonly roles: readonly string[];
}

/** Undefined until loaded. */
export function useAbilities(): Abilities | undefined {
  const { data } = useLoad<Answer>("/console");
  return (
    data && {
      traceUrl: data.traceUrl,
      hasRoute: (route) => data.routes.includes(route),
      hasFilter: (name) => data.filters.includes(name),
      hasRole: (role) => data.roles.includes(role),
      hasReplayKey: (name) => data.replay.includes(name),
    }
  );
}

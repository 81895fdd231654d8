import { useLoad } from "./use-load.js";

/** What the config says of the console, and what this agent's API can be asked: what it cannot is not offered. */
export interface Abilities {
  readonly traceUrl: string | undefined;
  /** Such as `POST /dead-letters/:id/edit`. */
  hasRoute(route: string): boolean;
  /** Filters of dead letters. */
  hasFilter(name: string): boolean;
  /** What whoever is signed in may do. */
  hasRole(role: string): boolean;
  /** What may be said of a replay. */
  hasReplayKey(name: string): boolean;
}

interface Answer {
  readonly traceUrl?: string;
  readonly routes: readonly string[];
  readonly filters: readonly string[];
  readonly replay: readonly string[];
  readonly roles: readonly string[];
}

/** Undefined until it is known. */
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

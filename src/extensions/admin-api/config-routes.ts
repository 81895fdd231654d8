import { z } from "zod";
import type { ConfigControl } from "#contract/operations";
import { HttpError } from "./http-error.js";
import { operatorFields } from "./operator.js";
import { type ApiRoute, type RouteRequest, route, view } from "./route.js";

const reloadBody = z.strictObject({
  ...operatorFields,
  dry_run: z.boolean().default(false),
  /** The hash of the config that was rehearsed. */
  expected: z.string().max(100).optional(),
});

/** Routes for the config that the agent runs with. */
export const configRoutes: readonly ApiRoute[] = [
  view("GET /config", { needs: "nothing", query: [] }, async ({ host }) => {
    const control = controlOf(host);
    const { generation, lastReload } = control;
    return { body: { generation, differs: await control.differs(), lastReload: lastReload ?? null } };
  }),
  route(
    { at: "POST /config/reload", role: "configure" },
    { needs: "nothing", takes: reloadBody },
    async ({ host, body, operator }) => {
      const { dry_run: dryRun, expected, ...given } = await body();
      return { body: await controlOf(host).reload({ dryRun, operator: operator(given), expected }) };
    },
  ),
];

function controlOf(host: RouteRequest["host"]): ConfigControl {
  if (host.configControl !== undefined) return host.configControl;
  throw new HttpError("unavailable", "this agent was not started from files: its config cannot be reloaded");
}

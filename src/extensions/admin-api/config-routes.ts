import { z } from "zod";
import type { ConfigControl } from "#contract/operations";
import { readBody } from "./body.js";
import { HttpError } from "./http-error.js";
import { operatorFields, operatorOf } from "./operator.js";
import { readParameters } from "./parameters.js";
import type { ApiRoute, RouteRequest } from "./route.js";

const reloadBody = z.strictObject({
  ...operatorFields,
  dry_run: z.boolean().default(false),
  /** The hash of the config that was rehearsed. */
  expected: z.string().max(100).optional(),
});

/** Routes for the config that the agent runs with. */
export const configRoutes: readonly ApiRoute[] = [
  {
    method: "GET",
    path: "/config",
    role: "view",
    needs: "nothing",
    async answer({ host, query }) {
      readParameters(query, []);
      const control = controlOf(host);
      const { generation, lastReload } = control;
      return { body: { generation, differs: await control.differs(), lastReload: lastReload ?? null } };
    },
  },
  {
    method: "POST",
    path: "/config/reload",
    role: "configure",
    needs: "nothing",
    async answer({ host, request, actor }) {
      const { dry_run: dryRun, expected, ...given } = await readBody(request, reloadBody);
      const operator = operatorOf(request, given, actor);
      return { body: await controlOf(host).reload({ dryRun, operator, expected }) };
    },
  },
];

function controlOf(host: RouteRequest["host"]): ConfigControl {
  if (host.configControl !== undefined) return host.configControl;
  throw new HttpError("unavailable", "this agent was not started from files: its config cannot be reloaded");
}

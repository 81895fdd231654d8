import { z } from "zod";
import { type ContextName, isOttlError } from "#ottl";
import { isMalformed, SIGNALS } from "../../../plugin.js";
import { badRequest } from "../http-error.js";
import { type ApiRoute, route } from "../route.js";

const MAX_STATEMENTS = 100;
const CONTEXTS = ["resource", "scope", "log", "span", "spanevent", "metric", "datapoint", "exemplar"] as const;

const json = z.record(z.string(), z.unknown());

const ottlBody = z
  .strictObject({
    context: z.enum(CONTEXTS satisfies readonly ContextName[]).optional(),
    signal: z.enum(SIGNALS).optional(),
    statements: z.array(z.string()).max(MAX_STATEMENTS).optional(),
    condition: z.string().optional(),
    record: json,
    resource: json.optional(),
    scope: json.optional(),
  })
  .refine(({ statements, condition }) => (statements === undefined) !== (condition === undefined), {
    error: "give statements or a condition",
  });

/** Tries OTTL statements on a record in the request. The agent itself is not affected. */
export const ottlRoutes: readonly ApiRoute[] = [
  route({ at: "POST /ottl", role: "view" }, { needs: "nothing", takes: ottlBody }, async ({ body, trials }) => {
    const trial = await body();
    try {
      return { json: await trials.run(trial) };
    } catch (error) {
      if (isMalformed(error)) throw badRequest(`record: this is not OTLP: ${error.message}`);
      if (isOttlError(error)) throw badRequest(error.message);
      throw error;
    }
  }),
];

import { z } from "zod";
import { type Admin, AdminError } from "#contract/operations";
import type { Rehydration, Rehydrations } from "#contract/rehydration";
import { requireRole } from "../access.js";
import { actorName, operatorFields } from "../operator.js";
import { readNumber, requireReveal } from "../parameters.js";
import { type ApiRoute, route, view } from "../route.js";

const time = z.string().or(z.number().transform(String));
const startBody = z.strictObject({
  ...operatorFields,
  from: z.string({ error: "say where the archive is: s3://BUCKET/PREFIX or file:FOLDER" }),
  to: z.string({ error: "name the exporter that gets the records" }),
  since: time,
  until: time.optional(),
  where: z.string().optional(),
  rate: z.number().optional(),
  partition: z.string().optional(),
  timezone: z.string().optional(),
  region: z.string().optional(),
  endpoint: z.string().optional(),
  pathStyle: z.boolean().optional(),
  dryRun: z.boolean().optional(),
  restart: z.boolean().optional(),
});

/** Routes for records that are sent again from an archive. */
export const rehydrationRoutes: readonly ApiRoute[] = [
  route({ at: "POST /rehydrations", role: "replay" }, { takes: startBody }, async ({ actor, body, acting }) => {
    const { by, reason, ...asked } = await body();
    // The caller chooses which files and buckets the agent reads, as the config does otherwise.
    requireRole(actor, "configure");
    if (asked.where !== undefined) requireReveal(actor, "where looks into records");
    const starter = { by: actorName(by, actor), ...(reason && { reason }) };
    return { status: 202, body: await rehydrationsOf(acting({ by, reason })).start(asked, starter) };
  }),
  view("GET /rehydrations", { query: ["limit"] }, async ({ admin, values: { limit } }) => {
    const most = limit === undefined ? undefined : readNumber("limit", limit);
    return { body: { rehydrations: await rehydrationsOf(admin).list(most) } };
  }),
  view("GET /rehydrations/:id", {}, async ({ admin, id }) => ({ body: await requireJob(admin, id) })),
  route({ at: "DELETE /rehydrations/:id", role: "replay" }, {}, async ({ admin, id, acting }) => {
    await requireJob(admin, id);
    await rehydrationsOf(acting()).cancel(id);
    return { body: await requireJob(admin, id) };
  }),
];

function rehydrationsOf({ rehydrations }: Admin): Rehydrations {
  if (rehydrations !== undefined) return rehydrations;
  throw new AdminError("unavailable", "this agent has no place for queues");
}

async function requireJob(admin: Admin, id: string): Promise<Rehydration> {
  const job = await rehydrationsOf(admin).get(id);
  if (job === undefined) throw new AdminError("not_found", "there is no such rehydration, or it was forgotten");
  return job;
}

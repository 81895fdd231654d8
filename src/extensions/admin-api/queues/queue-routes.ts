import { z } from "zod";
import { type Admin, AdminError, type OrphanedQueues } from "#contract/operations";
import { actorName, operatorFields } from "../operator.js";
import { type ApiRoute, route, view } from "../route.js";

const deleteBody = z.strictObject(operatorFields);
const adoptBody = deleteBody.extend({
  to: z.string({ error: "name the exporter that gets the entries" }),
  pipeline: z.string().or(z.literal(false)).optional(),
});

/** Routes for queues that nothing in the config uses. */
export const queueRoutes: readonly ApiRoute[] = [
  view("GET /queues/orphaned", { query: [] }, async ({ admin }) => ({
    body: { queues: (await admin.orphans?.list()) ?? [] },
  })),
  view("GET /queues/orphaned/:id/adoption", {}, async ({ admin, id }) => {
    const adoption = await orphansOf(admin).adoption(id);
    if (adoption !== undefined) return { body: adoption };
    throw new AdminError("not_found", `the queue ${JSON.stringify(id)} was not adopted`);
  }),
  route(
    { at: "POST /queues/orphaned/:id/adopt", role: "replay" },
    { takes: adoptBody },
    async ({ id, body, acting, actor }) => {
      const { to, pipeline, ...given } = await body();
      const adopted = orphansOf(acting(given)).adopt(id, { to, by: actorName(given.by, actor), pipeline });
      return { status: 202, body: await adopted };
    },
  ),
  route(
    { at: "POST /queues/orphaned/:id/delete", role: "purge" },
    { takes: deleteBody },
    async ({ id, body, acting }) => ({
      body: { deleted: (await orphansOf(acting(await body())).delete(id)) ?? null },
    }),
  ),
];

function orphansOf({ orphans }: Admin): OrphanedQueues {
  if (orphans !== undefined) return orphans;
  throw new AdminError("unavailable", "this agent has no place for queues");
}

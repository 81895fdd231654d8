import { z } from "zod";
import { type Admin, AdminError, type OrphanedQueues } from "#contract/operations";
import { readBody } from "../body.js";
import { actorName, operatorFields, operatorOf } from "../operator.js";
import { readParameters } from "../parameters.js";
import type { ApiRoute } from "../route.js";

const adoptBody = z.strictObject({
  ...operatorFields,
  to: z.string({ error: "name the exporter that gets the entries" }),
  pipeline: z.string().or(z.literal(false)).optional(),
});
const deleteBody = z.strictObject(operatorFields);

/** Routes for queues that nothing in the config uses. */
export const queueRoutes: readonly ApiRoute[] = [
  {
    method: "GET",
    path: "/queues/orphaned",
    role: "view",
    async answer({ admin, query }) {
      readParameters(query, []);
      return { body: { queues: (await admin.orphans?.list()) ?? [] } };
    },
  },
  {
    method: "GET",
    path: "/queues/orphaned/:id/adoption",
    role: "view",
    async answer({ admin, params }) {
      const adoption = await orphansOf(admin).adoption(params["id"]!);
      if (adoption !== undefined) return { body: adoption };
      throw new AdminError("not_found", `the queue ${JSON.stringify(params["id"])} was not adopted`);
    },
  },
  {
    method: "POST",
    path: "/queues/orphaned/:id/adopt",
    role: "replay",
    async answer({ admin, params, request, actor }) {
      const { to, pipeline, ...given } = await readBody(request, adoptBody);
      const acting = admin.actingAs(operatorOf(request, given, actor));
      const by = actorName(given.by, actor);
      return { status: 202, body: await orphansOf(acting).adopt(params["id"]!, { to, by, pipeline }) };
    },
  },
  {
    method: "POST",
    path: "/queues/orphaned/:id/delete",
    role: "purge",
    async answer({ admin, params, request, actor }) {
      const given = await readBody(request, deleteBody);
      const acting = admin.actingAs(operatorOf(request, given, actor));
      return { body: { deleted: (await orphansOf(acting).delete(params["id"]!)) ?? null } };
    },
  },
];

function orphansOf({ orphans }: Admin): OrphanedQueues {
  if (orphans !== undefined) return orphans;
  throw new AdminError("unavailable", "this agent has no place for queues");
}

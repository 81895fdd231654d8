import { z } from "zod";
import { AdminError } from "../../runtime/kit.js";
import { readBody, readLines } from "./body.js";
import { FILTERS, readDeadLetterQuery, readFlag, readParameters } from "./parameters.js";
import type { ApiRoute, RouteRequest } from "./route.js";
import { readSelection, selectionFields } from "./selection-body.js";

const PAGING = ["limit", "cursor", "order"];
const FILTERS_ONLY = FILTERS.filter((name) => !PAGING.includes(name));

const purgeBody = z.strictObject(selectionFields);

export const deadLetterRoutes: readonly ApiRoute[] = [
  {
    method: "GET",
    path: "/dead-letters",
    async answer({ admin, query }) {
      return { body: await admin.listDeadLetters(readDeadLetterQuery(readParameters(query, FILTERS))) };
    },
  },
  {
    method: "GET",
    path: "/dead-letters/stats",
    async answer({ admin, query }) {
      return { body: await admin.deadLetterStats(readDeadLetterQuery(readParameters(query, FILTERS_ONLY))) };
    },
  },
  {
    method: "GET",
    path: "/dead-letters/export",
    answer: ({ admin, query }) => ({
      lines: admin.exportDeadLetters(readDeadLetterQuery(readParameters(query, FILTERS_ONLY))),
    }),
  },
  {
    method: "POST",
    path: "/dead-letters/import",
    contentType: "application/x-ndjson",
    answer: async ({ admin, request }) => ({ body: await admin.importDeadLetters(readLines(request)) }),
  },
  {
    method: "POST",
    path: "/dead-letters/purge",
    async answer({ admin, request }) {
      const { dry_run: dryRun = false, ...selected } = await readBody(request, purgeBody);
      const deleted = await admin.deleteDeadLetters(readSelection(selected), { dryRun });
      return { body: { deleted, dryRun } };
    },
  },
  {
    method: "POST",
    path: "/dead-letters/restore",
    async answer({ admin, request }) {
      const { dry_run: _, ...selected } = await readBody(request, purgeBody);
      return { body: { restored: await admin.restoreDeadLetters(readSelection(selected)) } };
    },
  },
  { method: "GET", path: "/dead-letters/:id", answer: showDeadLetter },
  {
    method: "DELETE",
    path: "/dead-letters/:id",
    answer: async ({ admin, params }) => ({
      body: { deleted: await admin.deleteDeadLetters({ ids: [params["id"]!] }) },
    }),
  },
];

/** The payload only when it is asked for: it may hold what not everybody should see. Its numbers stay as exact as they are. */
async function showDeadLetter({ admin, params, query }: RouteRequest) {
  const id = params["id"]!;
  const { payload: wanted } = readParameters(query, ["payload"]);
  const entry = await admin.deadLetter(id);
  if (entry === undefined) throw new AdminError("not_found", `there is no entry ${JSON.stringify(id)}`);
  if (!readFlag("payload", wanted)) return { body: { entry } };
  const payload = (await admin.payload(id)) ?? "null";
  return { json: `{"entry":${JSON.stringify(entry)},"payload":${payload}}` };
}

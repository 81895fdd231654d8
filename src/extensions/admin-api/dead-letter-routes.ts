import { z } from "zod";
import { AdminError } from "../../plugin.js";
import { readBody, readLines } from "./body.js";
import { deadLetterQuery, FILTERS, flag, parameters } from "./parameters.js";
import type { Asked, Route } from "./route.js";
import { selectionFields, selectionOf } from "./selection-body.js";

const PAGING = ["limit", "cursor", "order"];
const FILTERS_ONLY = FILTERS.filter((name) => !PAGING.includes(name));

const purgeBody = z.strictObject(selectionFields);

export const deadLetterRoutes: readonly Route[] = [
  {
    method: "GET",
    path: "/dead-letters",
    async answer({ admin, query }) {
      return { body: await admin.listDeadLetters(deadLetterQuery(parameters(query, FILTERS))) };
    },
  },
  {
    method: "GET",
    path: "/dead-letters/stats",
    async answer({ admin, query }) {
      return { body: await admin.deadLetterStats(deadLetterQuery(parameters(query, FILTERS_ONLY))) };
    },
  },
  {
    method: "GET",
    path: "/dead-letters/export",
    answer: ({ admin, query }) => ({
      lines: admin.exportDeadLetters(deadLetterQuery(parameters(query, FILTERS_ONLY))),
    }),
  },
  {
    method: "POST",
    path: "/dead-letters/import",
    takes: "application/x-ndjson",
    answer: async ({ admin, request }) => ({ body: await admin.importDeadLetters(readLines(request)) }),
  },
  {
    method: "POST",
    path: "/dead-letters/purge",
    async answer({ admin, request }) {
      const { dry_run: dryRun = false, ...selected } = await readBody(request, purgeBody);
      const deleted = await admin.deleteDeadLetters(selectionOf(selected), { dryRun });
      return { body: { deleted, dryRun } };
    },
  },
  { method: "GET", path: "/dead-letters/:id", answer: show },
  {
    method: "DELETE",
    path: "/dead-letters/:id",
    answer: async ({ admin, params }) => ({
      body: { deleted: await admin.deleteDeadLetters({ ids: [params["id"]!] }) },
    }),
  },
];

/** The payload only when it is asked for: it may hold what not everybody should see. Its numbers stay as exact as they are. */
async function show({ admin, params, query }: Asked) {
  const id = params["id"]!;
  const { payload: wanted } = parameters(query, ["payload"]);
  const entry = await admin.deadLetter(id);
  if (entry === undefined) throw new AdminError("not_found", `there is no entry ${JSON.stringify(id)}`);
  if (!flag("payload", wanted)) return { body: { entry } };
  const payload = (await admin.payload(id)) ?? "null";
  return { json: `{"entry":${JSON.stringify(entry)},"payload":${payload}}` };
}

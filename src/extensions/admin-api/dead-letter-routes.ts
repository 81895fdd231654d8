import { z } from "zod";
import { type Admin, AdminError, type Entry, withIsoTimes } from "../../runtime/kit.js";
import { readBody, readLines } from "./body.js";
import { operatorFields, operatorOf, requiredReason } from "./operator.js";
import { FILTERS, readDeadLetterQuery, readFlag, readParameters } from "./parameters.js";
import type { ApiRoute, RouteRequest } from "./route.js";
import { readFilters, readSelection, selectionFields } from "./selection-body.js";

const PAGING = ["limit", "cursor", "order"];
const GROUP_FILTERS = ["exporter", "reason", "category", "signature", "limit"];
const FILTERS_ONLY = FILTERS.filter((name) => !PAGING.includes(name));

const purgeBody = z.strictObject({ ...selectionFields, ...operatorFields });

/** Whoever sees what is masked for others says why. */
const revealBody = z.strictObject({ ...operatorFields, reason: requiredReason });
const exportBody = revealBody.extend({ query: selectionFields.query });

export const deadLetterRoutes: readonly ApiRoute[] = [
  {
    method: "GET",
    path: "/dead-letters",
    role: "view",
    async answer({ admin, query }) {
      return { body: await admin.listDeadLetters(readDeadLetterQuery(readParameters(query, FILTERS))) };
    },
  },
  {
    method: "GET",
    path: "/dead-letters/stats",
    role: "view",
    async answer({ admin, query }) {
      return { body: await admin.deadLetterStats(readDeadLetterQuery(readParameters(query, FILTERS_ONLY))) };
    },
  },
  {
    method: "GET",
    path: "/dead-letters/groups",
    role: "view",
    async answer({ admin, query }) {
      return { body: await admin.deadLetterGroups(readDeadLetterQuery(readParameters(query, GROUP_FILTERS))) };
    },
  },
  {
    method: "GET",
    path: "/dead-letters/export",
    role: "reveal",
    answer: ({ admin, query }) => ({
      lines: admin.exportDeadLetters(readDeadLetterQuery(readParameters(query, FILTERS_ONLY))),
    }),
  },
  {
    method: "POST",
    path: "/dead-letters/export",
    role: "reveal",
    async answer({ admin, request, actor }) {
      const { query, ...operator } = await readBody(request, exportBody);
      const acting = admin.actingAs(operatorOf(request, operator, actor));
      return { lines: acting.exportDeadLetters(readFilters(query), { reveal: true }) };
    },
  },
  {
    method: "POST",
    path: "/dead-letters/import",
    role: "replay",
    contentType: "application/x-ndjson",
    async answer({ admin, query, request, actor }) {
      const acting = admin.actingAs(operatorOf(request, readParameters(query, ["by", "reason"]), actor));
      return { body: await acting.importDeadLetters(readLines(request)) };
    },
  },
  {
    method: "POST",
    path: "/dead-letters/purge",
    role: "purge",
    async answer({ admin, request, actor }) {
      const { dry_run: older = false, dryRun = older, by, reason, ...selected } = await readBody(request, purgeBody);
      const acting = admin.actingAs(operatorOf(request, { by, reason }, actor));
      const deleted = await acting.deleteDeadLetters(readSelection(selected), { dryRun });
      return { body: { deleted, dryRun } };
    },
  },
  {
    method: "POST",
    path: "/dead-letters/restore",
    role: "purge",
    async answer({ admin, request, actor }) {
      const { dry_run: _, dryRun: __, by, reason, ...selected } = await readBody(request, purgeBody);
      const acting = admin.actingAs(operatorOf(request, { by, reason }, actor));
      return { body: { restored: await acting.restoreDeadLetters(readSelection(selected)) } };
    },
  },
  {
    method: "GET",
    path: "/dead-letters/:id",
    role: ({ query }) => (readFlag("payload", query.get("payload") ?? undefined) ? "reveal" : "view"),
    answer: showDeadLetter,
  },
  { method: "POST", path: "/dead-letters/:id/reveal", role: "reveal", answer: revealDeadLetter },
  {
    method: "DELETE",
    path: "/dead-letters/:id",
    role: "purge",
    async answer({ admin, params, query, request, actor }) {
      const acting = admin.actingAs(operatorOf(request, readParameters(query, ["by", "reason"]), actor));
      return { body: { deleted: await acting.deleteDeadLetters({ ids: [params["id"]!] }) } };
    },
  },
];

/** The payload only when it is asked for, and masked. Its numbers stay as exact as they are. */
async function showDeadLetter({ admin, params, query }: RouteRequest) {
  const id = params["id"]!;
  const { payload: wanted } = readParameters(query, ["payload"]);
  const entry = await requireEntry(admin, id);
  if (!readFlag("payload", wanted)) return { body: { entry } };
  return { json: withPayload(entry, true, await admin.payload(id)) };
}

async function revealDeadLetter({ admin, params, request, actor }: RouteRequest) {
  const id = params["id"]!;
  const operator = await readBody(request, revealBody);
  const entry = await requireEntry(admin, id);
  const payload = await admin.actingAs(operatorOf(request, operator, actor)).payload(id, { reveal: true });
  return { json: withPayload(entry, false, payload) };
}

async function requireEntry(admin: Admin, id: string): Promise<Entry> {
  const entry = await admin.deadLetter(id);
  if (entry === undefined) throw new AdminError("not_found", `there is no entry ${JSON.stringify(id)}`);
  return entry;
}

function withPayload(entry: Entry, masked: boolean, payload = "null"): string {
  return `{"entry":${JSON.stringify(entry, withIsoTimes)},"masked":${masked},"payload":${payload}}`;
}

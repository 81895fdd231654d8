import { z } from "zod";
import { type Admin, AdminError, type Entry, type RevealOptions, withIsoTimes } from "#contract/operations";
import { requireRole } from "./access.js";
import { readBody, readLines } from "./body.js";
import { actorName, operatorFields, operatorOf, requiredReason } from "./operator.js";
import { FILTERS, readDeadLetterQuery, readFlag, readNumber, readParameters } from "./parameters.js";
import type { ApiRoute, RouteRequest } from "./route.js";
import { readFilters, readSelection, selectionFields } from "./selection-body.js";

const PAGING = ["limit", "cursor", "order"];
const FILTERS_ONLY = FILTERS.filter((name) => !PAGING.includes(name));
const GROUP_FILTERS = [...FILTERS_ONLY, "limit"];

const purgeBody = z.strictObject({ ...selectionFields, ...operatorFields });

/** A caller who sees unmasked data must give a reason. */
const reasonBody = z.strictObject({ ...operatorFields, reason: requiredReason });
const revealBody = reasonBody.extend({ revision: z.number().int().min(0).optional() });
const exportBody = reasonBody.extend({ query: selectionFields.query });

/** As text, the payload keeps its numbers exactly as written. */
const editBody = reasonBody.extend({
  revision: z.number({ error: "name the revision that was edited" }).int().min(0),
  payload: z.string().or(z.record(z.string(), z.unknown())),
});
/** A payload may be as large as a request, and several times as long as JSON. */
const MAX_EDIT_BYTES = 64 * 1024 * 1024;

/** Returns the search, and who runs it: searches in the content of records are audited. */
function readSearch({ admin, query, request, actor }: RouteRequest, filters: readonly string[]) {
  const { by, ...values } = readParameters(query, [...filters, "by"]);
  return {
    acting: admin.actingAs(operatorOf(request, { by }, actor)),
    query: readDeadLetterQuery(values, actor),
  };
}

export const deadLetterRoutes: readonly ApiRoute[] = [
  {
    method: "GET",
    path: "/dead-letters",
    role: "view",
    async answer(asked) {
      const { acting, query } = readSearch(asked, FILTERS);
      return { body: await acting.listDeadLetters(query) };
    },
  },
  {
    method: "GET",
    path: "/dead-letters/stats",
    role: "view",
    async answer(asked) {
      const { acting, query } = readSearch(asked, FILTERS_ONLY);
      return { body: await acting.deadLetterStats(query) };
    },
  },
  {
    method: "GET",
    path: "/dead-letters/groups",
    role: "view",
    async answer(asked) {
      const { acting, query } = readSearch(asked, GROUP_FILTERS);
      return { body: await acting.deadLetterGroups(query) };
    },
  },
  {
    method: "GET",
    path: "/dead-letters/export",
    role: "reveal",
    answer(asked) {
      const { acting, query } = readSearch(asked, FILTERS_ONLY);
      return { lines: acting.exportDeadLetters(query) };
    },
  },
  {
    method: "POST",
    path: "/dead-letters/export",
    role: "reveal",
    async answer({ admin, request, actor }) {
      const { query, ...operator } = await readBody(request, exportBody);
      const acting = admin.actingAs(operatorOf(request, operator, actor));
      return { lines: acting.exportDeadLetters(readFilters(query, actor), { reveal: true }) };
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
      const deleted = await acting.deleteDeadLetters(readSelection(selected, actor), { dryRun });
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
      return { body: { restored: await acting.restoreDeadLetters(readSelection(selected, actor)) } };
    },
  },
  {
    method: "GET",
    path: "/dead-letters/:id",
    role: "view",
    answer: showDeadLetter,
  },
  { method: "POST", path: "/dead-letters/:id/edit", role: "replay", answer: edit },
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

/** Returns the payload only on request, and masked. Its numbers stay exact. */
async function showDeadLetter({ admin, params, query }: RouteRequest) {
  const id = params["id"]!;
  const { payload: wanted, revision: text } = readParameters(query, ["payload", "revision"]);
  const entry = await requireEntry(admin, id);
  if (!readFlag("payload", wanted)) return { body: { entry } };
  const which = text === undefined ? {} : { revision: readNumber("revision", text) };
  return { json: withPayload(entry, true, await requireRevision(admin, id, which)) };
}

/**
 * Returns undefined only for a delivered entry. A revision that is requested by number either exists or is an error.
 */
async function requireRevision(admin: Admin, id: string, options: RevealOptions): Promise<string | undefined> {
  const payload = await admin.payload(id, options);
  if (payload === undefined && options.revision !== undefined)
    throw new AdminError("not_found", `revision ${options.revision} of ${id} is not kept`);
  return payload;
}

/** Editing a payload means seeing it, so it needs both roles. */
async function edit({ admin, params, request, actor }: RouteRequest) {
  requireRole(actor, "reveal");
  const { payload: given, revision: seen, by, reason } = await readBody(request, editBody, MAX_EDIT_BYTES);
  const payload = typeof given === "string" ? given : JSON.stringify(given);
  const acting = admin.actingAs(operatorOf(request, { by, reason }, actor));
  const entry = await acting.editDeadLetter(params["id"]!, { by: actorName(by, actor), payload, revision: seen });
  return { body: { entry } };
}

async function revealDeadLetter({ admin, params, request, actor }: RouteRequest) {
  const id = params["id"]!;
  const { revision: wanted, ...operator } = await readBody(request, revealBody);
  const entry = await requireEntry(admin, id);
  const acting = admin.actingAs(operatorOf(request, operator, actor));
  const payload = await requireRevision(acting, id, { reveal: true, revision: wanted });
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

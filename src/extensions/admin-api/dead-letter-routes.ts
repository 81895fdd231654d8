import { z } from "zod";
import { OPERATIONS } from "#contract/api";
import { type Admin, AdminError, type Entry, type RevealOptions, withIsoTimes } from "#contract/operations";
import { requireRole } from "./access.js";
import { readLines } from "./body.js";
import { actorName, operatorFields, requiredReason } from "./operator.js";
import {
  FILTERS,
  readDeadLetterQuery,
  readFilters,
  readFlag,
  readNumber,
  readSelection,
  selectionFields,
} from "./parameters.js";
import { type ApiRoute, type RouteRequest, route, view } from "./route.js";

const PAGING = ["limit", "cursor", "order"];
const FILTERS_ONLY = FILTERS.filter((name) => !PAGING.includes(name));
const BY = ["by", "reason"];

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

export const deadLetterRoutes: readonly ApiRoute[] = [
  route(OPERATIONS.listDeadLetters, { query: [...FILTERS, "by"] }, async (asked) => {
    const { admin, query } = searchOf(asked);
    return { body: await admin.listDeadLetters(query) };
  }),
  route(OPERATIONS.deadLetterStats, { query: [...FILTERS_ONLY, "by"] }, async (asked) => {
    const { admin, query } = searchOf(asked);
    return { body: await admin.deadLetterStats(query) };
  }),
  route(OPERATIONS.deadLetterGroups, { query: [...FILTERS_ONLY, "limit", "by"] }, async (asked) => {
    const { admin, query } = searchOf(asked);
    return { body: await admin.deadLetterGroups(query) };
  }),
  route({ at: "GET /dead-letters/export", role: "reveal" }, { query: [...FILTERS_ONLY, "by"] }, (asked) => {
    const { admin, query } = searchOf(asked);
    return { lines: admin.exportDeadLetters(query) };
  }),
  route(OPERATIONS.exportDeadLetters, { takes: exportBody }, async ({ actor, body, acting }) => {
    const { query, ...operator } = await body();
    return { lines: acting(operator).exportDeadLetters(readFilters(query, actor), { reveal: true }) };
  }),
  route(
    OPERATIONS.importDeadLetters,
    { query: BY, contentType: "application/x-ndjson" },
    async ({ request, values, acting }) => ({ body: await acting(values).importDeadLetters(readLines(request)) }),
  ),
  route(OPERATIONS.deleteDeadLetters, { takes: purgeBody }, async ({ actor, body, acting }) => {
    const { dry_run: older = false, dryRun = older, by, reason, ...selected } = await body();
    const deleted = await acting({ by, reason }).deleteDeadLetters(readSelection(selected, actor), { dryRun });
    return { body: { deleted, dryRun } };
  }),
  route(OPERATIONS.restoreDeadLetters, { takes: purgeBody }, async ({ actor, body, acting }) => {
    const { by, reason, ...selected } = await body();
    return { body: { restored: await acting({ by, reason }).restoreDeadLetters(readSelection(selected, actor)) } };
  }),
  view("GET /dead-letters/:id", { query: ["payload", "revision"] }, showDeadLetter),
  route(OPERATIONS.editDeadLetter, { takes: editBody, maxBytes: MAX_EDIT_BYTES }, edit),
  route(OPERATIONS.payload, { takes: revealBody }, revealDeadLetter),
  route({ at: "DELETE /dead-letters/:id", role: "purge" }, { query: BY }, async ({ id, values, acting }) => ({
    body: { deleted: await acting(values).deleteDeadLetters({ ids: [id] }) },
  })),
];

/** Returns the search, and the admin interface of who runs it: searches in the content of records are audited. */
function searchOf({ values, actor, acting }: RouteRequest) {
  const { by, ...filters } = values;
  return { admin: acting({ by }), query: readDeadLetterQuery(filters, actor) };
}

/** Returns the payload only on request, and masked. Its numbers stay exact. */
async function showDeadLetter({ admin, id, values }: RouteRequest) {
  const { payload: wanted, revision: text } = values;
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
async function edit({ id, actor, body, acting }: RouteRequest<z.infer<typeof editBody>>) {
  requireRole(actor, "reveal");
  const { payload: given, revision: seen, by, reason } = await body();
  const payload = typeof given === "string" ? given : JSON.stringify(given);
  const changed = { by: actorName(by, actor), payload, revision: seen };
  return { body: { entry: await acting({ by, reason }).editDeadLetter(id, changed) } };
}

async function revealDeadLetter({ admin, id, body, acting }: RouteRequest<z.infer<typeof revealBody>>) {
  const { revision: wanted, ...operator } = await body();
  const entry = await requireEntry(admin, id);
  const payload = await requireRevision(acting(operator), id, { reveal: true, revision: wanted });
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

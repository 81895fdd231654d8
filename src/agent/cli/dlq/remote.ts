import type { Entry, Operator, ReplayJob } from "#contract/operations";
import {
  AdminError,
  type DeadLetterQuery,
  RECORD_FILTERS,
  type ReplayOptions,
  type Selection,
} from "#contract/operations";
import { splitLines } from "#text";
import { type ApiAccess, type ApiRequest, requestJson, sendRequest } from "../agent/send-request.js";
import type { DeadLetterAdmin } from "./dead-letter-admin.js";

/** The dead letters of a running agent over its API. `base` is the agent's URL. */
export function remoteAdmin(base: URL, access: ApiAccess, operator?: Operator): DeadLetterAdmin {
  const at = (path: string, query: object = {}) => {
    const url = new URL(`api/v1${path}`, base);
    for (const [name, value] of Object.entries(query))
      if (value !== undefined) url.searchParams.set(name, String(value));
    return url;
  };
  const get = <T>(url: URL) => requestJson<T>(url, { method: "GET" }, access);
  const post = <T>(path: string, json: unknown) => requestJson<T>(at(path), { method: "POST", json }, access);
  const entryAt = (id: string) => `/dead-letters/${encodeURIComponent(id)}`;

  const who = { by: operator?.actor, reason: operator?.reason };
  /** Adds the operator's name to queries that search in records, because the audit records those. */
  const withName = (query: DeadLetterQuery) =>
    RECORD_FILTERS.some((name) => query[name] !== undefined) ? { ...query, by: who.by } : query;

  return {
    actingAs: (acting) => remoteAdmin(base, access, acting),
    listDeadLetters: (query) => get(at("/dead-letters", withName(query))),
    deadLetter: (id) => undefinedIfNotFound(async () => (await get<{ entry: Entry }>(at(entryAt(id)))).entry),
    payload: (id, options) =>
      undefinedIfNotFound(async () => {
        const { reveal, revision } = options ?? {};
        const asked = reveal
          ? { url: at(`${entryAt(id)}/reveal`), request: { method: "POST", json: { ...who, revision } } }
          : { url: at(entryAt(id), { payload: true, revision }), request: { method: "GET" } };
        const shown = requestJson<{ payload: unknown }>(asked.url, { ...asked.request, isPlain: true }, access);
        return JSON.stringify((await shown).payload);
      }),
    editDeadLetter: async (id, { by, payload, revision }) =>
      (await post<{ entry: Entry }>(`${entryAt(id)}/edit`, { by, reason: who.reason, payload, revision })).entry,
    deadLetterStats: (query) => get(at("/dead-letters/stats", withName(query))),
    startReplay: (selection, options) =>
      post<ReplayJob>("/dead-letters/replay", { reason: who.reason, ...replayBody(selection, options) }),
    replays: async () => (await get<{ replays: ReplayJob[] }>(at("/replays"))).replays,
    replayJob: (id) => undefinedIfNotFound(() => get<ReplayJob>(at(`/replays/${encodeURIComponent(id)}`))),
    controlReplay: (id, change) => post<ReplayJob>(`/replays/${encodeURIComponent(id)}/${change}`, who),
    async deleteDeadLetters(selection, options) {
      const body = { ...selectionBody(selection), ...who, dryRun: options?.dryRun ?? false };
      return (await post<{ deleted: number }>("/dead-letters/purge", body)).deleted;
    },
    restoreDeadLetters: async (selection) =>
      (await post<{ restored: number }>("/dead-letters/restore", { ...selectionBody(selection), ...who })).restored,
    exportDeadLetters: (query, options) =>
      options?.reveal
        ? linesOf(at("/dead-letters/export"), { method: "POST", json: { ...who, query } }, access)
        : linesOf(at("/dead-letters/export", withName(query)), { method: "GET" }, access),
    audit: (query) => get(at("/audit", query)),
    importDeadLetters: (lines) => requestJson(at("/dead-letters/import", who), { method: "POST", lines }, access),
  };
}

function selectionBody(selection: Selection) {
  if ("ids" in selection) return { ids: selection.ids };
  return { query: selection.query, all: Object.keys(selection.query).length === 0 };
}

function replayBody(selection: Selection, options: ReplayOptions) {
  const { by, approved = false, dryRun = false, rate, generation, pipeline, to, transform, samples } = options;
  const reveal = options.revealSamples || undefined;
  // JSON leaves out undefined fields.
  const how = { rate, generation, pipeline, to, transform, samples, reveal };
  return { ...selectionBody(selection), by, approved, dryRun, ...how };
}

async function* linesOf(url: URL, asked: ApiRequest, access: ApiAccess): AsyncGenerator<string> {
  const response = await sendRequest(url, asked, access);
  try {
    yield* splitLines(response.setEncoding("utf8"));
  } catch (error) {
    throw new AdminError("unavailable", "the agent ended the connection early: the output is incomplete", {
      cause: error,
    });
  }
}

async function undefinedIfNotFound<T>(work: () => Promise<T>): Promise<T | undefined> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof AdminError && error.code === "not_found") return undefined;
    throw error;
  }
}

import type { ReplayJob } from "../../../extensions/admin-api/replay-jobs.js";
import {
  AdminError,
  type DeadLetterQuery,
  type Operator,
  type ReplayOptions,
  type ReplayReport,
  type Selection,
} from "../../contract/admin.js";
import type { Entry } from "../../contract/entry.js";
import { splitLines } from "../../kit/text/split-lines.js";
import { type ApiAccess, type ApiRequest, requestJson, sendRequest } from "../agent/send-request.js";
import type { DeadLetterAdmin } from "./dead-letter-admin.js";

const POLL_MS = 250;

/** The dead letters of a running agent, over its API. `base` is the URL of the agent. */
export function remoteAdmin(base: URL, access: ApiAccess, operator?: Operator): DeadLetterAdmin {
  const at = (path: string, query: DeadLetterQuery = {}) => {
    const url = new URL(`api/v1${path}`, base);
    for (const [name, value] of Object.entries(query))
      if (value !== undefined) url.searchParams.set(name, String(value));
    return url;
  };
  const get = <T>(url: URL) => requestJson<T>(url, { method: "GET" }, access);
  const post = <T>(path: string, json: unknown) => requestJson<T>(at(path), { method: "POST", json }, access);
  const entryAt = (id: string) => `/dead-letters/${encodeURIComponent(id)}`;

  const who = { by: operator?.actor, reason: operator?.reason };

  return {
    actingAs: (acting) => remoteAdmin(base, access, acting),
    listDeadLetters: (query) => get(at("/dead-letters", query)),
    deadLetter: (id) => undefinedIfNotFound(async () => (await get<{ entry: Entry }>(at(entryAt(id)))).entry),
    payload: (id, options) =>
      undefinedIfNotFound(async () => {
        const url = at(entryAt(id));
        url.searchParams.set("payload", "true");
        const shown = options?.reveal
          ? post<{ payload: unknown }>(`${entryAt(id)}/reveal`, who)
          : get<{ payload: unknown }>(url);
        return JSON.stringify((await shown).payload);
      }),
    deadLetterStats: (query) => get(at("/dead-letters/stats", query)),
    async replay(selection, options) {
      const job = await post<ReplayJob>("/dead-letters/replay", replayBody(selection, options));
      return followReplay(job, options, {
        get: () => get<ReplayJob>(at(`/replays/${job.id}`)),
        cancel: () => requestJson<ReplayJob>(at(`/replays/${job.id}`), { method: "DELETE" }, access),
      });
    },
    async deleteDeadLetters(selection, options) {
      const body = { ...selectionBody(selection), dry_run: options?.dryRun ?? false };
      return (await post<{ deleted: number }>("/dead-letters/purge", body)).deleted;
    },
    restoreDeadLetters: async (selection) =>
      (await post<{ restored: number }>("/dead-letters/restore", selectionBody(selection))).restored,
    exportDeadLetters: (query, options) =>
      options?.reveal
        ? linesOf(at("/dead-letters/export"), { method: "POST", json: { ...who, query } }, access)
        : linesOf(at("/dead-letters/export", query), { method: "GET" }, access),
    importDeadLetters: (lines) => requestJson(at("/dead-letters/import"), { method: "POST", lines }, access),
  };
}

function selectionBody(selection: Selection) {
  if ("ids" in selection) return { ids: selection.ids };
  return { query: selection.query, all: Object.keys(selection.query).length === 0 };
}

function replayBody(selection: Selection, options: ReplayOptions) {
  const { by, approved = false, dryRun = false, rate, generation, pipeline } = options;
  // What is not given is not there in JSON.
  return { ...selectionBody(selection), by, approved, dry_run: dryRun, rate, generation, pipeline };
}

/** Follows a replay to its end; an abort cancels it. */
async function followReplay(
  first: ReplayJob,
  { onProgress, abort }: ReplayOptions,
  job: { get(): Promise<ReplayJob>; cancel(): Promise<ReplayJob> },
): Promise<ReplayReport> {
  let status = first;
  let isCancelled = false;
  for (;;) {
    onProgress?.(status.done, status.total);
    if (status.state === "failed") throw new AdminError("unavailable", status.error ?? "the replay failed");
    if (status.report !== undefined) return status.report;
    if (abort?.aborted && !isCancelled) {
      isCancelled = true;
      await job.cancel();
    }
    await pause(abort);
    status = await job.get();
  }
}

function pause(abort: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(end, POLL_MS);
    function end() {
      clearTimeout(timer);
      abort?.removeEventListener("abort", end);
      resolve();
    }
    abort?.addEventListener("abort", end);
  });
}

async function* linesOf(url: URL, asked: ApiRequest, access: ApiAccess): AsyncGenerator<string> {
  const response = await sendRequest(url, asked, access);
  try {
    yield* splitLines(response.setEncoding("utf8"));
  } catch (error) {
    throw new AdminError("unavailable", "the agent broke off: what was written is not all", { cause: error });
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

import { type Answers, OPERATIONS, type OperationName } from "#contract/api";
import {
  type Admin,
  AdminError,
  type DeadLetterQuery,
  type Operator,
  RECORD_FILTERS,
  type ReplayOptions,
  type Selection,
} from "#contract/operations";
import { splitLines } from "#text";
import { type ApiAccess, type ApiRequest, requestJson, sendRequest } from "../agent/send-request.js";

/** The part of the admin interface that is about dead letters, of a running agent or of a directory. */
export type DeadLetterAdmin = Pick<
  Admin,
  | "listDeadLetters"
  | "deadLetter"
  | "payload"
  | "editDeadLetter"
  | "deadLetterStats"
  | "startReplay"
  | "replays"
  | "replayJob"
  | "deleteDeadLetters"
  | "restoreDeadLetters"
  | "exportDeadLetters"
  | "importDeadLetters"
  | "audit"
> & {
  /** Returns an admin whose changes are recorded under this operator's name; see `Admin`. */
  actingAs(operator: Operator): DeadLetterAdmin;
  controlReplay(id: string, change: "pause" | "resume" | "cancel"): unknown;
};

/** Open dead letters. `close` releases them. */
export interface DeadLetterConnection {
  readonly admin: DeadLetterAdmin;
  /** The agent's URL or the directory, for display. */
  readonly where: string;
  /** True when no agent runs: replayed entries are sent only when one starts. */
  readonly isOffline: boolean;
  close(): Promise<void>;
}

/** The parameters of an operation: of its path, its query and its request. */
interface Asked extends Omit<ApiRequest, "method"> {
  readonly id?: string;
  readonly change?: string;
  readonly query?: object;
}

type AnswerOf<Name extends OperationName> = (typeof OPERATIONS)[Name]["at"] extends infer At
  ? At extends keyof Answers
    ? Answers[At]
    : unknown
  : never;

/** The dead letters of a running agent over its API. `base` is the agent's URL. */
export function remoteAdmin(base: URL, access: ApiAccess, operator?: Operator): DeadLetterAdmin {
  const urlOf = (path: string, { id = "", change = "", query = {} }: Asked) => {
    const url = new URL(`api/v1${path.replace(":id", encodeURIComponent(id)).replace(":change", change)}`, base);
    for (const [name, value] of Object.entries(query))
      if (value !== undefined) url.searchParams.set(name, String(value));
    return url;
  };
  const call = <Name extends OperationName>(name: Name, asked: Asked = {}) => {
    const [method, path] = OPERATIONS[name].at.split(" ") as [string, string];
    return requestJson<AnswerOf<Name>>(urlOf(path, asked), { ...asked, method }, access);
  };

  const who = { by: operator?.actor, reason: operator?.reason };
  /** Adds the operator's name to queries that search in records, because the audit records those. */
  const withName = (query: DeadLetterQuery) =>
    RECORD_FILTERS.some((name) => query[name] !== undefined) ? { ...query, by: who.by } : query;

  return {
    actingAs: (acting) => remoteAdmin(base, access, acting),
    listDeadLetters: (query) => call("listDeadLetters", { query: withName(query) }),
    deadLetter: (id) => undefinedIfNotFound(async () => (await call("deadLetter", { id })).entry),
    payload: (id, options) =>
      undefinedIfNotFound(async () => {
        const { reveal, revision } = options ?? {};
        const shown = reveal
          ? call("payload", { id, json: { ...who, revision }, isPlain: true })
          : call("deadLetter", { id, query: { payload: true, revision }, isPlain: true });
        return JSON.stringify((await shown).payload);
      }),
    editDeadLetter: async (id, { by, payload, revision }) =>
      (await call("editDeadLetter", { id, json: { by, reason: who.reason, payload, revision } })).entry,
    deadLetterStats: (query) => call("deadLetterStats", { query: withName(query) }),
    startReplay: (selection, options) =>
      call("startReplay", { json: { reason: who.reason, ...replayBody(selection, options) } }),
    replays: async () => (await call("replays")).replays,
    replayJob: (id) => undefinedIfNotFound(() => call("replayJob", { id })),
    controlReplay: (id, change) => call("controlReplay", { id, change, json: who }),
    async deleteDeadLetters(selection, options) {
      const json = { ...selectionBody(selection), ...who, dryRun: options?.dryRun ?? false };
      return (await call("deleteDeadLetters", { json })).deleted;
    },
    restoreDeadLetters: async (selection) =>
      (await call("restoreDeadLetters", { json: { ...selectionBody(selection), ...who } })).restored,
    exportDeadLetters(query, options) {
      const path = "/dead-letters/export";
      if (options?.reveal) return linesOf(urlOf(path, {}), { method: "POST", json: { ...who, query } }, access);
      return linesOf(urlOf(path, { query: withName(query) }), { method: "GET" }, access);
    },
    audit: (query) => call("audit", { query }),
    importDeadLetters: (lines) => call("importDeadLetters", { query: who, lines }),
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

import type { Abilities } from "../../api/abilities.js";
import { ApiError, get, post, request, segment } from "../../api/client.js";
import type { DryRun, Replay, ReplayReport } from "../../api/shapes.js";
import { apiFilters } from "../failures/filters.js";

/** The form's values for a replay. */
export interface ReplayDraft {
  readonly to: string;
  /** Entries per second; empty: as fast as the backend takes them. */
  readonly rate: string;
  readonly transform: string;
  readonly approved: boolean;
  readonly reason: string;
}

/** The parameters of the address that select entries. */
export type Asked = Readonly<Record<string, string>>;

type JobAnswer = Replay & { readonly report?: ReplayReport };

const SAMPLES = 3;
const AGAIN_MS = 500;

/** Ids or a query, as the API takes them; undefined when the address selects nothing. */
export function selectionOf(asked: Asked): object | undefined {
  const ids = asked["ids"]?.split(",").filter((id) => id !== "");
  if (ids !== undefined && ids.length > 0) return { ids };
  if (asked["all"] === "true") return { query: {}, all: true };
  const { since, until, signal, ...filters } = asked;
  const others = Object.entries({ since, until, signal }).filter(([, value]) => value !== undefined);
  const query = { ...apiFilters(filters), ...Object.fromEntries(others) };
  return Object.keys(query).length === 0 ? undefined : { query };
}

/** Runs a dry run and reports its progress. Returns undefined if it was cancelled. */
export async function dryRun(
  asked: Asked,
  draft: ReplayDraft,
  abilities: Abilities,
  onProgress: (job: Replay) => void,
): Promise<DryRun | undefined> {
  const samples = abilities.hasReplayKey("samples") ? { samples: SAMPLES } : {};
  const body = { ...bodyOf(asked, draft, abilities), dryRun: true, ...samples };
  let answer = await post<JobAnswer>("/dead-letters/replay", body);
  // A dry run of many entries is answered before it has finished.
  while (answer.report === undefined) {
    if (answer.state === "cancelled") return undefined;
    onProgress(answer);
    if (answer.state === "failed") throw new Error(answer.error ?? "the dry run failed");
    await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
    answer = await get<JobAnswer>(`/replays/${segment(answer.id)}`);
  }
  if (answer.state === "cancelled") return undefined;
  const { selected, replayed, ...report } = answer.report;
  return { total: selected, wouldReplay: replayed, ...report };
}

/** Starts a replay; returns the id of its job. */
export async function startReplay(asked: Asked, draft: ReplayDraft, abilities: Abilities): Promise<string> {
  return (await post<Replay>("/dead-letters/replay", bodyOf(asked, draft, abilities))).id;
}

/** Converts a job to the form that the console shows, whether or not it reports outcomes. */
export function replayOf({ report, ...job }: JobAnswer): Replay {
  return report === undefined ? job : { queued: report.replayed, skipped: report.skipped, ...job };
}

/** Older agents cancel by deleting the replay. */
export async function changeReplay(id: string, action: "pause" | "resume" | "cancel"): Promise<void> {
  const path = `/replays/${segment(id)}`;
  await post(`${path}/${action}`).catch((error: unknown) => {
    if (action !== "cancel" || !(error instanceof ApiError) || error.status !== 404) throw error;
    return request("DELETE", path);
  });
}

function bodyOf(asked: Asked, draft: ReplayDraft, { hasReplayKey }: Abilities): object {
  const { to, rate, transform, approved, reason } = draft;
  const statements = transform.split("\n").filter((line) => line.trim() !== "");
  return {
    ...selectionOf(asked),
    ...(to !== "" && { to }),
    rate: rate === "" ? 0 : Number(rate),
    ...(statements.length > 0 && { transform: statements }),
    ...(approved && { approved }),
    ...(reason.trim() !== "" && hasReplayKey("reason") && { reason: reason.trim() }),
  };
}

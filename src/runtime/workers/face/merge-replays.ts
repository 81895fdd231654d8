import type { ReplayJob, ReplayOutcome, ReplayReport } from "#contract/operations";
import { addUp } from "./merge-counts.js";
import { greatest, groupById, type OneOrMore, rounded, sums } from "./merge-status.js";

const MAX_OUTCOMES = 1000;
const MAX_EXAMPLES = 10;
/** The first of these states that a worker's part has is that of the whole replay. */
const STATES: readonly ReplayJob["state"][] = ["running", "paused", "failed", "cancelled", "done"];
const OUTCOMES: readonly ReplayOutcome["outcome"][] = ["failed_again", "dropped", "pending", "delivered"];

/** Replays of all workers, the newest first. The parts of one replay have the same id in each worker. */
export function mergeReplays(parts: readonly (readonly ReplayJob[])[], limit: number): readonly ReplayJob[] {
  const merged = [...groupById(parts.flat()).values()].map((jobs) => mergeReplay(jobs));
  return merged.sort((a, b) => b.startedAt - a.startedAt).slice(0, limit);
}

/** One replay. Each worker replays its own dead letters. */
export function mergeReplay(parts: OneOrMore<ReplayJob>): ReplayJob {
  const [first] = parts;
  if (parts.length === 1) return first;
  const state = STATES.find((each) => parts.some((part) => part.state === each))!;
  const isOver = state !== "running" && state !== "paused";
  const endedAt = isOver ? greatest(parts.map((part) => part.endedAt)) : undefined;
  const reports = parts.flatMap(({ report }) => (report === undefined ? [] : [report]));
  const { error } = parts.find((part) => part.error !== undefined) ?? {};
  const { endedAt: _, report: __, error: ___, outcomes: ____, causes: _____, rate, ...whole } = first;
  const causes = mergeCauses(parts);
  return {
    ...whole,
    state,
    startedAt: Math.min(...parts.map(({ startedAt }) => startedAt)),
    ...(endedAt !== undefined && { endedAt }),
    ...sums(parts, ["done", "total", "queued", "delivered", "failedAgain", "pending"]),
    // Each worker has its share of the limit.
    ...(rate !== undefined && { rate: rounded(parts.reduce((sum, part) => sum + (part.rate ?? 0), 0)) }),
    ...(causes.length > 0 && { causes }),
    isSettled: parts.every(({ isSettled }) => isSettled),
    ...(isOver && reports.length > 0 && { report: mergeReports(reports) }),
    ...(error !== undefined && { error }),
    ...(parts.some(({ outcomes }) => outcomes !== undefined) && { outcomes: mergeOutcomes(parts) }),
  };
}

type Causes = NonNullable<ReplayJob["causes"]>;

function mergeCauses(parts: readonly ReplayJob[]): Causes {
  const merged = new Map<string, Causes[number]>();
  for (const cause of parts.flatMap(({ causes = [] }) => causes)) {
    const entries = (merged.get(cause.signature)?.entries ?? 0) + cause.entries;
    merged.set(cause.signature, { ...cause, entries });
  }
  return [...merged.values()].sort((a, b) => b.entries - a.entries);
}

function mergeOutcomes(parts: readonly ReplayJob[]): readonly ReplayOutcome[] {
  const all = parts.flatMap(({ outcomes = [] }) => outcomes);
  return OUTCOMES.flatMap((outcome) => all.filter((each) => each.outcome === outcome)).slice(0, MAX_OUTCOMES);
}

export function mergeReports(reports: readonly ReplayReport[], maxSamples?: number): ReplayReport {
  const samples = reports.flatMap((report) => report.samples ?? []);
  return {
    ...sums(reports, ["selected", "replayed"]),
    skipped: addUp(reports.map(({ skipped }) => skipped)),
    examples: reports.flatMap(({ examples }) => examples).slice(0, MAX_EXAMPLES),
    ...(samples.length > 0 && { samples: samples.slice(0, maxSamples) }),
  };
}

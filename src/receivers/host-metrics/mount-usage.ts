import type { StatsFs } from "node:fs";
import { statfs } from "node:fs/promises";
import { waitAtMost } from "#contract/time";
import type { Clock } from "../../plugin.js";

const ANSWER_LIMIT_MS = 5000;
/** Each unanswered query blocks one of the few threads that do all of the agent's file access. */
const MAX_UNANSWERED = 2;

/**
 * Queries how full file systems are. If a file system's server is gone, the query may never return and cannot be
 * cancelled. That file system is not queried again until it answers, and when several hang, no other is queried either.
 */
export class MountUsage {
  private readonly clock: Clock;
  private readonly ask: (path: string) => Promise<StatsFs>;
  private readonly unanswered = new Set<string>();

  constructor(clock: Clock, ask: (path: string) => Promise<StatsFs> = (path) => statfs(path)) {
    this.clock = clock;
    this.ask = ask;
  }

  /** Returns undefined if the file system reports no size. Rejects if it does not answer. */
  async of(path: string): Promise<StatsFs | undefined> {
    const { unanswered } = this;
    if (unanswered.has(path)) throw new Error(`${path} does not answer`);
    if (unanswered.size >= MAX_UNANSWERED)
      throw new Error(`${path} is not asked while ${[...unanswered].join(" and ")} do not answer`);
    unanswered.add(path);
    const answer = this.ask(path)
      .catch(() => undefined)
      .finally(() => unanswered.delete(path));
    const known = await waitAtMost(ANSWER_LIMIT_MS, answer, this.clock, () => "late" as const);
    if (known === "late") throw new Error(`${path} does not answer`);
    return known;
  }
}

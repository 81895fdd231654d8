import type { StatsFs } from "node:fs";
import { statfs } from "node:fs/promises";
import { waitAtMost } from "#contract";
import type { Clock } from "../../plugin.js";

const ANSWER_LIMIT_MS = 5000;
/** Each holds one of the few threads that all of the agent's files are read with. */
const MAX_UNANSWERED = 2;

/**
 * Asks file systems how full they are. One whose server is gone may never answer, and nobody can take the question back: it is not
 * asked again before it has, and when there are several such ones, no other is asked either.
 */
export class MountUsage {
  private readonly clock: Clock;
  private readonly ask: (path: string) => Promise<StatsFs>;
  private readonly unanswered = new Set<string>();

  constructor(clock: Clock, ask: (path: string) => Promise<StatsFs> = (path) => statfs(path)) {
    this.clock = clock;
    this.ask = ask;
  }

  /** Undefined for one that says that there is nothing. Rejects when it does not answer. */
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

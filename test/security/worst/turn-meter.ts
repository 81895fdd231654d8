import { existsSync, readFileSync, rmSync } from "node:fs";
import { expect } from "vitest";
import type { AgentProcess } from "../../support/agent-process.js";

/** The statistics of the scheduler, from which the CPU time of a thread is known. */
export const hasSchedulerStatistics = existsSync("/proc/self/schedstat");

const PRELOAD = new URL("longest-turn.mjs", import.meta.url).href;
/**
 * A garbage collection may fall into a turn, and code may not be compiled yet. Work that is not cut takes as long each
 * time.
 */
const MAX_TRIES = 4;

/** The variables with which an agent is started whose turns are measured into this file. */
export function meteredEnv(file: string): Record<string, string> {
  return { NODE_OPTIONS: `--import ${PRELOAD}`, LONGEST_TURN_FILE: file };
}

/** Measures the longest turn of an agent's event loop, in CPU time of its main thread. */
export class TurnMeter {
  private readonly agent: AgentProcess;
  private readonly file: string;

  constructor(agent: AgentProcess, file: string) {
    this.agent = agent;
    this.file = file;
  }

  /** The shortest of a few tries. SHOW_TURNS=1 prints each turn. */
  async longestTurn(name: string, enoughMs: number, work: () => Promise<void>): Promise<number> {
    let shortest = Number.POSITIVE_INFINITY;
    for (let tries = 0; tries < MAX_TRIES && shortest >= enoughMs; tries++) {
      await this.toggle();
      await work();
      const { longestMs, peakMiB } = await this.toggle();
      shortest = Math.min(shortest, longestMs);
      if (process.env["SHOW_TURNS"])
        process.stdout.write(`${longestMs.toFixed(0)} ms, ${peakMiB.toFixed(0)} MiB: ${name}\n`);
    }
    return shortest;
  }

  private async toggle(): Promise<{ longestMs: number; peakMiB: number }> {
    rmSync(this.file, { force: true });
    this.agent.child.kill("SIGUSR2");
    await expect.poll(() => existsSync(this.file)).toBe(true);
    return JSON.parse(readFileSync(this.file, "utf8"));
  }
}

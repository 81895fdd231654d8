import { existsSync, readFileSync, rmSync } from "node:fs";
import { setTimeout } from "node:timers/promises";
import { expect } from "vitest";
import type { AgentProcess } from "../../support/agent-process.js";

/** The statistics of the scheduler, from which the CPU time of a thread is known. */
export const hasSchedulerStatistics = existsSync("/proc/self/schedstat");

/**
 * Nothing may hold the event loop for longer, in CPU time of its thread. WORST_TURN_MS sets another limit: CPU time grows
 * by half and more where other programs use the same caches.
 */
export const MAX_TURN_MS = Number(process.env["WORST_TURN_MS"] ?? 100);

const PRELOAD = new URL("longest-turn.mjs", import.meta.url).href;
/**
 * A garbage collection may fall into a turn, and code may not be compiled yet. Work that is not cut takes as long each
 * time.
 */
const MAX_TRIES = 4;

/** A main thread that has used so little CPU time in so many milliseconds has nothing left to do but a timer's work. */
const IDLE_MS = 8;
const IDLE_AFTER_MS = 60;

/** What a measurement has found. */
export interface MeasuredTurns {
  /** CPU time of the longest turn, without collections of the whole heap. */
  readonly longestMs: number;
  /** The longest of these collections. */
  readonly collectionMs: number;
  /** The most memory that the process held. */
  readonly peakMiB: number;
}

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

  /** Returns the shortest turn and the smallest peak of a few tries. SHOW_TURNS=1 prints each try. */
  async worstOf(name: string, work: () => Promise<void>, maxMiB = Number.POSITIVE_INFINITY): Promise<MeasuredTurns> {
    let best = { longestMs: Number.POSITIVE_INFINITY, collectionMs: 0, peakMiB: Number.POSITIVE_INFINITY };
    for (let tries = 0; tries < MAX_TRIES && (best.longestMs >= MAX_TURN_MS || best.peakMiB >= maxMiB); tries++) {
      await this.toggle();
      await work();
      const turns = await this.toggle();
      if (process.env["SHOW_TURNS"])
        process.stdout.write(
          `${turns.longestMs.toFixed(0)} ms (and ${turns.collectionMs.toFixed(0)}), ${turns.peakMiB.toFixed(0)} MiB: ${name}\n`,
        );
      best = {
        longestMs: Math.min(best.longestMs, turns.longestMs),
        collectionMs: turns.collectionMs,
        peakMiB: Math.min(best.peakMiB, turns.peakMiB),
      };
    }
    return best;
  }

  /** Resolves when the main thread does hardly anything any more. */
  async idle(): Promise<void> {
    for (let before = this.cpuMs(), now = Number.POSITIVE_INFINITY; now - before > IDLE_MS; ) {
      before = this.cpuMs();
      await setTimeout(IDLE_AFTER_MS);
      now = this.cpuMs();
    }
  }

  private cpuMs(): number {
    const { pid } = this.agent.child;
    return Number(readFileSync(`/proc/${pid}/task/${pid}/schedstat`, "latin1").split(" ", 1)[0]) / 1e6;
  }

  private async toggle(): Promise<MeasuredTurns> {
    rmSync(this.file, { force: true });
    this.agent.child.kill("SIGUSR2");
    await expect.poll(() => existsSync(this.file), { interval: 10 }).toBe(true);
    return JSON.parse(readFileSync(this.file, "utf8"));
  }
}

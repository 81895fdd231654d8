import type { Clock } from "../../plugin.js";

export interface LevelOrderSettings {
  /** The pipelines of each level, the most wanted first. */
  readonly levels: readonly (readonly string[])[];
  /** How long a level that refused something is tried last. */
  readonly retryIntervalMs: number;
  readonly isAvailable: (pipeline: string) => boolean;
  readonly clock: Clock;
}

/** Knows how the levels are, and in which order to try them. */
export class LevelOrder {
  private readonly settings: LevelOrderSettings;
  private readonly refusedAt: (number | undefined)[];

  constructor(settings: LevelOrderSettings) {
    this.settings = settings;
    this.refusedAt = settings.levels.map(() => undefined);
  }

  /**
   * All levels, by index. First those that are well, by priority; then those whose exporters hold back what they are
   * given, because their queues keep it; last those that refused something a short while ago.
   */
  current(): number[] {
    const indexes = this.settings.levels.map((_, i) => i);
    const penalties = indexes.map((i) => this.penalty(i));
    return indexes.sort((a, b) => penalties[a]! - penalties[b]! || a - b);
  }

  /** The level refused something that it could have taken. */
  markRefused(level: number): void {
    this.refusedAt[level] = this.settings.clock.monotonic();
  }

  private penalty(level: number): number {
    const { levels, isAvailable, clock, retryIntervalMs } = this.settings;
    const at = this.refusedAt[level];
    const hasRefused = at !== undefined && clock.monotonic() - at < retryIntervalMs;
    return (hasRefused ? 2 : 0) + (levels[level]!.every((pipeline) => isAvailable(pipeline)) ? 0 : 1);
  }
}

import type { Clock } from "../../plugin.js";

interface LevelOrderSettings {
  /** The pipelines of each level, highest priority first. */
  readonly levels: readonly (readonly string[])[];
  /** How long a level is tried last after it has refused something. */
  readonly retryIntervalMs: number;
  readonly isAvailable: (pipeline: string) => boolean;
  readonly clock: Clock;
}

/** Tracks the state of the levels, and decides in which order to try them. */
export class LevelOrder {
  private readonly settings: LevelOrderSettings;
  private readonly refusedAt: (number | undefined)[];

  constructor(settings: LevelOrderSettings) {
    this.settings = settings;
    this.refusedAt = settings.levels.map(() => undefined);
  }

  /**
   * Returns the indexes of all levels in the order to try them. Healthy levels come first, by priority. Then come
   * levels whose exporters hold data back, because their queues keep it. Levels that recently refused something come
   * last.
   */
  current(): number[] {
    const indexes = this.settings.levels.map((_, i) => i);
    const penalties = indexes.map((i) => this.penalty(i));
    return indexes.sort((a, b) => penalties[a]! - penalties[b]! || a - b);
  }

  /** Call this when the level refused something that it could have accepted. */
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

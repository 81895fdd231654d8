/** The most recent decisions, for spans that arrive late. */
export class DecisionCache {
  private readonly sampled: RecentSet;
  private readonly notSampled: RecentSet;

  constructor(sampledSize: number, notSampledSize: number) {
    this.sampled = new RecentSet(sampledSize);
    this.notSampled = new RecentSet(notSampledSize);
  }

  /** Returns undefined if the trace is not decided yet, or forgotten. */
  get(trace: string): boolean | undefined {
    if (this.sampled.has(trace)) return true;
    return this.notSampled.has(trace) ? false : undefined;
  }

  remember(trace: string, isSampled: boolean): void {
    (isSampled ? this.sampled : this.notSampled).add(trace);
  }
}

/**
 * The keys that were added or looked up most recently: at least half of `size`, and never more than `size`. They are
 * kept in two generations. When the younger one is full, the older one is forgotten, because removing the oldest key
 * from a Set again and again becomes slower the more keys have been removed.
 */
class RecentSet {
  private readonly maxPerGeneration: number;
  private young = new Set<string>();
  private old = new Set<string>();

  constructor(size: number) {
    this.maxPerGeneration = Math.max(1, size / 2);
  }

  has(key: string): boolean {
    if (this.young.has(key)) return true;
    if (!this.old.has(key)) return false;
    this.add(key);
    return true;
  }

  add(key: string): void {
    if (this.young.size >= this.maxPerGeneration) {
      this.old = this.young;
      this.young = new Set();
    }
    this.young.add(key);
  }
}

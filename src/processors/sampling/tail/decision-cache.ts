/** What was decided of the traces decided last, for spans that come late. */
export class DecisionCache {
  private readonly sampled: RecentSet;
  private readonly notSampled: RecentSet;

  constructor(sampledSize: number, notSampledSize: number) {
    this.sampled = new RecentSet(sampledSize);
    this.notSampled = new RecentSet(notSampledSize);
  }

  /** Undefined: not decided, or forgotten. */
  get(trace: string): boolean | undefined {
    if (this.sampled.has(trace)) return true;
    return this.notSampled.has(trace) ? false : undefined;
  }

  remember(trace: string, isSampled: boolean): void {
    (isSampled ? this.sampled : this.notSampled).add(trace);
  }
}

/**
 * The keys added or asked for last: at least half of `size` of them, and never more than `size`. They are in two
 * generations, and when the younger is full the older is forgotten: taking the oldest out of a Set again and again
 * would take longer the more have been taken out.
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

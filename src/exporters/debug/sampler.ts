/** Chooses which batches are shown: each second the first few, then every n-th. Counts the ones that are not. */
export class BatchSampler {
  private readonly initial: number;
  private readonly thereafter: number;
  private readonly now: () => number;
  private second = Number.NaN;
  private seen = 0;
  private skipped = 0;

  constructor(initial: number, thereafter: number, now: () => number) {
    this.initial = initial;
    this.thereafter = thereafter;
    this.now = now;
  }

  /** Undefined: do not show this one. Otherwise the number of batches that were left out since the last one shown. */
  next(): number | undefined {
    const second = Math.floor(this.now() / 1000);
    if (second !== this.second) this.seen = 0;
    this.second = second;
    this.seen++;
    if (!this.isShown()) {
      this.skipped++;
      return undefined;
    }
    const { skipped } = this;
    this.skipped = 0;
    return skipped;
  }

  private isShown(): boolean {
    if (this.seen <= this.initial) return true;
    return this.thereafter > 0 && (this.seen - this.initial) % this.thereafter === 0;
  }
}

import type { FieldRule } from "./field-rules.js";

/** Counts values that were treated (or would be, in a report), for the metrics and for the summary of each record. */
export class TreatmentCounts {
  /**
   * Counts by detector: built-in detectors, users' patterns, then field rules, secret keys and texts that were too
   * costly to search.
   */
  private readonly counts: number[];
  /** Paths of the values treated in the present owner: resource, scope or record. */
  readonly keys = new Set<string>();
  hits = 0;
  private readonly fieldIndex: number;
  private readonly keepsKeys: boolean;

  constructor(detectors: number, keepsKeys: boolean) {
    this.counts = new Array<number>(detectors + 3).fill(0);
    this.fieldIndex = detectors;
    this.keepsKeys = keepsKeys;
  }

  countDetected(detector: number, path: string): void {
    this.counts[detector]!++;
    this.countHit(path);
  }

  countField(field: FieldRule, path: string): void {
    this.counts[this.fieldIndex + (field.decidedBy === "field" ? 0 : 1)]!++;
    this.countHit(path);
  }

  /** Counts a text that was masked because searching it would take too long. */
  countTooCostly(path: string): void {
    this.counts[this.fieldIndex + 2]!++;
    this.countHit(path);
  }

  /** Calls `take` for every detector that was counted since the last call, and resets the counts. */
  take(take: (detector: number, count: number) => void): void {
    const { counts } = this;
    for (let i = 0; i < counts.length; i++) {
      if (counts[i] === 0) continue;
      take(i, counts[i]!);
      counts[i] = 0;
    }
  }

  private countHit(path: string): void {
    this.hits++;
    if (this.keepsKeys) this.keys.add(path);
  }

  startOwner(): void {
    this.hits = 0;
    if (this.keys.size > 0) this.keys.clear();
  }
}

import type { Field } from "./fields.js";

/** What was, or in a report would be, treated: for the counters, and for the summary of each record. */
export class Tally {
  /** By detector: built-in ones, users' patterns, then field rules and secret keys. */
  readonly counts: number[];
  /** Of the present owner. */
  readonly keys = new Set<string>();
  hits = 0;
  private readonly fieldAt: number;
  private readonly keepsKeys: boolean;

  constructor(detectors: number, keepsKeys: boolean) {
    this.counts = new Array<number>(detectors + 2).fill(0);
    this.fieldAt = detectors;
    this.keepsKeys = keepsKeys;
  }

  detected(detector: number, path: string): void {
    this.counts[detector]!++;
    this.hit(path);
  }

  byName(field: Field, path: string): void {
    this.counts[this.fieldAt + (field.by === "field" ? 0 : 1)]!++;
    this.hit(path);
  }

  private hit(path: string): void {
    this.hits++;
    if (this.keepsKeys) this.keys.add(path);
  }

  forget(): void {
    this.hits = 0;
    if (this.keys.size > 0) this.keys.clear();
  }
}

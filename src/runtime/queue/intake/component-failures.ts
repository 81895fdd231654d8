import type { EntryRef } from "../store/store.js";

/**
 * An entry is given up after a component has failed on it this often, if other entries went through before each
 * failure.
 */
const MAX_AMONG_OTHERS = 8;
/**
 * If nothing gets through, the component may be to blame and not the entry. This many retries take about a quarter of
 * an hour.
 */
const MAX_IN_A_ROW = 32;

interface Failures {
  inARow: number;
  amongOthers: number;
  /** Number of entries that had gone through at the time of the last failure. */
  passedBefore: number;
}

/**
 * Finds entries on which a component always fails. They keep their place in the window, so many of them would block the
 * journal.
 */
export class ComponentFailures {
  private readonly failures = new Map<EntryRef, Failures>();
  private passed = 0;

  /** To be called when the entry has left the journal. `hasPassed`: it went through the pipeline. */
  ended(ref: EntryRef, hasPassed: boolean): void {
    this.failures.delete(ref);
    if (hasPassed) this.passed += 1;
  }

  /** To be called when the entry was refused through no fault of its own. */
  refused(ref: EntryRef): void {
    const known = this.failures.get(ref);
    if (known !== undefined) known.inARow = 0;
  }

  /** To be called when a component failed on the entry. Returns true if the entry should be given up. */
  failed(ref: EntryRef): boolean {
    const { passed } = this;
    const known = this.failures.get(ref) ?? { inARow: 0, amongOthers: 0, passedBefore: passed };
    this.failures.set(ref, known);
    known.inARow += 1;
    if (passed > known.passedBefore) known.amongOthers += 1;
    known.passedBefore = passed;
    return known.amongOthers >= MAX_AMONG_OTHERS || known.inARow >= MAX_IN_A_ROW;
  }
}

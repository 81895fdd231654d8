import type { EntryRef } from "../store/store.js";

/** An entry is given up when a component has failed on it so often, and others went through before each of these times. */
const MAX_AMONG_OTHERS = 8;
/** When nothing goes through, the component may be to blame and not the entry: it has a quarter of an hour to recover. */
const MAX_IN_A_ROW = 32;

interface Failures {
  inARow: number;
  amongOthers: number;
  /** Entries that had gone through at the last of them. */
  passedBefore: number;
}

/**
 * Finds the entries that a component fails on whenever it is given them. Each keeps its place in the window, so a journal with
 * many of them would come to a halt.
 */
export class OwnFailures {
  private readonly failures = new Map<EntryRef, Failures>();
  private passed = 0;

  /** The entry has left the journal; `hasPassed`: it went through the pipeline. */
  ended(ref: EntryRef, hasPassed: boolean): void {
    this.failures.delete(ref);
    if (hasPassed) this.passed += 1;
  }

  /** It was refused, and that was not its own fault. */
  refused(ref: EntryRef): void {
    const known = this.failures.get(ref);
    if (known !== undefined) known.inARow = 0;
  }

  /** A component failed on it. True: it is of no use to hand it in again. */
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

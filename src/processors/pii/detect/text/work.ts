/**
 * What looking for things costs, counted instead of timed: about a unit for each byte that a detector looks at beyond the
 * scan's own pass, and a hundred for each text that is made for a regular expression. A text is given so many units for each
 * of its bytes; one that would take more was made to, and is masked as a whole. So no text takes the agent longer than
 * its size explains. One counter for the whole process: a walk that pauses takes its own along.
 */
export const work = { spent: 0 };

const UNITS_PER_BYTE = 24;
/** A short text may be dense. */
const UNITS_PER_TEXT = 8192;
/** However long it is: a text is looked at in one go, and everybody waits meanwhile. */
const MAX_UNITS_PER_TEXT = 48_000_000;

/** What a text of this size may cost. */
export function textBudget(size: number): number {
  return Math.min(UNITS_PER_TEXT + size * UNITS_PER_BYTE, MAX_UNITS_PER_TEXT);
}

/** Something would take more work than its size explains. */
export class TooCostlyError extends Error {
  override readonly name = "TooCostlyError";
}

/** A text made of bytes, for a regular expression or a comparison. */
export const TEXT_COST = 100;
/** A keyed hash. */
export const HASH_COST = 1000;
/** A user's pattern, for each byte that it runs over. */
export const PATTERN_COST = 16;

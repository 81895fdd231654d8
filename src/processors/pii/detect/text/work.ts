/**
 * The cost of detection is counted instead of timed: about one unit for each byte that a detector reads beyond the
 * scan's own pass, and a hundred for each text made for a regular expression. A text gets a number of units for each of
 * its bytes. A text that needs more was built to be expensive, and is masked as a whole, so no text takes longer than
 * its size explains. The process has one counter; a walk that pauses saves and restores its own count.
 */
export const work = { spent: 0 };

const UNITS_PER_BYTE = 64;
/** Extra units for each text, because a short text may contain many candidates. */
const UNITS_PER_TEXT = 8192;
/**
 * Limit for any text, because a text is scanned in one go and blocks everything else. A unit takes two to five
 * nanoseconds, so no text takes longer than 60 ms, and ordinary texts of a megabyte and a half stay below the limit.
 */
const MAX_UNITS_PER_TEXT = 12_000_000;

/** Returns the maximum cost of a text of this size. */
export function textBudget(size: number): number {
  return Math.min(UNITS_PER_TEXT + size * UNITS_PER_BYTE, MAX_UNITS_PER_TEXT);
}

/** Thrown when something would take more work than its size explains. */
export class TooCostlyError extends Error {
  override readonly name = "TooCostlyError";
}

/** Units for making a text from bytes, for a regular expression or a comparison. */
export const TEXT_COST = 100;
/** Units for a keyed hash. */
export const HASH_COST = 1000;
/** Units for each byte that a user's pattern runs over. */
export const PATTERN_COST = 16;

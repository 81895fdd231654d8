import type { Batch } from "#otlp";
import type { Signal } from "#otlp/signals";

/**
 * The language of operators for the records of dead letters: conditions find them, statements change them. A queue gets
 * one from its creator, and so does not depend on how the language is compiled.
 */
export interface DeadLetterLanguage {
  /** Returns a condition on the records and facts of dead letters, or an error that says what is wrong with the text. */
  parseCondition(text: string): RecordCondition | Error;
  /**
   * Compiles statements for a replay. Throws an `AdminError` if they fit none of the signals. If a statement fails on one
   * record, its entry is not changed at all, because half a correction is worse than none.
   */
  compileTransform(statements: readonly string[], signals?: readonly Signal[]): Transform;
}

/** A condition on the records of batches. Both methods throw if it cannot be decided. */
export interface RecordCondition {
  /** The signals for which the condition means something; for all of them if left out. */
  readonly signals?: readonly Signal[] | undefined;
  /** Whether it holds for a record in the batch. */
  holds(batch: Batch, facts?: BatchFacts): boolean;
  /**
   * The records for which it holds. A condition on metrics or span events keeps the whole batch if it holds for one.
   */
  matching(batch: Batch, facts?: BatchFacts): Batch;
}

/** Facts about a whole batch besides its records, by path. */
export type BatchFacts = Readonly<Record<string, string | bigint>>;

/** Facts that a condition on dead letters may use besides their records. */
export const DEAD_LETTER_FACTS = [
  "dead_letter.exporter",
  "dead_letter.reason",
  "dead_letter.category",
  "dead_letter.error_class",
  "dead_letter.attempts",
] as const;

/** Applies the statements of a replay to the batch of one dead letter. Never throws. */
export type Transform = (batch: Batch) => Transformed;

/** The transformed batch, or the reason why a statement failed on it. */
type Transformed = { readonly batch: Batch } | { readonly problem: string };

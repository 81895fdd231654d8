import type { BatchFacts, DEAD_LETTER_FACTS } from "#contract/operations";
import type { DeadLetterCause } from "../entry/queue-item.js";

/** Facts about a failure that filters may use in addition to the records. */
export interface DeadLetterFacts {
  readonly exporter: string;
  readonly cause: Pick<DeadLetterCause, "reason" | "category"> & {
    readonly error: Pick<DeadLetterCause["error"], "class">;
  };
  readonly attempts: number;
}

/** Returns the facts in the form used by conditions. */
export function conditionFacts({ exporter, cause, attempts }: DeadLetterFacts): BatchFacts {
  const facts: Record<(typeof DEAD_LETTER_FACTS)[number], string | bigint> = {
    "dead_letter.exporter": exporter,
    "dead_letter.reason": cause.reason,
    "dead_letter.category": cause.category,
    "dead_letter.error_class": cause.error.class,
    "dead_letter.attempts": BigInt(attempts),
  };
  return facts;
}

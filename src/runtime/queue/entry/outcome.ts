import type { PartialRejection } from "#contract";
import { type AttemptError, FAILURE_RULES, type FailureRule, ruleOf } from "#contract/operations";
import type { Batch } from "#otlp";
import type { StoredEntry } from "../store/store.js";
import { errorCategory } from "./queue-errors.js";
import type { DeadLetterCause, QueueItem, SendGroup } from "./queue-item.js";

/**
 * The next step of an entry. It is decided once, from the result of a call (send/attempt-policy.ts) or without one
 * (send/gate.ts), and carried out once (entry-completion.ts).
 */
export type EntryOutcome =
  /** The backend took all records. */
  | { readonly kind: "delivered"; readonly sent: Batch }
  /** The backend rejected some records permanently and did not say which. The client gets `partial`. */
  | {
      readonly kind: "partly_delivered";
      readonly sent: Batch;
      readonly partial: PartialRejection;
      /** Number of records that count as rejected. */
      readonly rejected: number;
      readonly cause: DeadLetterCause;
    }
  /** The entry is sent again after the delay. */
  | { readonly kind: "retry"; readonly delayMs: number }
  | DeadLetterOutcome
  /** The entry is replaced by parts of these sizes. If it cannot be cut, it becomes a dead letter. */
  | {
      readonly kind: "bisect";
      readonly batch: Batch;
      readonly sizes: readonly number[];
      readonly cause: DeadLetterCause;
    }
  /**
   * Some records were delivered. The records of each mark other than 0 become one entry, which is sent again after the
   * delay.
   */
  | { readonly kind: "divide"; readonly batch: Batch; readonly marks: Uint16Array; readonly delayMs: number }
  /** The entry becomes a dead letter. So do the unsent parts of the same bisection, each with its own last error. */
  | { readonly kind: "end_bisection"; readonly cause: DeadLetterCause }
  | DropOutcome
  /** The payload could not be read. */
  | { readonly kind: "unreadable"; readonly cause: unknown }
  /** The agent is stopping. The entry stays in the store unchanged. */
  | { readonly kind: "cancelled" };

/** The outcomes of entries that were sent together. */
export interface GroupOutcome {
  /** One outcome per entry, in order; undefined for entries in `regrouped`. */
  readonly outcomes: readonly (EntryOutcome | undefined)[];
  /** Groups that are sent next, before all others. */
  readonly regrouped: readonly SendGroup[];
}

export interface DeadLetterOutcome {
  readonly kind: "dead_letter";
  readonly cause: DeadLetterCause;
}

/** The config says that the entry is discarded. */
export interface DropOutcome {
  readonly kind: "drop";
}

/**
 * The place of an entry after its outcome was carried out: it is still pending, or it has left the queue, perhaps
 * replaced by parts.
 */
export type EntryEnd =
  | { readonly isPending: true }
  | { readonly isPending: false; readonly parts: readonly StoredEntry[] };

/** The outcome of an entry that is given up because others were refused. It keeps its own last error, if it has one. */
export function abandonedOutcome(item: QueueItem, cause: DeadLetterCause): DeadLetterOutcome {
  const { lastError } = item.entry;
  return lastError === undefined ? { kind: "dead_letter", cause } : deadLetter(ruleOf(cause), lastError);
}

export function deadLetter(rule: FailureRule, error: AttemptError): DeadLetterOutcome {
  const { reason } = FAILURE_RULES[rule];
  return { kind: "dead_letter", cause: { reason, rule, category: errorCategory(error), error } };
}

/** Decides for each entry on its own. No entries are regrouped. */
export function outcomeOfEach(
  items: readonly QueueItem[],
  decide: (item: QueueItem, index: number) => EntryOutcome,
): GroupOutcome {
  return { outcomes: items.map(decide), regrouped: [] };
}

import type { PartialRejection } from "#contract";
import { type AttemptError, FAILURE_RULES, type FailureRule, ruleOf } from "#contract/operations";
import type { Batch } from "#otlp";
import type { SendGroup } from "../schedule/send-group.js";
import { errorCategory } from "../send/classify.js";
import type { StoredEntry } from "../store/store.js";
import type { DeadLetterCause, QueueItem } from "./queue-item.js";

/**
 * What becomes of an entry whose turn has come. It is decided once, from the result of a call (send/attempt-policy.ts) or
 * without one (schedule/gate.ts), and carried out once (send/entry-completion.ts).
 */
export type EntryOutcome =
  /** The other side has all of it. */
  | { readonly kind: "delivered"; readonly sent: Batch }
  /** The other side rejected some records for good, and did not say which. `partial` is what its client is told. */
  | {
      readonly kind: "partly_delivered";
      readonly sent: Batch;
      readonly partial: PartialRejection;
      /** How many of its records count as rejected. */
      readonly rejected: number;
      readonly cause: DeadLetterCause;
    }
  /** It is sent again after that time. */
  | { readonly kind: "retry"; readonly delayMs: number }
  | DeadLetterOutcome
  /** Parts of these sizes take its place; if it has none, it becomes a dead letter. */
  | {
      readonly kind: "bisect";
      readonly batch: Batch;
      readonly sizes: readonly number[];
      readonly cause: DeadLetterCause;
    }
  /** Some of it was delivered: its records with the same mark, but 0, take its place, and are sent again after that time. */
  | { readonly kind: "divide"; readonly batch: Batch; readonly marks: Uint16Array; readonly delayMs: number }
  /** It becomes a dead letter, and so do the parts of the same bisection that have not been sent yet, with their own last error. */
  | { readonly kind: "end_bisection"; readonly cause: DeadLetterCause }
  | DropOutcome
  /** Its payload could not be read. */
  | { readonly kind: "unreadable"; readonly cause: unknown }
  /** The agent stops: the entry stays in the store as it is. */
  | { readonly kind: "cancelled" };

/** What becomes of entries that were sent together. */
export interface GroupOutcome {
  /** Of each entry, in their order; undefined for those that are in `regrouped`. */
  readonly outcomes: readonly (EntryOutcome | undefined)[];
  /** These are sent next, before all others. */
  readonly regrouped: readonly SendGroup[];
}

export interface DeadLetterOutcome {
  readonly kind: "dead_letter";
  readonly cause: DeadLetterCause;
}

/** The config wants it gone. */
export interface DropOutcome {
  readonly kind: "drop";
}

/** Where an entry is when its outcome has been carried out: it waits in the queue, or has left it, for its parts if there are any. */
export type EntryEnd =
  | { readonly isPending: true }
  | { readonly isPending: false; readonly parts: readonly StoredEntry[] };

/** An entry is given up because others were refused: what it shows is the refusal of the last request that it was part of. */
export function givenUpWith(item: QueueItem, cause: DeadLetterCause): DeadLetterOutcome {
  const { lastError } = item.entry;
  return lastError === undefined ? { kind: "dead_letter", cause } : deadLetter(ruleOf(cause), lastError);
}

export function deadLetter(rule: FailureRule, error: AttemptError): DeadLetterOutcome {
  const { reason } = FAILURE_RULES[rule];
  return { kind: "dead_letter", cause: { reason, rule, category: errorCategory(error), error } };
}

/** Every entry has an outcome of its own, and none is sent again with others. */
export function outcomeOfEach(
  items: readonly QueueItem[],
  decide: (item: QueueItem, index: number) => EntryOutcome,
): GroupOutcome {
  return { outcomes: items.map(decide), regrouped: [] };
}

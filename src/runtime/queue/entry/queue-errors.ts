import type { PartialRejection } from "#contract";
import { ERROR_CODES, type ErrorCode, Refusal } from "#contract/errors";
import type { AttemptError } from "#contract/operations";
import { maskSecrets } from "../send/mask-secrets.js";
import type { DeadLetterCause, QueueItem } from "./queue-item.js";

/** Characters of an error's message that are kept with an entry: backends echo whole requests. */
export const MAX_ERROR_MESSAGE = 1000;

/** What entries are given up with that no call has failed with. */
const BREAKER_OPEN = queueError(ERROR_CODES.SLUICE_BREAKER_OPEN, "the circuit breaker is open");
export const EXPIRED = queueError(ERROR_CODES.SLUICE_EXPIRED, "waited longer than sending_queue.max_age");
export const RETRY_LIMITED = queueError(ERROR_CODES.SLUICE_RETRY_LIMIT, "over the rate limit of retries");

/** The entry was not sent: what the breaker was opened by is said as what it is, the failure of another. */
export function breakerOpenError(last: AttemptError | undefined): AttemptError {
  if (last === undefined) return BREAKER_OPEN;
  const message = `${BREAKER_OPEN.message}; the last call failed with ${last.message}`;
  return { ...last, message: message.slice(0, MAX_ERROR_MESSAGE) };
}

function queueError(code: ErrorCode, message: string): AttemptError {
  return { kind: "transient", class: code, code, message };
}

/** What a client is told that waited for the result: it must not send again, for the data is kept here, or is not wanted. */
export function deadLetteredRefusal(
  { entry }: QueueItem,
  { reason, error }: DeadLetterCause,
  written: "saved" | "discarded",
): Refusal {
  if (written === "discarded") return discardedRefusal(`as dead_letter.filter says (${reason}): ${error.message}`);
  return new Refusal("permanent", `kept as dead letter ${entry.id} (${reason}): ${error.message}`, {
    code: ERROR_CODES.SLUICE_DEAD_LETTERED,
  });
}

export function droppedRefusal({ entry }: QueueItem): Refusal {
  const why = entry.lastError === undefined ? "" : `: ${entry.lastError.message}`;
  return discardedRefusal(`over the rate limit of retries (on_excess: drop)${why}`);
}

function discardedRefusal(why: string): Refusal {
  return new Refusal("permanent", `discarded, ${why}`, { code: ERROR_CODES.SLUICE_DISCARDED });
}

/** The client still has it, and may send it again. */
export function lostRefusal(): Refusal {
  return new Refusal("transient", "the queue lost it to damage");
}

/** The other side took a request of these entries, and rejected some of its records for good. */
export function partialSuccessError(
  items: readonly QueueItem[],
  { rejected, message }: PartialRejection,
): AttemptError {
  const records = items.reduce((sum, { entry }) => sum + entry.items, 0);
  const where = items.length === 1 ? "" : `, sent as ${items.length} entries in one request,`;
  return {
    kind: "permanent",
    class: "partial_success",
    code: ERROR_CODES.SLUICE_PARTIAL_SUCCESS,
    category: "schema",
    message: `${rejected} of ${records} records${where} were rejected: ${maskSecrets(message)}`.slice(
      0,
      MAX_ERROR_MESSAGE,
    ),
  };
}

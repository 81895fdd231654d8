import type { PartialRejection } from "#contract";
import { ERROR_CODES, type ErrorCode, Refusal } from "#contract/errors";
import type { AttemptError } from "#contract/operations";
import { maskText } from "#text";
import type { DeadLetterCause, QueueItem } from "./queue-item.js";

/** The maximum number of characters of an error message kept with an entry. Backends may echo whole requests. */
export const MAX_ERROR_MESSAGE = 1000;

/** Errors of entries that are given up without a failed call. */
const BREAKER_OPEN = queueError(ERROR_CODES.SLUICE_BREAKER_OPEN, "the circuit breaker is open");
export const EXPIRED = queueError(ERROR_CODES.SLUICE_EXPIRED, "waited longer than sending_queue.max_age");
export const RETRY_LIMITED = queueError(ERROR_CODES.SLUICE_RETRY_LIMIT, "over the rate limit of retries");

/** The entry was not sent, so the message says that the last error belongs to another call. */
export function breakerOpenError(last: AttemptError | undefined): AttemptError {
  if (last === undefined) return BREAKER_OPEN;
  const message = `${BREAKER_OPEN.message}; the last call failed with ${last.message}`;
  return { ...last, message: message.slice(0, MAX_ERROR_MESSAGE) };
}

function queueError(code: ErrorCode, message: string): AttemptError {
  return { kind: "transient", class: code, code, message };
}

/**
 * The answer for a client that waited for the result. It is permanent, because the data is kept here as a dead letter
 * or is not wanted.
 */
export function deadLetteredRefusal(
  { entry }: Pick<QueueItem, "entry">,
  { reason, error }: Pick<DeadLetterCause, "reason" | "error">,
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

/** Transient, because the client still has the data and can send it again. */
export function lostRefusal(): Refusal {
  return new Refusal("transient", "the entry was lost because the queue was damaged");
}

/** The error of entries whose request the backend took while it permanently rejected some of the records. */
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
    message: `${rejected} of ${records} records${where} were rejected: ${maskText(message)}`.slice(
      0,
      MAX_ERROR_MESSAGE,
    ),
  };
}

/** Returns a category of failures, for people who sort dead letters. */
export function errorCategory(error: AttemptError): string {
  if (error.kind === "permanent") return error.category ?? "schema";
  if (error.kind === "throttled" || error.class === "HTTP 429") return "downstream_throttled";
  if (/TIMEOUT|TIMEDOUT|DEADLINE|HTTP 504|HTTP 408/.test(error.class)) return "downstream_timeout";
  if (/^HTTP|^[A-Z]+(_[A-Z]+)?$/.test(error.class) && !/^E[A-Z]+$/.test(error.class)) return "downstream_error";
  return /^E[A-Z_]+$|^ERR_/.test(error.class) ? "connection_error" : "unknown";
}

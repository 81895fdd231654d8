import { type AttemptError, type Entry, type PartialRejection, Refusal } from "../../plugin.js";
import type { Item, Verdict } from "./item.js";

/** What entries are given up with that no call has failed with. */
export const OPEN = unsent("SLUICE_BREAKER_OPEN", "the circuit breaker is open");
export const EXPIRED = unsent("SLUICE_EXPIRED", "waited longer than sending_queue.max_age");
export const LIMITED = unsent("SLUICE_RETRY_LIMIT", "over the rate limit of retries");

function unsent(code: string, message: string): AttemptError {
  return { kind: "transient", class: code, code, message };
}

/** What a client is told that waited for the result: it must not send again, for the data is kept here. */
export function gaveUp({ entry }: Item, { reason, error }: Verdict): Refusal {
  return new Refusal("permanent", `kept as dead letter ${entry.id} (${reason}): ${error.message}`, {
    code: "SLUICE_DEAD_LETTERED",
  });
}

/** The other side took the batch, and rejected some of its records for good. */
export function partialSuccess(entry: Entry, { message }: PartialRejection, rejected: number): AttemptError {
  return {
    kind: "permanent",
    class: "partial_success",
    code: "SLUICE_PARTIAL_SUCCESS",
    category: "schema",
    message: `${rejected} of ${entry.items} records were rejected: ${message}`.slice(0, 1000),
  };
}

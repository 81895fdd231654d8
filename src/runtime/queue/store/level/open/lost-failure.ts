import { ERROR_CODES } from "#contract/errors";
import type { Entry, Failure } from "#contract/operations";

/** The signature of all dead letters whose failure was lost, so that people find them together. */
export const LOST_FAILURE_SIGNATURE = "overwritten";

/**
 * Whether a dead letter has no failure. Versions without an order of changes could overwrite a dead letter with an
 * earlier update of its entry, which keeps the payload and the history and loses the failure. Records of operators are
 * stored as dead letters and have none.
 */
export function hasLostFailure(entry: Entry): boolean {
  return entry.state === "failed" && entry.failure === undefined && !("record" in entry);
}

/** Returns a dead letter with what is still known about its failure. */
export function withKnownFailure(entry: Entry, at = entry.lastAttemptAt ?? entry.enqueuedAt): Entry {
  return hasLostFailure(entry) ? { ...entry, failure: knownFailure(entry, at) } : entry;
}

/** The last attempt may have failed for another reason than the one before, which is all that is known. */
function knownFailure({ lastError }: Entry, at: number): Failure {
  const message = lastError === undefined ? "" : ` The last error that is known: ${lastError.message}`;
  return {
    at,
    reason: "retry_exhausted",
    category: "unknown",
    error: {
      kind: "transient",
      class: "unknown",
      code: ERROR_CODES.SLUICE_TRANSIENT,
      ...lastError,
      message: `An older version overwrote why this entry became a dead letter.${message}`,
    },
    signature: LOST_FAILURE_SIGNATURE,
    names: [],
    traceIds: [],
    schemaUrls: [],
  };
}

import { BUSY_RETRY_AFTER_MS, ERROR_CODES, Refusal } from "#contract/errors";
import type { AttemptError } from "#contract/operations";
import type { DeadLetterCause } from "../entry/queue-item.js";
import { isStoreError } from "../store/store.js";

/** Retry-After for clients whose delivery found the queue full or could not be written. */
const QUEUE_RETRY_AFTER_MS = 5000;
const QUEUE_FULL_MESSAGE = "the sending queue is full";

export function queueFullRefusal(): Refusal {
  return new Refusal("throttled", QUEUE_FULL_MESSAGE, {
    code: ERROR_CODES.SLUICE_QUEUE_FULL,
    retryAfterMs: QUEUE_RETRY_AFTER_MS,
  });
}

export function stoppingRefusal(id: string): Refusal {
  return new Refusal("transient", `exporter ${id} is stopping`, {
    code: ERROR_CODES.SLUICE_SHUTTING_DOWN,
    retryAfterMs: BUSY_RETRY_AFTER_MS,
  });
}

export function writeFailedRefusal(error: unknown): Refusal {
  const isFull = isStoreError(error) && error.code === "full";
  const message = `the queue cannot be written${isFull ? ": the disk is full" : ""}`;
  return new Refusal("transient", message, {
    code: ERROR_CODES.SLUICE_QUEUE_WRITE,
    retryAfterMs: QUEUE_RETRY_AFTER_MS,
    cause: error,
  });
}

const QUEUE_FULL_ERROR: AttemptError = {
  kind: "transient",
  class: ERROR_CODES.SLUICE_QUEUE_FULL,
  code: ERROR_CODES.SLUICE_QUEUE_FULL,
  message: QUEUE_FULL_MESSAGE,
};

/** The cause of entries that become dead letters because the queue is full. */
export const QUEUE_FULL: DeadLetterCause = { reason: "queue_full", category: "queue_full", error: QUEUE_FULL_ERROR };

import type { Setback } from "../dead-letter.js";
import type { PartialRejection } from "../delivery.js";
import { ERROR_CODES } from "../errors/error-codes.js";
import { errorMessage } from "../errors/error-message.js";
import { FAILURE_REASONS } from "../operations/failure-reasons.js";

/**
 * What an exporter says of `count` records it has sent, made fit to be believed: no more than all, no less than none. The
 * batch was sent: an answer that cannot be read must not have it sent again, so it counts as none.
 */
export function validateRejection(answer: unknown, count: number): PartialRejection | undefined {
  if (typeof answer !== "object" || answer === null) return undefined;
  try {
    const { rejected, message } = answer as { rejected?: unknown; message?: unknown };
    if (rejected === undefined || rejected === null) return undefined;
    const bounded = Math.min(Math.max(0, Math.ceil(Number(rejected) || 0)), count);
    return { rejected: bounded, message: errorMessage(message ?? "").slice(0, MAX_MESSAGE_LENGTH) };
  } catch {
    return undefined;
  }
}

/** A setback made fit to be kept, whatever a plugin gave: the records are dead letters all the same. */
export function validateSetback(given: unknown): Setback {
  const fields = (typeof given === "object" && given !== null ? given : { message: given }) as Partial<Setback>;
  const { reason, category, code, message, onlyIfAlwaysSaved } = fields;
  return {
    reason: FAILURE_REASONS.find((known) => known === reason) ?? "rejected",
    category: nonEmptyName(category) ?? "rejected",
    code: nonEmptyName(code) ?? ERROR_CODES.SLUICE_REJECTED,
    message:
      message === undefined || message === null
        ? NO_REASON_MESSAGE
        : errorMessage(message).slice(0, MAX_MESSAGE_LENGTH),
    ...(onlyIfAlwaysSaved === true && { onlyIfAlwaysSaved }),
  };
}

function nonEmptyName(name: unknown): string | undefined {
  return typeof name === "string" && name !== "" ? name.slice(0, MAX_NAME_LENGTH) : undefined;
}

const NO_REASON_MESSAGE = "the processor gave no reason";
const MAX_MESSAGE_LENGTH = 1000;
const MAX_NAME_LENGTH = 100;

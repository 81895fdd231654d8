import type { Setback } from "../dead-letter.js";
import { ERROR_CODES } from "../errors/error-codes.js";
import { errorMessage } from "../errors/error-message.js";
import { FAILURE_REASONS } from "../operations/failure-reasons.js";

/**
 * The answer of a backend that took the request but permanently rejected some of its records (OTLP partial_success).
 */
export interface PartialRejection {
  readonly rejected: number;
  readonly message: string;
}

/**
 * Validates an exporter's answer about `count` records that it has sent, so that the number of rejected ones is between
 * zero and all. The batch was sent, so an unreadable answer counts as no rejection and does not cause another send.
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

/** Turns whatever a plugin returned into a valid setback, so that the records become dead letters in any case. */
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

import { createHash } from "node:crypto";
import type { AttemptError } from "../../plugin.js";

/**
 * The same for failures that are alike: the same exporter, class of error and message, whatever ids, numbers, addresses and
 * times the message mentions. Stable over restarts and versions of the agent.
 */
export function signatureOf(exporter: string, error: AttemptError): string {
  const text = JSON.stringify([exporter, error.class, normalizeMessage(error.message)]);
  return createHash("sha256").update(text).digest("hex").slice(0, SIGNATURE_LENGTH);
}

const SIGNATURE_LENGTH = 12;
/** What comes behind this seldom says something new, and backends echo whole requests. */
const MAX_MESSAGE_LENGTH = 500;

/** The message with a placeholder for everything that differs from one failure to the next. */
export function normalizeMessage(message: string): string {
  return message
    .slice(0, MAX_MESSAGE_LENGTH)
    .replace(/\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/gi, "<id>")
    .replace(/\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?/g, "<time>")
    .replace(/\b\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?\b/g, "<address>")
    .replace(/\b(?:0x)?(?=[a-z]*\d)[0-9a-f]{8,}\b/gi, "<id>")
    .replace(/[A-Za-z0-9_-]*\d[A-Za-z0-9_-]*/g, (word) => (word.length >= 20 ? "<id>" : word.replace(/\d+/g, "<n>")))
    .replace(/\s+/g, " ")
    .trim();
}

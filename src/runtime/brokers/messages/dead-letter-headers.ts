import { hostname } from "node:os";
import type { Setback } from "#contract";
import { ERROR_CODES, errorClass, type Refusal } from "#contract/errors";
import { type DeadLetterAttributes, deadLetterOf, type FailureReason } from "#contract/operations";
import { nonEmptyText } from "#text/json";
import { HEADER_ATTRIBUTE } from "./message.js";

/** Headers of a dead letter that leaves us. Their names are the same for all brokers; docs/operate/dead-letters.md has the table. */
export const DEAD_LETTER_HEADERS = {
  errorClass: "x-sluice-error-class",
  error: "x-sluice-error",
  reason: "x-sluice-reason",
  attempts: "x-sluice-attempts",
  firstFailedAt: "x-sluice-first-failed-at",
  failedAt: "x-sluice-failed-at",
  source: "x-sluice-source",
  exporter: "x-sluice-exporter",
  agent: "x-sluice-agent",
  id: "x-sluice-dead-letter-id",
} as const;

const NAMES: ReadonlySet<string> = new Set(Object.values(DEAD_LETTER_HEADERS));

export function isDeadLetterHeader(name: string): boolean {
  return NAMES.has(name);
}

/** How a message failed, as far as it is known. Times are milliseconds since the epoch. */
interface DeadLetterStory {
  readonly errorClass: string;
  readonly error: string;
  readonly reason?: string | undefined;
  readonly attempts: number;
  readonly firstFailedAt: number | string;
  readonly failedAt: number | string;
  /** The queue, topic, stream or table that the message came from. */
  readonly source: string;
  readonly exporter?: string | undefined;
  readonly id?: string | undefined;
}

export function deadLetterHeaders(story: DeadLetterStory): Record<string, string> {
  const { errorClass, error, reason, attempts, firstFailedAt, failedAt, source, exporter, id } = story;
  const values: Readonly<Record<keyof typeof DEAD_LETTER_HEADERS, string | undefined>> = {
    errorClass: oneLine(errorClass),
    error: oneLine(error),
    reason,
    attempts: String(attempts),
    firstFailedAt: isoTime(firstFailedAt),
    failedAt: isoTime(failedAt),
    source: oneLine(source),
    exporter,
    agent: hostname(),
    id,
  };
  const headers: Record<string, string> = {};
  for (const [what, name] of Object.entries(DEAD_LETTER_HEADERS)) {
    const value = values[what as keyof typeof DEAD_LETTER_HEADERS];
    if (value !== undefined) headers[name] = value;
  }
  return headers;
}

/**
 * The headers of a message that can be neither accepted nor kept, and is set aside: they say of the refusal what the
 * entry of a queue would. `at` is the time, in ms.
 */
export function rejectedHeaders(
  refusal: Refusal,
  source: string,
  at: number,
  more: Partial<DeadLetterStory> = {},
): Record<string, string> {
  const { message: error, exporter = refusal.failedIn } = refusal;
  const when = { attempts: 1, firstFailedAt: at, failedAt: at };
  const what = { errorClass: errorClass(refusal), error, reason: reasonOf(refusal), source, exporter };
  return deadLetterHeaders({ ...what, ...when, ...more });
}

/** A message that no exporter refused was rejected on its way there. */
function reasonOf({ kind, exporter }: Refusal): FailureReason {
  if (kind !== "permanent") return "retry_exhausted";
  return exporter === undefined ? "rejected" : "permanent";
}

/** The story of a record that was forwarded as a dead letter; undefined for every other record. */
export function storyOfRecord(
  resource: Readonly<Record<string, unknown>>,
  attributes: Readonly<Record<string, unknown>>,
): DeadLetterStory | undefined {
  const facts = deadLetterOf(resource) as Partial<DeadLetterAttributes> | undefined;
  if (facts === undefined) return undefined;
  const failedAt = String(facts.failed_at);
  return {
    errorClass: String(facts.error),
    error: String(facts.message),
    reason: facts.reason,
    attempts: Number(facts.attempts),
    firstFailedAt: String(facts.first_failed_at ?? failedAt),
    failedAt,
    source: sourceOf(attributes) ?? String(facts.receiver ?? ""),
    exporter: facts.exporter,
    id: facts.id,
  };
}

/** Where a message came from: the name of its queue, and for Kafka `topic/partition/offset`. */
export function sourceOf(attributes: Readonly<Record<string, unknown>>): string | undefined {
  const name = attributes["messaging.destination.name"];
  if (typeof name !== "string") return undefined;
  const partition = attributes["messaging.destination.partition.id"];
  const offset = attributes["messaging.kafka.offset"];
  return partition === undefined || offset === undefined ? name : `${name}/${String(partition)}/${String(offset)}`;
}

/** The source of a message before it became a dead letter, as `sourceOf` has it, by its headers as attributes of a record. */
export function formerSource(attributes: Readonly<Record<string, unknown>>): string | undefined {
  return nonEmptyText(attributes[`${HEADER_ATTRIBUTE}${DEAD_LETTER_HEADERS.source}`]);
}

/** The reason of our dead letter, made of the headers of a message that is one already; undefined without such headers. */
export function setbackOfHeaders(headers: Readonly<Record<string, unknown>>): Setback | undefined {
  const { error, errorClass, attempts, exporter, source } = DEAD_LETTER_HEADERS;
  if (headers[error] === undefined) return undefined;
  const where = headers[exporter] === undefined ? "" : ` at ${String(headers[exporter])}`;
  const message = `dead letter of ${String(headers[source])}: ${String(headers[errorClass])}: ${String(headers[error])} (${String(headers[attempts])} attempts${where})`;
  return { reason: "imported", category: "integration", code: ERROR_CODES.SLUICE_BROKER_DEAD_LETTER, message };
}

/** Some brokers allow no line breaks in headers, and few allow long ones. */
function oneLine(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters that headers cannot have
  return text.replace(/[\u0000-\u001f\u007f]+/g, " ").slice(0, MAX_LENGTH);
}

const MAX_LENGTH = 1000;

function isoTime(time: number | string): string {
  return typeof time === "number" ? new Date(time).toISOString() : time;
}

import { Refusal } from "../../plugin.js";
import { ERROR_CODES, hasNatsCode, NATS_CODES, natsErrorMessage, type WrittenMessage } from "../../runtime/kit.js";

/** Headers count in the server's limit: names, values and what is around them. */
const HEADER_ROOM = 4096;

/** Nothing of a batch is published if one of its messages never can be; the queue cuts the batch and sends the halves. */
export function refuseTooLarge(messages: readonly WrittenMessage[], maxPayload = Number.POSITIVE_INFINITY): void {
  const largest = Math.max(...messages.map(({ body }) => body.length));
  if (largest + HEADER_ROOM <= maxPayload) return;
  throw tooLarge(`a message of ${largest} bytes, and the server takes ${maxPayload} with headers (max_payload)`);
}

/** Why the stream does not have a message. All but its size may be otherwise later: streams are made, and servers come back. */
export function refusalOfPublish(error: unknown, subject: string, peer: string): Refusal {
  const message = `${peer}: ${subject}: ${natsErrorMessage(error)}`;
  if (hasNatsCode(error, NATS_CODES.messageTooLarge)) return tooLarge(message, error);
  const { name, code } = (error ?? {}) as { readonly name?: string; readonly code?: unknown };
  const status = typeof code === "number" || typeof code === "string" ? String(code) : name;
  const blame = name === "TimeoutError" ? {} : ({ blame: "backend" } as const);
  return new Refusal("transient", message, { ...(status !== undefined && { status }), ...blame, cause: error });
}

function tooLarge(message: string, cause?: unknown): Refusal {
  return new Refusal("permanent", message, { code: ERROR_CODES.SLUICE_TOO_LARGE, category: "schema", cause });
}

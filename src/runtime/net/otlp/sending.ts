import { randomBytes } from "node:crypto";
import { z } from "zod";
import { hasZstd, ZSTD_MISSING } from "#codecs/compression";
import { IDEMPOTENCY_HEADER, type SendOptions } from "#contract";
import { type Refusal, toRefusal } from "#contract/errors";
import type { Batch } from "#otlp";
import { batchFromJson } from "#otlp/json";
import type { Signal } from "#otlp/signals";
import { NoAnswerError } from "../connection-error.js";
import { headerLine } from "../http1/request-writer.js";
import { refusalOfAbort, refusalOfConnection } from "./refusals.js";

/** Shared by the exporters of both transports. */

/** Schema of a value that may be `none`: the Collector also accepts an empty string for it. */
export function wordOrNone<Words extends z.ZodType>(words: Words) {
  return z.preprocess((value) => (value === "" ? "none" : value), words);
}

/** Schema of a compression: refuses zstd where Node.js lacks it. */
export function availableCompression<Words extends z.ZodType>(words: Words): Words {
  return words.refine((word) => hasZstd || word !== "zstd", { error: `${ZSTD_MISSING}; use gzip` });
}

/**
 * Headers or metadata of one send: the idempotency key, and for a replayed dead letter its id and number of replays.
 */
export function sendHeaders({ idempotencyKey, replayed }: SendOptions = {}): Record<string, string> {
  const headers: Record<string, string> = idempotencyKey ? { [IDEMPOTENCY_HEADER]: idempotencyKey } : {};
  if (replayed === undefined) return headers;
  headers["x-replayed"] = "true";
  headers["x-original-id"] = replayed.id;
  headers["x-replay-attempt"] = String(replayed.attempt);
  return headers;
}

/**
 * Creates idempotency keys for sends without a queue. With such a key a receiver can recognise the second attempt on a
 * new connection. A retry by the caller gets another key.
 */
export class SendKeys {
  private readonly prefix = headerLine(IDEMPOTENCY_HEADER, randomBytes(12).toString("base64url")).trimEnd();
  private count = 0;

  /** A header line with a new key. It is valid without another look, because the prefix is. */
  nextLine(): string {
    return `${this.prefix}${(this.count++).toString(36)}\r\n`;
  }
}

/**
 * Limit for a response, the default of gRPC clients. Responses are short, but a backend may list rejected records, and
 * the list must be read to its end.
 */
export const MAX_ANSWER_BYTES = 4 * 1024 * 1024;

/**
 * Sends, and after a stale connection sends once more on a new one: a connection that the server closed meanwhile says
 * nothing about the server. The server may have received the first request; sending again is what any retry would do.
 * All connection errors are thrown as refusals. Resolves with the result of `read`.
 */
export function resendIfStale<Answer, Result>(
  peer: string,
  abort: AbortSignal,
  send: (isResend: boolean) => Promise<Answer>,
  read: (answer: Answer) => Result | Promise<Result>,
): Promise<Result> {
  if (abort.aborted) return Promise.reject(refusalOfAbort(peer, abort));
  return send(false).then(read, (error: unknown) => {
    if (abort.aborted || !(error instanceof NoAnswerError && error.stale)) throw refusalOf(peer, abort, error);
    return send(true).then(read, (again: unknown) => {
      throw refusalOf(peer, abort, again);
    });
  });
}

function refusalOf(peer: string, abort: AbortSignal, error: unknown): Refusal {
  if (abort.aborted) return refusalOfAbort(peer, abort);
  return refusalOfConnection(peer, error instanceof NoAnswerError ? error.cause : error);
}

/**
 * Checks whether the server responds: sends a request without records, which is valid and harmless. A permanent refusal
 * also counts as a response.
 */
export async function checkByEmptyExport(signal: Signal, send: (batch: Batch) => Promise<unknown>): Promise<void> {
  try {
    await send(batchFromJson(signal, "{}"));
  } catch (error) {
    if (toRefusal(error).kind !== "permanent") throw error;
  }
}

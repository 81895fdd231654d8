import { randomBytes } from "node:crypto";
import { z } from "zod";
import { IDEMPOTENCY_HEADER, type SendOptions } from "#contract";
import { type Refusal, toRefusal } from "#contract/errors";
import type { Batch } from "#otlp";
import { batchFromJson } from "#otlp/json";
import type { Signal } from "#otlp/signals";
import { NoAnswerError } from "../no-answer-error.js";
import { refusalOfAbort, refusalOfConnection } from "./refusals.js";

/** What the exporters of both transports have in common. */

/** Schema of a word that may be `none`: the Collector also takes an empty string for it. */
export function wordOrNone<Words extends z.ZodType>(words: Words) {
  return z.preprocess((value) => (value === "" ? "none" : value), words);
}

/** The headers, or metadata, of one send: the idempotency key, and of what was a dead letter which, and how often it was replayed. */
export function sendHeaders({ idempotencyKey, replayed }: SendOptions = {}): Record<string, string> {
  return {
    ...(idempotencyKey && { [IDEMPOTENCY_HEADER]: idempotencyKey }),
    ...(replayed && {
      "x-replayed": "true",
      "x-original-id": replayed.id,
      "x-replay-attempt": String(replayed.attempt),
    }),
  };
}

/**
 * Keys for sends that have none, because no queue has made one: with it a receiver can tell what is sent again, on a new
 * connection, from another request. Whoever retries as a whole is another send here.
 */
export class SendKeys {
  private readonly prefix = randomBytes(12).toString("base64url");
  private count = 0;

  next(): string {
    return `${this.prefix}${(this.count++).toString(36)}`;
  }
}

/**
 * Answers are short, but a backend may list in one what it rejected, and that must be read to its end. It is as much as gRPC
 * clients take by default.
 */
export const MAX_ANSWER_BYTES = 4 * 1024 * 1024;

/**
 * Sends, and when that meets a stale connection, once more on a new one: that the server has closed a connection meanwhile
 * says nothing about the server. It may have got the first request; sending again is what any retry would do. Whatever
 * keeps an answer from coming is thrown as a refusal. Resolves with what `read` makes of the answer.
 */
export function sendTwiceIfStale<Answer, Result>(
  peer: string,
  abort: AbortSignal,
  send: (isResend: boolean) => Promise<Answer>,
  read: (answer: Answer) => Result,
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
 * Finds out whether the other side answers: sends a request without records, which is valid and does no harm. What it refuses
 * for good it has answered.
 */
export async function checkByEmptyExport(signal: Signal, send: (batch: Batch) => Promise<unknown>): Promise<void> {
  try {
    await send(batchFromJson(signal, "{}"));
  } catch (error) {
    if (toRefusal(error).kind !== "permanent") throw error;
  }
}

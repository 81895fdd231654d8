import { z } from "zod";
import { caseInsensitiveEnum } from "../../contract/schema/schema.js";
import { NoAnswerError } from "../net/no-answer-error.js";
import { refusalOfAbort, refusalOfConnection } from "./refusals.js";

/** What the exporters of both transports have in common. */

/** Why `auth` cannot be configured. */
export const NO_CLIENT_AUTH =
  "Sluice has no client authenticators, and sending without would only be refused: remove `auth` and write the credentials under `headers`";

/** The Collector also takes an empty string for no compression. */
export function compression() {
  return z
    .preprocess((value) => (value === "" ? "none" : value), caseInsensitiveEnum(["gzip", "none"]))
    .default("gzip");
}

/** An answer that says something has at most a few hundred bytes. */
export const MAX_ANSWER_BYTES = 64 * 1024;

/**
 * Sends, and when that meets a stale connection, once more on a new one: that the server has closed a connection meanwhile
 * says nothing about the server. It may have got the first request; sending again is what any retry would do. Whatever
 * keeps an answer from coming is thrown as a refusal.
 */
export async function sendTwiceIfStale<Answer>(
  peer: string,
  abort: AbortSignal,
  send: (isResend: boolean) => Promise<Answer>,
): Promise<Answer> {
  for (let isResend = false; ; isResend = true) {
    if (abort.aborted) throw refusalOfAbort(peer, abort);
    try {
      return await send(isResend);
    } catch (error) {
      if (abort.aborted) throw refusalOfAbort(peer, abort);
      const isNoAnswer = error instanceof NoAnswerError;
      if (isResend || !(isNoAnswer && error.stale)) throw refusalOfConnection(peer, isNoAnswer ? error.cause : error);
    }
  }
}

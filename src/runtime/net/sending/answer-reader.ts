import type { Clock } from "#contract";
import type { Http1Answer } from "../http1/exchange.js";
import { parseRetryAfter, refusalOfHttp } from "../otlp/refusals.js";
import { plainText } from "./http-poster.js";

/** Reads an answer of which nothing but its status counts. A redirect is no success: requests go where the config says, and nowhere else. */
export function answerReader(clock: Clock): (answer: Http1Answer) => void {
  return ({ status, headers, body }) => {
    if (status >= 200 && status < 300) return;
    throw refusalOfHttp(status, plainText(body), parseRetryAfter(headers.get("retry-after"), clock.now()));
  };
}

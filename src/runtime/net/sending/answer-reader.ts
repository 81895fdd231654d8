import type { Clock } from "#contract";
import type { Http1Answer } from "../http1/connection.js";
import { parseRetryAfter, refusalOfHttp } from "../otlp/refusals.js";
import { plainText } from "./http-poster.js";

/**
 * Reads a response; only its status matters. A redirect counts as an error: requests go only where the config
 * says.
 */
export function answerReader(clock: Clock): (answer: Http1Answer) => void {
  return ({ status, headers, body }) => {
    if (status >= 200 && status < 300) return;
    throw refusalOfHttp(status, plainText(body), parseRetryAfter(headers.get("retry-after"), clock.now()));
  };
}

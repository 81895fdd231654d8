import { Refusal } from "../../plugin.js";
import { type Http1Answer, parseRetryAfter, plainText, refusalOfHttp } from "../../runtime/kit.js";

/**
 * The server's codes for values that a column cannot hold and for rows that cannot be read. All other errors may be mended (memory,
 * too many parts, a table or a right that is missing), and nothing is wrong with the data.
 */
const DATA_CODES: ReadonlySet<string> = new Set(
  "6 26 27 32 33 38 41 53 69 70 72 117 130 131 190 321 349 407 467 469".split(" "),
);
const VIOLATED_CONSTRAINT = "469";

/** Throws the refusal behind an answer that is no success. An error of the server has its code in a header, whatever the status. */
export function readAnswer({ status, headers, body }: Http1Answer, now: number): void {
  const code = headers.get("x-clickhouse-exception-code");
  if (code === undefined) {
    if (status >= 200 && status < 300) return;
    throw refusalOfHttp(status, plainText(body), parseRetryAfter(headers.get("retry-after"), now));
  }
  const message = `code ${code}: ${plainText(body)}`;
  if (!DATA_CODES.has(code)) throw new Refusal("transient", message, { status: `ClickHouse ${code}` });
  const category = code === VIOLATED_CONSTRAINT ? "business" : "schema";
  throw new Refusal("permanent", message, { status: `ClickHouse ${code}`, category });
}

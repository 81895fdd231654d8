import { headers } from "#contract/schema";
import { isHeader } from "./http1/request-writer.js";

const EXPECTED_HEADER =
  "expected a header that can be sent: no line breaks or control characters, and a name without blanks";

/** Schema of HTTP headers by name. Rejects line breaks, because they would begin another header. */
export function httpHeaders() {
  return headers().superRefine((configured, context) => {
    // The value may be a secret, so the error does not show it.
    for (const [name, value] of Object.entries(configured)) {
      if (!isHeader(name, value)) context.addIssue({ code: "custom", path: [name], message: EXPECTED_HEADER });
    }
  });
}

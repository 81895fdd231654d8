import { headers } from "#contract/schema";
import { isHeader } from "./http1/request-head.js";

const EXPECTED_HEADER =
  "expected a header that can be sent: no line breaks or control characters, and a name without blanks";

/** Schema of HTTP headers by name. A value that ended its line would begin a header of its own. */
export function httpHeaders() {
  return headers().superRefine((configured, context) => {
    // The value may be a secret, and is not shown.
    for (const [name, value] of Object.entries(configured)) {
      if (!isHeader(name, value)) context.addIssue({ code: "custom", path: [name], message: EXPECTED_HEADER });
    }
  });
}

import { z } from "zod";
import { authReference, duration, headers, ignored, lazySection, unsupported } from "#contract/schema";
import { httpUrl } from "./endpoint.js";
import { isHeader } from "./http1/request-writer.js";
import { tlsClient } from "./tls-config.js";

const BUFFERS = "Node.js sizes its own socket buffers";
const HTTP1 = "requests are sent over HTTP/1.1";

/** The Collector's keys of an HTTP client, except endpoint and compression. */
export function httpClientKeys() {
  return {
    headers: httpHeaders().nullish().meta({ description: "Headers that every request gets, such as credentials." }),
    tls: lazySection(tlsClient).optional().meta({ description: "Certificates and versions of TLS, for https." }),
    max_conns_per_host: z
      .number()
      .int()
      .nonnegative()
      .default(0)
      .meta({ description: "Limit for open connections; 0 means the default, 100." }),
    max_idle_conns: z
      .number()
      .int()
      .nonnegative()
      .default(100)
      .meta({ description: "Limit for idle connections; 0 means no limit." }),
    max_idle_conns_per_host: z
      .number()
      .int()
      .nonnegative()
      .optional()
      .meta({ description: "Limit for idle connections to one host." }),
    idle_conn_timeout: duration().default(90_000).meta({ description: "How long an idle connection is kept." }),
    disable_keep_alives: z.boolean().default(false).meta({ description: "Open a connection for every request." }),
    auth: authReference("client").nullish().meta({ description: "Authentication to the server." }),
    proxy_url: z
      .preprocess((url) => (url === "" ? undefined : url), httpUrl().optional())
      .meta({ description: "An HTTP proxy to use instead of HTTP_PROXY or HTTPS_PROXY." }),
    middlewares: unsupported("middlewares are extensions of the Collector that do not exist here"),
    cookies: ignored("cookies are not kept"),
    read_buffer_size: ignored(BUFFERS),
    write_buffer_size: ignored(BUFFERS),
    http2_read_idle_timeout: ignored(HTTP1),
    http2_ping_timeout: ignored(HTTP1),
    force_attempt_http2: ignored(HTTP1),
  };
}

/** The parsed keys. */
export type HttpClientConfig = z.infer<z.ZodObject<ReturnType<typeof httpClientKeys>>>;

let defaults: HttpClientConfig | undefined;

/** The defaults of these keys, for a client whose config has only some of them. S3 asks for them with every request. */
export function httpClientDefaults(): HttpClientConfig {
  defaults ??= z.object(httpClientKeys()).parse({});
  return { ...defaults };
}

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

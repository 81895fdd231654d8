import { z } from "zod";
import { httpClientKeys, httpUrl } from "#net";
import { gauge, type MetricTable, metricKeys, optional, scrapingKeys, upDown } from "#receiving";
import { duration, ignored, section } from "../../plugin.js";
import { validationSchema } from "./validations.js";

export const HTTP_CHECK_METRICS = {
  "httpcheck.status": upDown("1", "1 for the class of the answer's status, 0 for the others."),
  "httpcheck.duration": gauge("ms", "How long the check took, with redirects and the body.", true),
  "httpcheck.error": upDown("{error}", "1 with the reason if no answer came."),
  "httpcheck.dns.lookup.duration": optional(gauge("ns", "Time until the address of the host was known.", true)),
  "httpcheck.client.connection.duration": optional(gauge("ns", "Time to connect.", true)),
  "httpcheck.tls.handshake.duration": optional(gauge("ns", "Time of the TLS handshake.", true)),
  "httpcheck.client.request.duration": optional(gauge("ns", "Time to send the request.", true)),
  "httpcheck.response.duration": optional(gauge("ns", "Time from the head of the answer to its end.", true)),
  "httpcheck.response.size": optional(gauge("By", "Bytes of the body.", true)),
  "httpcheck.tls.cert_remaining": optional(gauge("s", "Time until the server's certificate expires.", true)),
  "httpcheck.validation.passed": optional(upDown("{validation}", "Validations that the body passed, by type.")),
  "httpcheck.validation.failed": optional(upDown("{validation}", "Validations that the body failed, by type.")),
} as const satisfies MetricTable;

const OWN_CONNECTION = "each check opens its own connection, so the whole path is checked";

/** Keeps the text as written, because metrics repeat it. */
const url = () =>
  z
    .string()
    .superRefine((text, context) => {
      const message = httpUrl().safeParse(text).error?.issues[0]?.message;
      if (message !== undefined) context.addIssue({ code: "custom", message });
    })
    .meta({ format: "url" });

const targetSchema = section(
  z.strictObject({
    ...httpClientKeys(),
    endpoint: z
      .preprocess((text) => (text === "" ? undefined : text), url().optional())
      .meta({ description: "The URL to check." }),
    endpoints: z
      .array(url())
      .nullish()
      .transform((urls) => urls ?? [])
      .meta({ description: "URLs to check in the same way." }),
    method: z
      .string()
      .regex(/^[A-Za-z-]*$/, "expected a method such as GET")
      .transform((method) => method.toUpperCase() || "GET")
      .refine((method) => method !== "CONNECT", "CONNECT is for proxies; expected a method such as GET")
      .default("GET")
      .meta({ description: "The method of the request." }),
    body: z.string().default("").meta({ description: "The body of the request." }),
    auto_content_type: z.boolean().default(false).meta({
      description: "Whether to set the Content-Type from the body: JSON, a form or text.",
    }),
    timeout: duration().default(30_000).meta({ description: "How long a check may take; 0 means 30 s." }),
    validations: z
      .array(validationSchema)
      .nullish()
      .transform((rules) => rules ?? [])
      .meta({ description: "Rules for the body of the answer." }),
    compression: ignored("bodies of checks are sent as they are"),
    compression_params: ignored("bodies of checks are sent as they are"),
    max_conns_per_host: ignored(OWN_CONNECTION),
    max_idle_conns: ignored(OWN_CONNECTION),
    max_idle_conns_per_host: ignored(OWN_CONNECTION),
    idle_conn_timeout: ignored(OWN_CONNECTION),
    disable_keep_alives: ignored(OWN_CONNECTION),
  }),
).superRefine(({ endpoint, endpoints }, context) => {
  if (endpoint === undefined && endpoints.length === 0)
    context.addIssue({ code: "custom", path: ["endpoint"], message: "expected a URL here, or some in endpoints" });
});

export const httpCheckSchema = z.strictObject({
  targets: z.array(targetSchema).min(1, "expected at least one target").meta({ description: "The URLs to check." }),
  ...scrapingKeys(60_000),
  ...metricKeys(HTTP_CHECK_METRICS),
});

export type HttpCheckConfig = z.infer<typeof httpCheckSchema>;
export type CheckTargetConfig = HttpCheckConfig["targets"][number];

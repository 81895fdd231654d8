import { z } from "zod";
import { listenEndpoint } from "#net";
import { httpServerKeys } from "#receiving/requests";
import { compilePattern } from "#text/patterns";
import { byteSize, duration, ignored, secret, section } from "../../plugin.js";

const DEFAULT_MAX_BYTES = 100 * 1024;
const MAX_TIMEOUT_MS = 10_000;

const urlPath = (path: string) => z.string().startsWith("/", "expected a path such as /events").default(path);
const timeout = () => duration().refine((ms) => ms <= MAX_TIMEOUT_MS, "expected at most 10s");

const requiredHeader = z.strictObject({
  key: z.string().default("").meta({ description: "The name of the header." }),
  value: secret().default("").meta({ description: "Its value." }),
});

const hmacSignature = z.strictObject({
  secret: secret().min(1, "expected the secret that senders sign with").meta({ description: "The shared secret." }),
  header: z.string().min(1).meta({ description: "The header with the signature, such as X-Hub-Signature-256." }),
  prefix: z.string().min(1).meta({ description: "The prefix of the digest, such as sha256=." }),
});

export const webhookEventSchema = z
  .strictObject({
    ...httpServerKeys(""),
    endpoint: listenEndpoint().meta({ description: "Where to listen." }),
    path: urlPath("/events").meta({ harmless: true, description: "Where events are POSTed." }),
    health_path: urlPath("/health_check").meta({
      harmless: true,
      description: "The path of a page for health checks.",
    }),
    max_request_body_size: byteSize()
      .default(DEFAULT_MAX_BYTES)
      .meta({ description: "Bytes of a request after decompression; 0 means 20 MiB." }),
    read_timeout: timeout()
      .default(MAX_TIMEOUT_MS)
      .meta({ description: "How long a client may take to send the head of a request; at most 10s." }),
    write_timeout: timeout()
      .default(MAX_TIMEOUT_MS)
      .meta({ description: "How long a client may take to read its answer; at most 10s." }),
    read_header_timeout: ignored("read_timeout sets it, as in the Collector"),
    required_header: section(requiredHeader)
      .optional()
      .refine((header) => (header?.key ?? "") === "" || header?.value !== "", "expected a value too")
      .refine((header) => (header?.value ?? "") === "" || header?.key !== "", "expected a key too")
      .meta({ description: "A header that every request must have; others get 401." }),
    hmac_signature: section(hmacSignature)
      .optional()
      .meta({ description: "Accepts only bodies that are signed with HMAC-SHA256; others get 401." }),
    split_logs_at_newline: z.boolean().default(false).meta({ description: "Make a record of each line." }),
    split_logs_at_json_boundary: z.boolean().default(false).meta({ description: "Make a record of each JSON value." }),
    header_attribute_regex: z
      .string()
      .default("")
      .superRefine(checkPattern)
      .meta({ description: "Headers whose names match this RE2 pattern become attributes header.Name." }),
    convert_headers_to_attributes: ignored("it does nothing in the Collector either; use header_attribute_regex: .*"),
  })
  .refine(
    (config) => !(config.split_logs_at_newline && config.split_logs_at_json_boundary),
    "expected split_logs_at_newline or split_logs_at_json_boundary, not both",
  );

export type WebhookEventConfig = z.infer<typeof webhookEventSchema>;

function checkPattern(source: string, context: z.RefinementCtx): void {
  try {
    compilePattern(source);
  } catch (error) {
    context.addIssue({ code: "custom", message: `not a pattern: ${(error as Error).message}` });
  }
}

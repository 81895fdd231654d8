import { z } from "zod";
import { httpClientKeys } from "#net";
import { secret, section } from "../../../plugin.js";
import { allowPrivateAddresses, mayReach, PRIVATE_ADDRESS } from "../config.js";
import { compileTemplate, type RenderTemplate, templatePieces } from "./template.js";

/** Names that the placeholders of a record template may begin with. */
const RECORD_NAMES =
  `signal name body attributes resource scope service severity severity_number time trace_id span_id kind status
  status_message exceptions record dead_letter id`.split(/\s+/);
const BATCH_NAMES = ["signal", "count", "records", "id"];

/** The default for `body`: everything known about the record. */
const DEFAULT_RECORD = Object.fromEntries(
  RECORD_NAMES.filter((name) => name !== "record").map((name) => [name, `{{ ${name} }}`]),
);
const DEFAULT_BATCH = Object.fromEntries(BATCH_NAMES.map((name) => [name, `{{ ${name} }}`]));

const HEADER = /^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/;

const signature = z.strictObject({
  secret: secret()
    .min(16, "expected at least 16 characters")
    .meta({ description: "The secret key that both sides know." }),
  algorithm: z.enum(["sha256", "sha512"]).default("sha256").meta({ description: "The hash of the HMAC." }),
  header: z
    .string()
    .regex(HEADER, "expected the name of a header")
    .default("x-sluice-signature")
    .meta({ description: "The header for the signature, as sha256=HEX." }),
  timestamp_header: z
    .string()
    .regex(/^$|^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/, "expected the name of a header")
    .default("x-sluice-timestamp")
    .meta({
      description:
        "The header for the time in seconds, which is signed too: the signed text is TIME.BODY. Empty: only the body is signed.",
    }),
});

const keys = z
  .strictObject({
    endpoint: secret()
      .refine((text) => isHttpUrl(text), "expected a URL such as https://example.com/hooks/1")
      .meta({
        description:
          "Where requests go. The URL is treated as a secret, because many webhooks have a token in it. Redirects are not followed.",
      }),
    per: z
      .enum(["record", "batch"])
      .default("record")
      .meta({ description: "A request for each record, or one for all records of a batch." }),
    body: z.unknown().optional().meta({
      description:
        "The JSON to send, with placeholders such as {{ body }} in its texts. Default: everything known about the record.",
    }),
    signature: section(signature)
      .optional()
      .meta({ description: "Signs each request, so that the receiver can verify its sender." }),
    ...allowPrivateAddresses,
    ...httpClientKeys(),
  })
  .superRefine((config, context) => {
    if (isHttpUrl(config.endpoint) && !mayReach(new URL(config.endpoint), config))
      context.addIssue({ code: "custom", path: ["endpoint"], message: PRIVATE_ADDRESS });
    const compiled = compileBody(config);
    if (typeof compiled === "function") return;
    for (const { path, message } of compiled) context.addIssue({ code: "custom", path: ["body", ...path], message });
  });

export const webhookSchema = keys;

export type WebhookConfig = z.infer<typeof keys>;

/** Compiles the template of the config, or returns its problem. */
function compileBody(config: Pick<WebhookConfig, "per" | "body">) {
  const names = new Set(config.per === "record" ? RECORD_NAMES : BATCH_NAMES);
  return compileTemplate(templateOf(config), names);
}

function templateOf({ per, body }: Pick<WebhookConfig, "per" | "body">): unknown {
  return body ?? (per === "record" ? DEFAULT_RECORD : DEFAULT_BATCH);
}

/** Returns the pieces of the template of a checked config; see `templatePieces`. */
export function bodyPieces(config: WebhookConfig): readonly (Uint8Array | string)[] | undefined {
  return templatePieces(templateOf(config));
}

/** Does the same for a config that was checked. */
export function bodyTemplate(config: WebhookConfig): RenderTemplate {
  const compiled = compileBody(config);
  if (typeof compiled === "function") return compiled;
  throw new RangeError(compiled[0]!.message);
}

function isHttpUrl(text: string): boolean {
  return URL.canParse(text) && /^https?:$/.test(new URL(text).protocol);
}

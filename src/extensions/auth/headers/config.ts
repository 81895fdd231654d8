import { z } from "zod";
import { isHeader } from "#net";
import { caseInsensitiveEnum, secret } from "../../../plugin.js";

/** Headers that HTTP, gRPC or the exporter itself sets. Another value could only contradict them. */
const RESERVED =
  /^(connection|keep-alive|proxy-.*|transfer-encoding|upgrade|http2-settings|te|trailer|host|content-.*|grpc-.*)$/i;

const SOURCES = ["value", "value_file", "from_context", "from_attribute"] as const;

const header = z
  .strictObject({
    action: caseInsensitiveEnum(["insert", "update", "upsert", "delete"]).default("upsert").meta({
      description:
        "insert adds a missing header, update replaces an existing one, upsert does both, delete removes it.",
    }),
    key: z
      .string()
      .refine(
        (name) => isHeader(name, "") && !RESERVED.test(name),
        "expected the name of a header that the agent does not set itself",
      )
      .meta({ description: "The name of the header." }),
    value: secret().optional().meta({ description: "Its value." }),
    value_file: z
      .string()
      .min(1)
      .optional()
      .meta({ harmless: true, description: "A file with its value; reloaded when it changes." }),
    from_context: z
      .string()
      .min(1)
      .optional()
      .meta({ description: "The client metadata to take the value from; the receiver needs include_metadata." }),
    from_attribute: z
      .string()
      .min(1)
      .optional()
      .meta({ description: "The attribute of the authenticated client to take the value from, such as subject." }),
    default_value: secret().optional().meta({ description: "The value if the client has none." }),
  })
  .superRefine((written, context) => {
    const sources = SOURCES.filter((source) => written[source] !== undefined);
    const message =
      written.action === "delete"
        ? sources.length > 0 && "expected no value for a header that is deleted"
        : sources.length !== 1 && `expected one of ${SOURCES.join(", ")}`;
    if (message) context.addIssue({ code: "custom", message });
    if (written.value !== undefined && !isHeader("x", written.value))
      context.addIssue({ code: "custom", path: ["value"], message: "expected a value that can be sent in a header" });
  });

export const headersSetterSchema = z.strictObject({
  headers: z
    .array(header)
    .min(1, "expected at least one header")
    .meta({ description: "Changes to the headers of every request, in this order." }),
  additional_auth: z.string().min(1).optional().meta({
    description:
      "The id of another authenticator whose credentials are added; if both set a header, that authenticator wins.",
    authenticator: "client",
  }),
});

export type HeadersSetterConfig = z.infer<typeof headersSetterSchema>;

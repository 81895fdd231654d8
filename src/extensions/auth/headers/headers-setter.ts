import { z } from "zod";
import { isHeader } from "#net";
import {
  caseInsensitiveEnum,
  defineExtension,
  type Extension,
  type ExtensionContext,
  secret,
} from "../../../plugin.js";
import { WatchedFile } from "../watched-file.js";
import { type HeaderRule, HeadersClient } from "./headers-client.js";

/** What HTTP, gRPC or the exporter itself says about a request: another could only contradict it. */
const RESERVED =
  /^(connection|keep-alive|proxy-.*|transfer-encoding|upgrade|http2-settings|te|trailer|host|content-.*|grpc-.*)$/i;

const SOURCES = ["value", "value_file", "from_context", "from_attribute"] as const;

const header = z
  .strictObject({
    action: caseInsensitiveEnum(["insert", "update", "upsert", "delete"])
      .default("upsert")
      .meta({ description: "insert only adds, update only replaces, upsert does both, delete takes it away." }),
    key: z
      .string()
      .refine(
        (name) => isHeader(name, "") && !RESERVED.test(name),
        "expected the name of a header that is not set otherwise",
      )
      .meta({ description: "The name of the header." }),
    value: secret().optional().meta({ description: "Its value." }),
    value_file: z
      .string()
      .min(1)
      .optional()
      .meta({ description: "A file with its value; read again when it changes." }),
    from_context: z
      .string()
      .min(1)
      .optional()
      .meta({ description: "The client metadata with its value; the receiver has to have include_metadata." }),
    from_attribute: z
      .string()
      .min(1)
      .optional()
      .meta({ description: "What is known of the authenticated client, such as subject, with its value." }),
    default_value: secret().optional().meta({ description: "Its value where the client has none." }),
  })
  .superRefine((written, context) => {
    const sources = SOURCES.filter((source) => written[source] !== undefined);
    const message =
      written.action === "delete"
        ? sources.length > 0 && "expected no value for a header that is taken away"
        : sources.length !== 1 && `expected one of ${SOURCES.join(", ")}`;
    if (message) context.addIssue({ code: "custom", message });
    if (written.value !== undefined && !isHeader("x", written.value))
      context.addIssue({ code: "custom", path: ["value"], message: "expected a value that can be sent in a header" });
  });

const schema = z.strictObject({
  headers: z
    .array(header)
    .min(1, "expected at least one header")
    .meta({ description: "What is done to the headers of every request, in this order." }),
  additional_auth: z.string().min(1).optional().meta({
    description: "The id of an extension that gives credentials besides; where both set a header, its own counts.",
    authenticator: "client",
  }),
});

type HeadersSetterConfig = z.infer<typeof schema>;

/** Headers of requests that depend on whose data they carry. */
export const headersSetter = defineExtension<HeadersSetterConfig>({
  type: "headers_setter",
  aliases: ["headerssetter"],
  summary: "Sets headers of exporters' requests, also from the metadata of the client that the data came from.",
  schema,
  authenticates: () => ["client"],
  create: (config, context) => new HeadersSetter(config, context),
});

class HeadersSetter implements Extension {
  clientAuthenticator?: HeadersClient;
  private readonly config: HeadersSetterConfig;
  private readonly context: ExtensionContext;
  private readonly files: WatchedFile[] = [];

  constructor(config: HeadersSetterConfig, context: ExtensionContext) {
    this.config = config;
    this.context = context;
  }

  async start(): Promise<void> {
    const { headers, additional_auth: additional } = this.config;
    const rules: HeaderRule[] = [];
    for (const [index, written] of headers.entries()) rules.push(await this.ruleOf(written, index));
    const other = additional === undefined ? undefined : this.context.authenticators!.client(additional);
    this.clientAuthenticator = new HeadersClient(rules, other);
  }

  async stop(): Promise<void> {
    for (const file of this.files) file.stop();
  }

  private async ruleOf(written: HeadersSetterConfig["headers"][number], index: number): Promise<HeaderRule> {
    const { action, key, value, value_file, from_context, from_attribute, default_value } = written;
    const name = key.toLowerCase();
    if (action === "delete") return { action, name };
    const metadataKey =
      from_attribute === undefined ? from_context?.toLowerCase() : `auth.${from_attribute.toLowerCase()}`;
    if (metadataKey !== undefined) return { action, name, metadataKey, fallback: default_value };
    if (value_file === undefined) return { action, name, value: value! };
    const rule = { action, name, value: "" };
    const file = new WatchedFile(value_file, this.context, (text) => {
      const trimmed = text.trim();
      if (trimmed === "" || !isHeader(name, trimmed)) throw new Error("it does not hold a value for a header");
      rule.value = trimmed;
    });
    await file.start(["headers", String(index), "value_file"]);
    this.files.push(file);
    return rule;
  }
}

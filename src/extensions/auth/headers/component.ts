import { type BuiltInExtension, type BuiltInExtensionContext, defineBuiltInExtension } from "#contract/built-in";
import { isHeader } from "#net";
import { WatchedFile } from "../watched-file.js";
import { type HeadersSetterConfig, headersSetterSchema } from "./config.js";
import { type HeaderRule, HeadersClient } from "./headers-client.js";

/** Sets request headers that depend on the client whose data they carry. */
export const headersSetter = defineBuiltInExtension<HeadersSetterConfig>({
  type: "headers_setter",
  aliases: ["headerssetter"],
  summary: "Sets headers of exporters' requests, also from the metadata of the client that the data came from.",
  runsIn: "both",
  schema: headersSetterSchema,
  authenticates: () => ["client"],
  create: (config, context) => new HeadersSetter(config, context),
});

class HeadersSetter implements BuiltInExtension {
  clientAuthenticator?: HeadersClient;
  private readonly config: HeadersSetterConfig;
  private readonly context: BuiltInExtensionContext;
  private readonly files: WatchedFile[] = [];

  constructor(config: HeadersSetterConfig, context: BuiltInExtensionContext) {
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
      if (trimmed === "" || !isHeader(name, trimmed)) throw new Error("it does not contain a valid header value");
      rule.value = trimmed;
    });
    await file.start(["headers", String(index), "value_file"]);
    this.files.push(file);
    return rule;
  }
}

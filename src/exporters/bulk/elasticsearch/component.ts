import { defineBuiltInExporter } from "#contract/built-in";
import { SIGNALS } from "../../../plugin.js";
import { BulkExporter, refusesBodymap } from "../bulk-sender.js";
import { type ElasticsearchConfig, elasticsearchSchema, serversOf } from "./config.js";
import { documentsOf } from "./documents.js";

/** Stores records as documents in Elasticsearch. */
export const elasticsearchExporter = defineBuiltInExporter<ElasticsearchConfig>({
  type: "elasticsearch",
  summary: "Stores log records, spans and data points as documents in Elasticsearch, each with its own answer.",
  signals: SIGNALS,
  defaults: { timeout: "90s" },
  schema: elasticsearchSchema,
  refusesSignal: ({ mapping }, signal) => refusesBodymap(mapping.mode, signal),
  create: (config, context) => {
    const { compression, pipeline } = config;
    const settings = { urls: serversOf(config), client: config, headers: credentials(config), compression, pipeline };
    return new BulkExporter(settings, context, (batch, now) => documentsOf(batch, config, now));
  },
});

function credentials({ user, password, api_key: key }: ElasticsearchConfig): Record<string, string> {
  if (key !== "") return { Authorization: `ApiKey ${key}` };
  if (user === "") return {};
  return { Authorization: `Basic ${Buffer.from(`${user}:${password}`).toString("base64")}` };
}

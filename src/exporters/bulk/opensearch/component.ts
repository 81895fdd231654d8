import { defineBuiltInExporter } from "#contract/built-in";
import { BulkExporter, refusesBodymap } from "../bulk-sender.js";
import { type OpenSearchConfig, openSearchSchema } from "./config.js";
import { documentsOf } from "./documents.js";

/** Stores records as documents in OpenSearch. */
export const openSearchExporter = defineBuiltInExporter<OpenSearchConfig>({
  type: "opensearch",
  summary: "Stores log records and spans as documents in OpenSearch, each with its own answer.",
  signals: ["logs", "traces"],
  schema: openSearchSchema,
  refusesSignal: ({ mapping }, signal) => refusesBodymap(mapping.mode, signal),
  create: (config, context) => {
    const { http, pipeline } = config;
    const settings = { urls: [http.endpoint], client: http, headers: {}, compression: http.compression, pipeline };
    return new BulkExporter(settings, context, (batch, now) => documentsOf(batch, config, now));
  },
});

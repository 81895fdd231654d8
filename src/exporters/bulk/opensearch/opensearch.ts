import { type Batch, defineExporter, type Exporter, type ExporterContext, type SendOptions } from "../../../plugin.js";
import { BulkSender } from "../bulk-sender.js";
import { type OpenSearchConfig, openSearchSchema } from "./config.js";
import { documentsOf } from "./documents.js";

/** Stores records as documents in OpenSearch. */
export const openSearchExporter = defineExporter<OpenSearchConfig>({
  type: "opensearch",
  summary: "Stores log records and spans as documents in OpenSearch, each with its own answer.",
  signals: ["logs", "traces"],
  schema: openSearchSchema,
  refusesSignal: ({ mapping }, signal) =>
    mapping.mode === "bodymap" && signal !== "logs" ? "the mapping mode bodymap is for logs alone" : undefined,
  create: (config, context) => new OpenSearchExporter(config, context),
});

class OpenSearchExporter implements Exporter {
  private readonly config: OpenSearchConfig;
  private readonly context: ExporterContext;
  private readonly sender: BulkSender;

  constructor(config: OpenSearchConfig, context: ExporterContext) {
    this.config = config;
    this.context = context;
    const { http, pipeline } = config;
    const settings = { urls: [http.endpoint], client: http, headers: {}, compression: http.compression, pipeline };
    this.sender = new BulkSender(settings, context);
  }

  get metadataKeys(): readonly string[] {
    return this.sender.metadataKeys;
  }

  start(): Promise<void> {
    return this.sender.start();
  }

  async send(batch: Batch, abort: AbortSignal, options?: SendOptions): Promise<undefined> {
    const documents = documentsOf(batch, this.config, this.context.clock.now());
    await this.sender.send(documents, batch.count, abort, options);
  }

  async stop(): Promise<void> {
    this.sender.stop();
  }
}

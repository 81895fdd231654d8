import {
  type Batch,
  defineExporter,
  type Exporter,
  type ExporterContext,
  type SendOptions,
  SIGNALS,
} from "../../../plugin.js";
import { BulkSender } from "../bulk-sender.js";
import { type ElasticsearchConfig, elasticsearchSchema, serversOf } from "./config.js";
import { documentsOf } from "./documents.js";

/** Stores records as documents in Elasticsearch. */
export const elasticsearchExporter = defineExporter<ElasticsearchConfig>({
  type: "elasticsearch",
  summary: "Stores log records, spans and data points as documents in Elasticsearch, each with its own answer.",
  signals: SIGNALS,
  defaults: { timeout: "90s" },
  schema: elasticsearchSchema,
  refusesSignal: ({ mapping }, signal) =>
    mapping.mode === "bodymap" && signal !== "logs" ? "the mapping mode bodymap is for logs alone" : undefined,
  create: (config, context) => new ElasticsearchExporter(config, context),
});

class ElasticsearchExporter implements Exporter {
  private readonly config: ElasticsearchConfig;
  private readonly context: ExporterContext;
  private readonly sender: BulkSender;

  constructor(config: ElasticsearchConfig, context: ExporterContext) {
    this.config = config;
    this.context = context;
    const { compression, pipeline } = config;
    const urls = serversOf(config);
    this.sender = new BulkSender(
      { urls, client: config, headers: credentials(config), compression, pipeline },
      context,
    );
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

function credentials({ user, password, api_key: key }: ElasticsearchConfig): Record<string, string> {
  if (key !== "") return { Authorization: `ApiKey ${key}` };
  if (user === "") return {};
  return { Authorization: `Basic ${Buffer.from(`${user}:${password}`).toString("base64")}` };
}

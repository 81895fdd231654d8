import { compress } from "#codecs/compression";
import { answerReader, HttpPoster, type RecordRequest, sendEach } from "#net/sending";
import {
  type Batch,
  defineExporter,
  type Exporter,
  type ExporterContext,
  Refusal,
  type SendOptions,
} from "../../plugin.js";
import { type ZipkinExporterConfig, zipkinExporterSchema } from "./config.js";
import { jsonListsOf, protoListsOf, type SpanList } from "./span-lists.js";

/** Sends spans to Zipkin, or to another server that accepts its format. */
export const zipkinExporter = defineExporter<ZipkinExporterConfig>({
  type: "zipkin",
  summary: "Sends spans to Zipkin, as JSON or protobuf of its API's version 2.",
  signals: ["traces"],
  schema: zipkinExporterSchema,
  create: (config, context) => new ZipkinExporter(config, context),
});

class ZipkinExporter implements Exporter {
  private readonly config: ZipkinExporterConfig;
  private readonly poster: HttpPoster;
  private readonly readAnswer: ReturnType<typeof answerReader>;

  constructor(config: ZipkinExporterConfig, context: ExporterContext) {
    this.config = config;
    const { compression, format } = config;
    const headers = {
      "Content-Type": format === "json" ? "application/json" : "application/x-protobuf",
      ...(compression !== "none" && { "Content-Encoding": compression }),
    };
    this.poster = new HttpPoster(config.endpoint, config, headers, context);
    this.readAnswer = answerReader(context.clock);
  }

  get metadataKeys(): readonly string[] {
    return this.poster.metadataKeys;
  }

  start(): Promise<void> {
    return this.poster.start();
  }

  /** Lists that succeeded are not repeated when a later one is refused. */
  async send(batch: Batch, abort: AbortSignal, options?: SendOptions): Promise<undefined> {
    const { format, default_service_name: defaultService } = this.config;
    const { lists, withoutIds } = (format === "json" ? jsonListsOf : protoListsOf)(batch, defaultService);
    const requests: RecordRequest[] = lists.map((list) => ({
      records: list.records,
      send: () => this.post(list, abort, options),
    }));
    if (withoutIds.length > 0) requests.push({ records: withoutIds, send: () => Promise.reject(missingIds()) });
    await sendEach(requests, batch.count);
  }

  async stop(): Promise<void> {
    this.poster.stop();
  }

  private async post(list: SpanList, abort: AbortSignal, options: SendOptions | undefined): Promise<void> {
    const { compression } = this.config;
    const plain = list.encode();
    const body = compression === "none" ? plain : await compress(compression, plain);
    await this.poster.post([body], abort, options, this.readAnswer);
  }
}

function missingIds(): Refusal {
  return new Refusal("permanent", "the span has no trace id or no span id, which Zipkin requires", {
    category: "schema",
  });
}

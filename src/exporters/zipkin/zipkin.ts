import {
  type Batch,
  defineExporter,
  type Exporter,
  type ExporterContext,
  Refusal,
  type SendOptions,
} from "../../plugin.js";
import {
  answerReader,
  type ConvertibleSpan,
  compress,
  HttpPoster,
  type RecordRequest,
  sendEach,
  zipkinSpansOf,
} from "../../runtime/kit.js";
import { type ZipkinExporterConfig, zipkinExporterSchema } from "./config.js";
import { protoSpans } from "./proto-spans.js";

/** Sends spans to Zipkin, or to what takes its format. */
export const zipkinExporter = defineExporter<ZipkinExporterConfig>({
  type: "zipkin",
  summary: "Sends spans to Zipkin, as JSON or protobuf of its API's version 2.",
  signals: ["traces"],
  schema: zipkinExporterSchema,
  create: (config, context) => new ZipkinExporter(config, context),
});

/** Every span repeats the tags of its resource: a list is cut about here, and written only when it is sent. */
const MAX_LIST_LENGTH = 2 * 1024 * 1024;

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

  /** Lists that were taken are not sent again when a later one is refused. */
  async send(batch: Batch, abort: AbortSignal, options?: SendOptions): Promise<undefined> {
    const requests: RecordRequest[] = [];
    const nameless: number[] = [];
    const meanLength = Math.ceil(batch.byteLength / Math.max(batch.count, 1));
    let list: { spans: ConvertibleSpan[]; records: number[]; length: number } | undefined;
    let place = 0;
    for (const span of zipkinSpansOf(batch, this.config.default_service_name)) {
      const record = place++;
      if (!span.hasIds) {
        nameless.push(record);
        continue;
      }
      if (list === undefined || list.length > MAX_LIST_LENGTH) {
        const fresh = { spans: [], records: [], length: 0 };
        requests.push({ records: fresh.records, send: () => this.post(fresh.spans, abort, options) });
        list = fresh;
      }
      list.spans.push(span);
      list.records.push(record);
      list.length += span.sharedLength + meanLength;
    }
    if (nameless.length > 0) requests.push({ records: nameless, send: () => Promise.reject(noIds()) });
    await sendEach(requests, batch.count);
  }

  async stop(): Promise<void> {
    this.poster.stop();
  }

  private async post(
    spans: readonly ConvertibleSpan[],
    abort: AbortSignal,
    options: SendOptions | undefined,
  ): Promise<void> {
    const { compression, format } = this.config;
    const converted = spans.map((span) => span.convert());
    const plain = format === "json" ? Buffer.from(JSON.stringify(converted)) : protoSpans(converted);
    const body = compression === "none" ? plain : await compress(compression, plain);
    await this.poster.post([body], abort, options, this.readAnswer);
  }
}

function noIds(): Refusal {
  return new Refusal("permanent", "the span has no trace id or no span id, and Zipkin takes none without", {
    category: "schema",
  });
}

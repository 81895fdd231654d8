import { compress } from "#codecs/compression";
import { answerReader, HttpPoster, type RecordRequest, sendEach } from "#net/sending";
import { encodedKey } from "#otlp/bytes";
import {
  type Batch,
  defineExporter,
  type Exporter,
  type ExporterContext,
  Refusal,
  type SendOptions,
} from "../../../plugin.js";
import { type PostSpans, postSpansOf } from "../post-spans.js";
import { type SapmExporterConfig, sapmExporterSchema } from "./config.js";

/** Sends spans to Splunk in its old protocol: a POST of Jaeger's batches. */
export const sapmExporter = defineExporter<SapmExporterConfig>({
  type: "sapm",
  summary: "Sends spans to Splunk over SAPM, its protocol before it took OTLP.",
  signals: ["traces"],
  schema: sapmExporterSchema,
  create: (config, context) => new SapmExporter(config, context),
});

/** The attribute in which programs pass their tokens on. */
const TOKEN_KEY = encodedKey("com.splunk.signalfx.access_token");

class SapmExporter implements Exporter {
  private readonly poster: HttpPoster;
  private readonly compression: "none" | "gzip" | "zstd";
  private readonly read: ReturnType<typeof answerReader>;

  constructor(config: SapmExporterConfig, context: ExporterContext) {
    const { compression, disable_compression: isPlain, access_token: token, endpoint } = config;
    this.compression = isPlain || compression === "" ? "none" : compression;
    const headers = {
      "Content-Type": "application/x-protobuf",
      ...(this.compression !== "none" && { "Content-Encoding": this.compression }),
      ...(token.trim() !== "" && { "X-SF-Token": token.trim() }),
    };
    this.poster = new HttpPoster(endpoint, config, headers, context);
    this.read = answerReader(context.clock);
  }

  get metadataKeys(): readonly string[] {
    return this.poster.metadataKeys;
  }

  start(): Promise<void> {
    return this.poster.start();
  }

  /** Requests that succeeded are not repeated when a later one is refused. */
  async send(batch: Batch, abort: AbortSignal, options?: SendOptions): Promise<undefined> {
    const { requests, withoutIds } = postSpansOf(batch.bytes, TOKEN_KEY);
    const calls: RecordRequest[] = together(requests).map((group) => ({
      records: group.flatMap(({ records }) => records),
      send: () => this.post(group, abort, options),
    }));
    if (withoutIds.length > 0) calls.push({ records: withoutIds, send: () => Promise.reject(missingIds()) });
    await sendEach(calls, batch.count);
  }

  async stop(): Promise<void> {
    this.poster.stop();
  }

  /** Batches of several resources are one message when they follow each other. */
  private async post(group: readonly PostSpans[], abort: AbortSignal, options: SendOptions | undefined): Promise<void> {
    const plain = Buffer.concat(group.map((request) => request.message()));
    const body = this.compression === "none" ? plain : await compress(this.compression, plain);
    await this.poster.post([body], abort, options, (answer) => void this.read(answer));
  }
}

/** Many resources with few spans each become one request. */
function together(requests: readonly PostSpans[]): PostSpans[][] {
  const groups: PostSpans[][] = [];
  let length = Number.POSITIVE_INFINITY;
  for (const request of requests) {
    if (length + request.length > MAX_BODY_LENGTH) {
      groups.push([]);
      length = 0;
    }
    groups.at(-1)!.push(request);
    length += request.length;
  }
  return groups;
}

/** Approximate maximum size of a body. */
const MAX_BODY_LENGTH = 2 * 1024 * 1024;

function missingIds(): Refusal {
  return new Refusal("permanent", "the span has no trace id or no span id, which SAPM requires", {
    category: "schema",
  });
}

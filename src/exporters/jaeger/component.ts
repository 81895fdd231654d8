import { copyRefusal, ERROR_CODES, toRefusal } from "#contract/errors";
import { GrpcClient, type RecordRequest, sendEach } from "#net/sending";
import { JAEGER_GRPC_PATH } from "#traces";
import {
  type Batch,
  batchFromJson,
  defineExporter,
  type Exporter,
  type ExporterContext,
  Refusal,
  type SendOptions,
} from "../../plugin.js";
import { clientConfig, type JaegerExporterConfig, jaegerExporterSchema } from "./config.js";
import { PostSpans, postSpansOf } from "./post-spans.js";

/** Sends spans to Jaeger's own port, like the exporter that the Collector has removed. */
export const jaegerExporter = defineExporter<JaegerExporterConfig>({
  type: "jaeger",
  summary: "Sends spans to Jaeger over its own gRPC protocol; since 1.35 Jaeger accepts OTLP too.",
  signals: ["traces"],
  schema: jaegerExporterSchema,
  create: (config, context) => new JaegerExporter(config, context),
});

class JaegerExporter implements Exporter {
  private readonly client: GrpcClient;

  constructor(config: JaegerExporterConfig, context: ExporterContext) {
    this.client = new GrpcClient(clientConfig(config), context);
  }

  get metadataKeys(): readonly string[] {
    return this.client.metadataKeys;
  }

  start(): Promise<void> {
    return this.client.start();
  }

  /** Requests that succeeded are not repeated when a later one is refused. */
  async send(batch: Batch, abort: AbortSignal, options?: SendOptions): Promise<undefined> {
    const { requests, withoutIds } = postSpansOf(batch.bytes);
    const calls: RecordRequest[] = requests.map((request) => ({
      records: request.records,
      send: () => this.post(request, abort, options),
    }));
    if (withoutIds.length > 0) calls.push({ records: withoutIds, send: () => Promise.reject(missingIds()) });
    await sendEach(calls, batch.count);
  }

  /** A request without spans is valid and harmless. */
  async check(abort: AbortSignal): Promise<void> {
    try {
      await this.post(new PostSpans(batchFromJson("traces", "{}").bytes, 0, 0), abort, undefined);
    } catch (error) {
      if (toRefusal(error).kind !== "permanent") throw error;
    }
  }

  async stop(): Promise<void> {
    this.client.stop();
  }

  private async post(request: PostSpans, abort: AbortSignal, options: SendOptions | undefined): Promise<void> {
    try {
      await this.client.call(JAEGER_GRPC_PATH, [request.message()], abort, options, () => undefined);
    } catch (error) {
      throw classify(toRefusal(error));
    }
  }
}

/** Jaeger reports a full queue with this error, without a time to retry. */
function classify(refusal: Refusal): Refusal {
  const isBusy =
    refusal.kind === "permanent" &&
    refusal.status === "RESOURCE_EXHAUSTED" &&
    refusal.code !== ERROR_CODES.SLUICE_TOO_LARGE;
  return isBusy ? copyRefusal(refusal, { kind: "transient" }) : refusal;
}

function missingIds(): Refusal {
  return new Refusal("permanent", "the span has no trace id or no span id, which Jaeger requires", {
    category: "schema",
  });
}

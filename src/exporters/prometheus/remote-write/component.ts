import type { Http1Answer } from "#net";
import { parseRetryAfter, refusalOfHttp } from "#net/otlp";
import { HttpPoster, plainText } from "#net/sending";
import {
  type Batch,
  defineExporter,
  type Exporter,
  type ExporterContext,
  type PartialRejection,
  Refusal,
  type SendOptions,
} from "../../../plugin.js";
import { ownerSettings } from "../config.js";
import { MESSAGE_TYPES, type RemoteWriteConfig, remoteWriteSchema } from "./config.js";
import { Translator } from "./translate.js";
import { WriteRequestV1, WriteRequestV2 } from "./write-request.js";

/** Sends metrics to any server with Prometheus's remote write. */
export const remoteWriteExporter = defineExporter<RemoteWriteConfig>({
  type: "prometheus_remote_write",
  aliases: ["prometheusremotewrite"],
  summary: "Sends metrics with Prometheus's remote write, 1.0 or 2.0.",
  signals: ["metrics"],
  // Concurrent requests may overtake each other, and Prometheus refuses samples that are older than those it has.
  defaults: { sending_queue: { num_consumers: 1 } },
  // The samples of a series must arrive in order.
  workers: "series",
  schema: remoteWriteSchema,
  create: (config, context) => new RemoteWriteExporter(config, context),
});

const HEADERS = {
  v1: { "Content-Type": "application/x-protobuf", "X-Prometheus-Remote-Write-Version": "0.1.0" },
  v2: {
    "Content-Type": "application/x-protobuf;proto=io.prometheus.write.v2.Request",
    "X-Prometheus-Remote-Write-Version": "2.0.0",
  },
} as const;

class RemoteWriteExporter implements Exporter {
  private readonly context: ExporterContext;
  private readonly translator: Translator;
  private readonly poster: HttpPoster;
  private readonly isV2: boolean;

  constructor(config: RemoteWriteConfig, context: ExporterContext) {
    this.context = context;
    this.isV2 = config.protobuf_message === MESSAGE_TYPES[1];
    const { namespace, send_metadata: sendMetadata } = config;
    const owners = ownerSettings(config, !config.disable_scope_info, config.external_labels);
    this.translator = new Translator({
      ...owners,
      rules: { ...owners.rules, joinsUnderscores: true },
      targetInfoName:
        config.target_info?.enabled === false ? "" : namespace === "" ? "target_info" : `${namespace}_target_info`,
      maxRequestBytes: config.max_batch_size_bytes,
      createWriter: () => (this.isV2 ? new WriteRequestV2() : new WriteRequestV1(sendMetadata)),
    });
    const client = config.http ?? config;
    const headers = { ...HEADERS[this.isV2 ? "v2" : "v1"], "Content-Encoding": "snappy" };
    this.poster = new HttpPoster(client.endpoint!, client, headers, context);
  }

  get metadataKeys(): readonly string[] {
    return this.poster.metadataKeys;
  }

  start(): Promise<void> {
    return this.poster.start();
  }

  async send(batch: Batch, abort: AbortSignal, options?: SendOptions): Promise<PartialRejection | undefined> {
    const { bodies, rejection } = this.translator.translate(batch.bytes, this.context.clock.monotonic());
    for (const body of bodies) await this.poster.post([body], abort, options, (answer) => this.readAnswer(answer));
    return rejection;
  }

  async stop(): Promise<void> {
    this.poster.stop();
  }

  private readAnswer({ status, headers, body }: Http1Answer): void {
    const isTaken = status >= 200 && status < 300;
    if (isTaken && (!this.isV2 || headers.has("x-prometheus-remote-write-samples-written"))) return;
    if (isTaken) throw refusalOfHttp(415, NO_V2, undefined);
    const retryAfterMs = parseRetryAfter(headers.get("retry-after"), this.context.clock.now());
    throw classify(refusalOfHttp(status, plainText(body), retryAfterMs));
  }
}

const NO_V2 =
  "it did not answer how many samples it wrote, so it does not support remote write 2.0; set protobuf_message: prometheus.WriteRequest";

/** Messages of Prometheus, Mimir and others about samples that come too late, or a second time with another value. */
const REFUSED_SAMPLES =
  /out[- ]of[- ](order|bounds)|too[- ]old|too[- ]far|duplicate (sample|timestamp)|new-value-for-timestamp/i;

/** Prometheus 2 answers 500 to an inconsistent histogram, however often it is sent. */
const BAD_HISTOGRAM = /observations found in buckets|histogram.{0,200}?(spans?|buckets?|negative)/i;

/** Late samples are well-formed; only the store no longer accepts their time. */
function classify(refusal: Refusal): Refusal {
  const { kind, message, status = "" } = refusal;
  if (kind === "permanent" && REFUSED_SAMPLES.test(message))
    return new Refusal("permanent", message, { status, category: "business" });
  if (kind === "transient" && BAD_HISTOGRAM.test(message))
    return new Refusal("permanent", message, { status, category: "schema" });
  return refusal;
}

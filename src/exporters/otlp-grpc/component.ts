import { checkByEmptyExport, decodeResponse, OTLP_SERVICES, refusalOfUnreadable } from "#net/otlp";
import { GrpcClient } from "#net/sending";
import {
  type Batch,
  defineExporter,
  type Exporter,
  type ExporterContext,
  type PartialRejection,
  type SendOptions,
  SIGNALS,
  type Signal,
} from "../../plugin.js";
import { type OtlpGrpcConfig, otlpGrpcSchema } from "./config.js";

/** Sends OTLP over gRPC. */
export const otlpGrpcExporter = defineExporter<OtlpGrpcConfig>({
  type: "otlp_grpc",
  aliases: ["otlp"],
  summary: "Sends OTLP over gRPC.",
  signals: SIGNALS,
  schema: otlpGrpcSchema,
  create: (config, context) => new OtlpGrpcExporter(config, context),
});

class OtlpGrpcExporter implements Exporter {
  private readonly client: GrpcClient;
  /** The signal of the last batch, which the backend presumably accepts. */
  private signal: Signal = "logs";

  constructor(config: OtlpGrpcConfig, context: ExporterContext) {
    this.client = new GrpcClient(config, context);
  }

  get metadataKeys(): readonly string[] {
    return this.client.metadataKeys;
  }

  start(): Promise<void> {
    return this.client.start();
  }

  async send(batch: Batch, abort: AbortSignal, options?: SendOptions): Promise<PartialRejection | undefined> {
    const { signal } = batch;
    this.signal = signal;
    return this.client.call(OTLP_SERVICES[signal].grpcPath, batch.chunks, abort, options, (response) => {
      const partial = decodeResponse(signal, "proto", response);
      if (partial === "unreadable")
        throw refusalOfUnreadable(this.client.peer, "the message is not an answer to an export");
      return partial;
    });
  }

  check(abort: AbortSignal): Promise<void> {
    return checkByEmptyExport(this.signal, (batch) => this.send(batch, abort));
  }

  async stop(): Promise<void> {
    this.client.stop();
  }
}

import { createDedup, type Dedup } from "#brokers";
import { defineBuiltInReceiver } from "#contract/built-in";
import { formatAddress, listenAddress, protectionOf } from "#net";
import { HttpEndpoint, UploadRoom } from "#receiving/requests";
import { type Receiver, type ReceiverContext, SIGNALS } from "../../plugin.js";
import { type HttpConfig, type OtlpReceiverConfig, otlpReceiverSchema } from "./config.js";
import { OTLP_FORMAT } from "./format.js";
import { GrpcEndpoint } from "./grpc-endpoint.js";

/** OTLP from any OpenTelemetry SDK or Collector, over gRPC and HTTP. */
export const otlpReceiver = defineBuiltInReceiver<OtlpReceiverConfig>({
  type: "otlp",
  summary: "Receives OTLP over gRPC and HTTP (protobuf and JSON).",
  signals: SIGNALS,
  // The keys of requests that were accepted before are in one file.
  workers: ({ dedup }) => (dedup?.enabled === true ? "one" : "each"),
  schema: otlpReceiverSchema,
  listensAt: ({ protocols }) =>
    (["grpc", "http"] as const).flatMap((protocol) => {
      const config = protocols[protocol];
      if (config === undefined) return [];
      const { endpoint, transport } = config;
      const protection = protectionOf(config);
      return [{ address: listenAddress(endpoint, transport), key: ["protocols", protocol, "endpoint"], protection }];
    }),
  handsOver: () => true,
  create: (config, context) => new OtlpReceiver(config, context),
});

/** The running receiver. `ports` tells where it listens, which matters with port 0. */
export class OtlpReceiver implements Receiver {
  private readonly grpc: GrpcEndpoint | undefined;
  private readonly http: HttpEndpoint | undefined;
  private readonly context: ReceiverContext;
  private readonly dedup: Dedup | undefined;

  constructor({ protocols, limits, dedup: settings }: OtlpReceiverConfig, context: ReceiverContext) {
    this.context = context;
    const dedup = createDedup(settings, context);
    this.dedup = dedup;
    const room = new UploadRoom(limits.max_upload_size_per_client, context.clock);
    this.grpc = protocols.grpc && new GrpcEndpoint(protocols.grpc, limits, room, context, OTLP_FORMAT, dedup);
    const { http } = protocols;
    const configPath = ["protocols", "http"];
    this.http =
      http &&
      new HttpEndpoint(
        { config: http, configPath, limits, uploadRoom: room, format: OTLP_FORMAT, paths: pathsOf(http), dedup },
        context,
      );
  }

  get ports(): { readonly grpc: number | undefined; readonly http: number | undefined } {
    return { grpc: this.grpc?.port, http: this.http?.port };
  }

  async start(): Promise<void> {
    await this.dedup?.start();
    try {
      await this.grpc?.start();
      await this.http?.start();
    } catch (error) {
      await this.stop();
      throw error;
    }
    const grpc = this.grpc && formatAddress(this.grpc.address);
    const http = this.http && formatAddress(this.http.address);
    this.context.logger.info({ grpc, http }, "listening for OTLP");
  }

  async stop(): Promise<void> {
    await Promise.all([this.grpc?.stop(), this.http?.stop()]);
    await this.dedup?.stop();
  }
}

function pathsOf(config: HttpConfig) {
  return { logs: config.logs_url_path, traces: config.traces_url_path, metrics: config.metrics_url_path };
}

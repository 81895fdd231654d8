import { defineBuiltInReceiver } from "#contract/built-in";
import { listenAddress, protectionOf } from "#net";
import { HttpEndpoint, UploadRoom } from "#receiving/requests";
import type { Receiver, ReceiverContext } from "../../plugin.js";
import { httpConfigOf, type ZipkinReceiverConfig, zipkinReceiverSchema } from "./config.js";
import { zipkinFormat } from "./format.js";

/** Spans from Zipkin tracers. */
export const zipkinReceiver = defineBuiltInReceiver<ZipkinReceiverConfig>({
  type: "zipkin",
  summary: "Receives spans of Zipkin over HTTP, as JSON of its API's versions 2 and 1, and as protobuf.",
  signals: ["traces"],
  schema: zipkinReceiverSchema,
  listensAt: (config) => [
    {
      address: listenAddress(config.endpoint, config.transport),
      key: ["endpoint"],
      protection: protectionOf({ tls: config.tls, auth: config.auth ?? undefined }),
    },
  ],
  handsOver: () => true,
  create: (config, context) => new ZipkinReceiver(config, context),
});

/** The path that tracers send to. As in the Collector, others are accepted too: some tracers and proxies omit it. */
const PATH = "/api/v2/spans";
const LIMITS = { max_connections: 10_000, max_connections_per_client: 2500 };
/** Tracers read their answer only after they have sent everything. */
const MAX_DISCARD_BYTES = 64 * 1024 * 1024;

/** The running receiver. `port` tells where it listens, which matters with port 0. */
export class ZipkinReceiver implements Receiver {
  private readonly context: ReceiverContext;
  private readonly endpoint: HttpEndpoint;

  constructor(config: ZipkinReceiverConfig, context: ReceiverContext) {
    this.context = context;
    const settings = {
      config: httpConfigOf(config),
      configPath: [],
      limits: LIMITS,
      uploadRoom: new UploadRoom(Number.POSITIVE_INFINITY, context.clock),
      format: zipkinFormat(config.parse_string_tags, context.clock),
      paths: { traces: PATH },
      anyPath: "traces" as const,
      maxDiscardBytes: MAX_DISCARD_BYTES,
    };
    this.endpoint = new HttpEndpoint(settings, context);
  }

  get port(): number {
    return this.endpoint.port;
  }

  async start(): Promise<void> {
    await this.endpoint.start();
    const { config, port } = this.endpoint;
    this.context.logger.info({ endpoint: config.endpoint, port }, "listening for Zipkin");
  }

  stop(): Promise<void> {
    return this.endpoint.stop();
  }
}

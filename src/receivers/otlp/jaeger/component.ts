import { defineBuiltInReceiver } from "#contract/built-in";
import { listenAddress, protectionOf } from "#net";
import { HttpEndpoint, UploadRoom } from "#receiving/requests";
import type { Receiver, ReceiverContext } from "../../../plugin.js";
import { GrpcEndpoint } from "../grpc-endpoint.js";
import { type JaegerReceiverConfig, jaegerReceiverSchema } from "./config.js";
import { JAEGER_FORMAT } from "./format.js";
import { UdpEndpoint, type UdpProtocol } from "./udp-endpoint.js";

const UDP_PROTOCOLS: readonly UdpProtocol[] = ["thrift_compact", "thrift_binary"];

/** Spans from Jaeger clients, over the protocols of Jaeger's collector and agent. */
export const jaegerReceiver = defineBuiltInReceiver<JaegerReceiverConfig>({
  type: "jaeger",
  summary: "Receives spans of Jaeger over gRPC, and as thrift over HTTP and UDP.",
  signals: ["traces"],
  schema: jaegerReceiverSchema,
  listensAt: ({ protocols }) => [
    ...(["grpc", "thrift_http"] as const).flatMap((protocol) => {
      const config = protocols[protocol];
      if (config === undefined) return [];
      const { endpoint, transport } = config;
      const protection = protectionOf(config);
      return [{ address: listenAddress(endpoint, transport), key: ["protocols", protocol, "endpoint"], protection }];
    }),
    ...UDP_PROTOCOLS.flatMap((protocol) => {
      const { endpoint } = protocols[protocol] ?? {};
      if (endpoint === undefined) return [];
      const key = ["protocols", protocol, "endpoint"];
      return [{ address: listenAddress(endpoint, "tcp"), transport: "udp" as const, key }];
    }),
  ],
  handsOver: () => true,
  create: (config, context) => new JaegerReceiver(config, context),
});

/** The running receiver. `ports` tells where it listens, which matters with port 0. */
export class JaegerReceiver implements Receiver {
  private readonly context: ReceiverContext;
  private readonly endpoints: Readonly<Record<string, GrpcEndpoint | HttpEndpoint | UdpEndpoint>>;

  constructor({ protocols, limits }: JaegerReceiverConfig, context: ReceiverContext) {
    this.context = context;
    const { grpc, thrift_http } = protocols;
    const room = new UploadRoom(limits.max_upload_size_per_client, context.clock);
    const shared = { limits, uploadRoom: room, format: JAEGER_FORMAT };
    const overHttp = { ...shared, configPath: ["protocols", "thrift_http"], paths: { traces: "/api/traces" } };
    const udp = UDP_PROTOCOLS.flatMap((protocol) => {
      const config = protocols[protocol];
      return config === undefined ? [] : [[protocol, new UdpEndpoint(protocol, config, context)] as const];
    });
    this.endpoints = {
      ...(grpc && { grpc: new GrpcEndpoint(grpc, limits, room, context, JAEGER_FORMAT) }),
      ...(thrift_http && { thrift_http: new HttpEndpoint({ config: thrift_http, ...overHttp }, context) }),
      ...Object.fromEntries(udp),
    };
  }

  get ports(): Readonly<Record<string, number>> {
    return Object.fromEntries(Object.entries(this.endpoints).map(([protocol, { port }]) => [protocol, port]));
  }

  async start(): Promise<void> {
    try {
      for (const endpoint of Object.values(this.endpoints)) await endpoint.start();
    } catch (error) {
      await this.stop();
      throw error;
    }
    this.context.logger.info({ ...this.ports }, "listening for Jaeger");
  }

  async stop(): Promise<void> {
    await Promise.all(Object.values(this.endpoints).map((endpoint) => endpoint.stop()));
  }
}

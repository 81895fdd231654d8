import { z } from "zod";
import { listenEndpoint } from "#net";
import { httpServerKeys, receiverLimits } from "#receiving/requests";
import { byteSize, ignored, section } from "../../../plugin.js";
import { grpcServerKeys } from "../config.js";

/** A UDP packet over IPv4 cannot carry more. */
const MAX_PACKET_SIZE = 65_507;

const udp = (defaultEndpoint: string) =>
  z.strictObject({
    endpoint: listenEndpoint()
      .default(defaultEndpoint)
      .meta({ description: "Where to listen; host:port, with 0.0.0.0 for all interfaces." }),
    queue_size: z
      .number()
      .int()
      .positive()
      .default(1000)
      .meta({ description: "How many packets may wait for the exporters' queues; more are refused and counted." }),
    max_packet_size: byteSize()
      .default(65_000)
      .transform((bytes) => Math.min(bytes || 65_000, MAX_PACKET_SIZE))
      .meta({ description: "The maximum size of a packet; larger ones are refused and counted." }),
    socket_buffer_size: byteSize()
      .default(0)
      .meta({ description: "Bytes of packets that the system keeps until they are read; 0 leaves it to the system." }),
    workers: ignored("packets are read as they come, one after the other"),
  });

const MISSING_PROTOCOL = "expected at least one protocol, such as `protocols: {grpc: , thrift_http: }`";

const protocols = z
  .strictObject({
    grpc: section(z.strictObject(grpcServerKeys("127.0.0.1:14250")))
      .optional()
      .meta({ description: "Jaeger's gRPC (api_v2); empty for the defaults." }),
    thrift_http: section(z.strictObject(httpServerKeys("127.0.0.1:14268")))
      .optional()
      .meta({ description: "Thrift over HTTP, at /api/traces; empty for the defaults." }),
    thrift_compact: section(udp("127.0.0.1:6831"))
      .optional()
      .meta({ description: "Thrift's compact protocol over UDP, as to Jaeger's agent." }),
    thrift_binary: section(udp("127.0.0.1:6832"))
      .optional()
      .meta({ description: "Thrift's binary protocol over UDP, as to Jaeger's agent." }),
    thrift_tchannel: ignored("Jaeger and the Collector have removed TChannel: use thrift_http instead"),
  })
  .refine(
    ({ grpc, thrift_http, thrift_compact, thrift_binary }) =>
      [grpc, thrift_http, thrift_compact, thrift_binary].some((protocol) => protocol !== undefined),
    MISSING_PROTOCOL,
  );

export const jaegerReceiverSchema = z.strictObject({
  protocols: z.preprocess((value) => value ?? {}, protocols).meta({ description: "The protocols; at least one." }),
  limits: section(receiverLimits)
    .prefault({})
    .meta({ description: "Limits for all clients together and for each of them." }),
  remote_sampling: ignored(
    "sampling strategies are not served, as in the Collector since 0.61: set the sampler in the clients, or let them ask Jaeger itself",
  ),
});

export type JaegerReceiverConfig = z.infer<typeof jaegerReceiverSchema>;
export type JaegerUdpConfig = NonNullable<JaegerReceiverConfig["protocols"]["thrift_compact"]>;

import { z } from "zod";
import { dedupSection } from "#brokers";
import { lazySection } from "#contract/schema";
import { httpServerKeys, listenerKeys, receiverLimits, SOCKET_BUFFERS } from "#receiving/requests";
import { duration, ignored, section } from "../../plugin.js";

const urlPath = (path: string) => z.string().startsWith("/", "expected a path such as /v1/logs").default(path);

const httpSchema = () =>
  z.strictObject({
    ...httpServerKeys("127.0.0.1:4318"),
    traces_url_path: urlPath("/v1/traces").meta({ harmless: true, description: "The path for traces." }),
    metrics_url_path: urlPath("/v1/metrics").meta({ harmless: true, description: "The path for metrics." }),
    logs_url_path: urlPath("/v1/logs").meta({ harmless: true, description: "The path for logs." }),
  });

/** Long enough for clients that send rarely; they connect again with their next call. */
export const DEFAULT_MAX_CONNECTION_IDLE_MS = 3_600_000;

const serverParameters = z.strictObject({
  max_connection_idle: duration().default(DEFAULT_MAX_CONNECTION_IDLE_MS).meta({
    description: "A connection without calls and without pings of the client is closed after this long; 0 means never.",
  }),
  max_connection_age: duration()
    .optional()
    .meta({ description: "A connection is closed after this time, so clients get redistributed." }),
  max_connection_age_grace: duration()
    .optional()
    .meta({ description: "How long running calls may take to finish then." }),
  time: duration().default(7_200_000).meta({ description: "Silence after which the client is pinged." }),
  timeout: duration().default(20_000).meta({ description: "How long the client may take to answer a ping." }),
});

/** The config keys of a gRPC server that receives records. */
export const grpcServerKeys = (defaultEndpoint: string) => ({
  ...listenerKeys(defaultEndpoint),
  max_recv_msg_size_mib: z
    .number()
    .nonnegative()
    .default(4)
    .meta({ description: "MiB a message may have after decompression; 0 means the default, 4, which is gRPC's own." }),
  max_concurrent_streams: z
    .number()
    .int()
    .nonnegative()
    .default(0)
    .meta({ description: "Calls that one connection may have open; 0 means the default, 1000." }),
  keepalive: section(
    z.strictObject({
      server_parameters: section(serverParameters)
        .optional()
        .meta({ description: "How long connections live, and when clients are pinged." }),
      enforcement_policy: ignored("clients may ping as often as they like"),
    }),
  )
    .optional()
    .meta({ description: "How connections are kept." }),
  read_buffer_size: ignored(SOCKET_BUFFERS),
  write_buffer_size: ignored(SOCKET_BUFFERS),
});

const grpcSchema = () => z.strictObject(grpcServerKeys("127.0.0.1:4317"));

const MISSING_PROTOCOL = "expected at least one protocol, such as `protocols: {grpc: , http: }`";

export const otlpReceiverSchema = z.strictObject({
  protocols: z
    .preprocess(
      (value) => value ?? {},
      z
        .strictObject({
          grpc: lazySection(grpcSchema).optional().meta({ description: "OTLP over gRPC; empty for the defaults." }),
          http: lazySection(httpSchema).optional().meta({ description: "OTLP over HTTP; empty for the defaults." }),
        })
        .refine(({ grpc, http }) => grpc !== undefined || http !== undefined, MISSING_PROTOCOL),
    )
    .meta({ description: "The protocols; at least one." }),
  limits: section(receiverLimits)
    .prefault({})
    .meta({ description: "Limits for all clients together and for each of them." }),
  dedup: dedupSection("requests"),
});

export type HttpConfig = z.infer<ReturnType<typeof httpSchema>>;
export type GrpcConfig = z.infer<ReturnType<typeof grpcSchema>>;
export type OtlpReceiverConfig = z.infer<typeof otlpReceiverSchema>;

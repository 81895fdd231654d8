import { z } from "zod";
import { caseInsensitiveEnum, duration, ignored, section, unsupported } from "../../plugin.js";
import { compression, httpHeaders, httpUrl, NO_CLIENT_AUTH, tlsClient } from "../../runtime/kit.js";

export const otlpHttpSchema = z
  .strictObject({
    endpoint: httpUrl()
      .optional()
      .meta({ description: "Base URL; /v1/logs, /v1/traces or /v1/metrics is added to it." }),
    logs_endpoint: httpUrl().optional().meta({ description: "Whole URL for logs; nothing is added to it." }),
    traces_endpoint: httpUrl().optional(),
    metrics_endpoint: httpUrl().optional(),
    profiles_endpoint: ignored("there are no profiles pipelines"),
    headers: httpHeaders().nullish(),
    compression: compression(),
    compression_params: section(z.strictObject({ level: z.number().int().min(-1).max(9).default(1) })).optional(),
    encoding: caseInsensitiveEnum(["proto", "json"]).default("proto"),
    tls: section(tlsClient()).optional(),
    max_conns_per_host: z
      .number()
      .int()
      .nonnegative()
      .default(0)
      .meta({ description: "Connections that may be open; 0 means the default, 100." }),
    max_idle_conns: z.number().int().nonnegative().default(100),
    max_idle_conns_per_host: z.number().int().nonnegative().optional(),
    idle_conn_timeout: duration().default(90_000),
    disable_keep_alives: z.boolean().default(false),
    auth: unsupported(NO_CLIENT_AUTH),
    proxy_url: unsupported("proxies are not supported; send to the endpoint directly"),
    middlewares: unsupported("middlewares are extensions of the Collector that do not exist here"),
    cookies: ignored("cookies are not kept"),
    read_buffer_size: ignored("Node.js sizes its own socket buffers"),
    write_buffer_size: ignored("Node.js sizes its own socket buffers"),
    http2_read_idle_timeout: ignored("OTLP over HTTP is sent over HTTP/1.1"),
    http2_ping_timeout: ignored("OTLP over HTTP is sent over HTTP/1.1"),
    force_attempt_http2: ignored("OTLP over HTTP is sent over HTTP/1.1"),
  })
  .refine(
    (config) => config.endpoint ?? config.logs_endpoint ?? config.traces_endpoint ?? config.metrics_endpoint,
    "expected an endpoint such as `endpoint: http://localhost:4318`",
  );

export type OtlpHttpConfig = z.infer<typeof otlpHttpSchema>;

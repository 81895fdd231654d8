import { z } from "zod";
import { caseInsensitiveEnum, duration, ignored, section, unsupported } from "../../plugin.js";
import { authReference, COMPRESSIONS, httpHeaders, httpUrl, tlsClient, wordOrNone } from "../../runtime/kit.js";

export const otlpHttpSchema = z
  .strictObject({
    endpoint: httpUrl()
      .optional()
      .meta({ description: "Base URL; /v1/logs, /v1/traces or /v1/metrics is added to it." }),
    logs_endpoint: httpUrl().optional().meta({ description: "Whole URL for logs; nothing is added to it." }),
    traces_endpoint: httpUrl().optional().meta({ description: "Whole URL for traces; nothing is added to it." }),
    metrics_endpoint: httpUrl().optional().meta({ description: "Whole URL for metrics; nothing is added to it." }),
    profiles_endpoint: ignored("there are no profiles pipelines"),
    headers: httpHeaders().nullish().meta({ description: "Headers that every request gets, such as credentials." }),
    compression: wordOrNone(caseInsensitiveEnum(["none", ...COMPRESSIONS]))
      .default("gzip")
      .meta({ description: "How bodies are sent." }),
    compression_params: section(
      z.strictObject({
        level: z
          .number()
          .int()
          .default(1)
          .meta({ description: "-1 to 9 for gzip, zlib and deflate; 1 to 22 for zstd; the others have none." }),
      }),
    )
      .optional()
      .meta({ description: "How well they are compressed." }),
    encoding: caseInsensitiveEnum(["proto", "json"]).default("proto").meta({ description: "Protobuf or JSON." }),
    tls: section(tlsClient()).optional().meta({ description: "Certificates and versions of TLS, for https." }),
    max_conns_per_host: z
      .number()
      .int()
      .nonnegative()
      .default(0)
      .meta({ description: "Connections that may be open; 0 means the default, 100." }),
    max_idle_conns: z
      .number()
      .int()
      .nonnegative()
      .default(100)
      .meta({ description: "Connections that are kept open for later; 0 means no limit." }),
    max_idle_conns_per_host: z.number().int().nonnegative().optional().meta({ description: "The same, for one host." }),
    idle_conn_timeout: duration().default(90_000).meta({ description: "How long an unused connection is kept." }),
    disable_keep_alives: z.boolean().default(false).meta({ description: "Open a connection for every request." }),
    auth: authReference("client").nullish().meta({ description: "Who we are to the server." }),
    proxy_url: z
      .preprocess((url) => (url === "" ? undefined : url), httpUrl().optional())
      .meta({ description: "An HTTP proxy to send through, in place of that of HTTP_PROXY or HTTPS_PROXY." }),
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
  )
  .superRefine(({ compression, compression_params: params }, context) => {
    const problem = params && problemOfLevel(compression, params.level);
    if (problem) context.addIssue({ code: "custom", path: ["compression_params", "level"], message: problem });
  });

export type OtlpHttpConfig = z.infer<typeof otlpHttpSchema>;

function problemOfLevel(compression: string, level: number): string | undefined {
  if (/^(gzip|zlib|deflate)$/.test(compression)) return level >= -1 && level <= 9 ? undefined : "expected -1 to 9";
  if (compression === "zstd") return level >= 1 && level <= 22 ? undefined : "expected 1 to 22";
  return level === 0 || level === 1 ? undefined : `expected no level: ${compression} has none`;
}

import { z } from "zod";
import { authReference } from "#contract/schema";
import { httpHeaders, listenEndpoint, tlsServer } from "#net";
import { type HttpServerConfig, SOCKET_BUFFERS } from "#receiving/requests";
import { byteSize, duration, ignored, section, unsupported } from "../../plugin.js";

export const zipkinReceiverSchema = z.strictObject({
  endpoint: listenEndpoint()
    .default("127.0.0.1:9411")
    .meta({ description: "Where to listen; host:port, with 0.0.0.0 for all interfaces." }),
  transport: z
    .enum(["tcp", "tcp4", "tcp6", "unix"])
    .default("tcp")
    .meta({ description: "The transport of the endpoint; with unix the endpoint is the path of a socket." }),
  parse_string_tags: z
    .boolean()
    .default(false)
    .meta({ description: "Convert tags that look like numbers or booleans." }),
  tls: section(tlsServer()).optional().meta({ description: "Encrypts connections; without it they are plain text." }),
  auth: authReference("server")
    .nullish()
    .meta({ description: "The extension that authenticates clients; without it, everyone may send." }),
  max_request_body_size: byteSize()
    .default(20 * 1024 * 1024)
    .transform((bytes) => bytes || 20 * 1024 * 1024)
    .meta({ description: "Bytes a request may have after decompression; 0 means the default." }),
  response_headers: httpHeaders().nullish().meta({ description: "Headers of every answer." }),
  read_timeout: duration().default(60_000).meta({ description: "How long a client may take to send a whole request." }),
  read_header_timeout: duration()
    .default(60_000)
    .meta({ description: "How long it may take to send the head of one." }),
  write_timeout: duration().default(30_000).meta({ description: "How long a client may take to read its answer." }),
  idle_timeout: duration().default(60_000).meta({ description: "How long an idle connection is kept." }),
  keep_alives_enabled: z.boolean().default(true).meta({ description: "Keep connections open for the next request." }),
  compression_algorithms: ignored("all supported encodings are accepted"),
  include_metadata: ignored("headers of Zipkin's clients are not kept"),
  cors: unsupported("let browsers send OTLP to the receiver otlp, which has cors"),
  read_buffer_size: ignored(SOCKET_BUFFERS),
  write_buffer_size: ignored(SOCKET_BUFFERS),
  middlewares: unsupported("middlewares are extensions of the Collector that do not exist here"),
});

export type ZipkinReceiverConfig = z.infer<typeof zipkinReceiverSchema>;

/** The config of the HTTP server: without keys that this receiver does not have. */
export function httpConfigOf({ auth, response_headers, ...config }: ZipkinReceiverConfig): HttpServerConfig {
  return {
    ...config,
    auth: auth ?? undefined,
    response_headers: response_headers ?? undefined,
    include_metadata: false,
    compression_algorithms: undefined,
    cors: undefined,
  };
}

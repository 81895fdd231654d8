import { z } from "zod";
import { authReference, byteSize, duration, ignored, lazySection, unsupported } from "#contract/schema";
import { httpHeaders, listenEndpoint, tlsServer } from "#net";

/** Why sizes of buffers are ignored. */
export const SOCKET_BUFFERS = "Node.js sizes its own socket buffers";

const common = {
  transport: z
    .enum(["tcp", "tcp4", "tcp6", "unix"])
    .default("tcp")
    .meta({ description: "The transport of the endpoint; with unix the endpoint is the path of a socket." }),
  include_metadata: z
    .boolean()
    .default(false)
    .meta({ description: "Keep the client's headers and address with the data, for components that use them." }),
  tls: lazySection(tlsServer).optional().meta({ description: "Encrypts connections; without it they are plain text." }),
  auth: authReference("server")
    .optional()
    .meta({ description: "The extension that authenticates clients; without it, everyone may send." }),
  middlewares: unsupported("middlewares are extensions of the Collector that do not exist here"),
};

/** The keys of every server that receives records. */
export const listenerKeys = (defaultEndpoint: string) => ({
  ...common,
  endpoint: listenEndpoint()
    .default(defaultEndpoint)
    .meta({ description: "Where to listen; host:port, with 0.0.0.0 for all interfaces." }),
});

/** Empty and missing lists allow no origin. */
const cors = () =>
  z.strictObject({
    allowed_origins: z
      .array(z.string())
      .nullish()
      .meta({ description: "Origins of browsers that may send; * stands for any characters." }),
    allowed_headers: z
      .array(z.string())
      .nullish()
      .meta({ description: "Headers that browsers may send in addition to the standard ones." }),
    exposed_headers: z
      .array(z.string())
      .nullish()
      .meta({ description: "Headers of answers that browsers may show to their pages." }),
    max_age: z.number().int().nonnegative().default(0).meta({ description: "Seconds." }),
  });

/** The config keys of an HTTP server that receives records. */
export const httpServerKeys = (defaultEndpoint: string) => ({
  ...listenerKeys(defaultEndpoint),
  cors: lazySection(cors).optional().meta({ description: "Lets pages of other origins send from browsers." }),
  max_request_body_size: byteSize()
    .default(20 * 1024 * 1024)
    .meta({
      description:
        "Bytes of a request after decompression; 0 means the default. Limits its records and values too: a million, or one for 16 bytes.",
    }),
  compression_algorithms: z.array(z.string()).optional().meta({
    description:
      'Content-Encodings to accept; "" means no encoding. Default: gzip, zlib, deflate, snappy, x-snappy-framed, lz4, and zstd with Node.js 22.15 or newer.',
  }),
  response_headers: httpHeaders()
    .superRefine(rejectFramingHeaders)
    .optional()
    .meta({ description: "Headers of every answer." }),
  read_timeout: duration()
    .default(60_000)
    .meta({ description: "How long a client may take to send a whole request; 0 means no limit." }),
  read_header_timeout: duration()
    .default(60_000)
    .meta({ description: "How long a client may take to send the head of a request." }),
  write_timeout: duration().default(30_000).meta({ description: "How long a client may take to read its answer." }),
  idle_timeout: duration().default(60_000).meta({ description: "How long an idle connection is kept." }),
  keep_alives_enabled: z.boolean().default(true).meta({ description: "Keep connections open for the next request." }),
  read_buffer_size: ignored(SOCKET_BUFFERS),
  write_buffer_size: ignored(SOCKET_BUFFERS),
});

export const receiverLimits = z.strictObject({
  max_connections: z.number().int().positive().default(10_000).meta({
    description:
      "Connections that each port keeps open; more are closed at once. A quarter of the open files is always kept free.",
  }),
  max_connections_per_client: z
    .number()
    .int()
    .positive()
    .default(2500)
    .meta({ description: "The same for the connections of one address to a port." }),
  max_upload_size_per_client: byteSize()
    .default(32 * 1024 * 1024)
    .meta({
      description:
        "The bytes of unfinished requests held per client, identified by its name if authenticated, otherwise by its address. Above this limit, its slowest requests are refused.",
    }),
});

/** The parsed keys of `httpServerKeys`. */
export type HttpServerConfig = z.infer<z.ZodObject<ReturnType<typeof httpServerKeys>>>;
export type ReceiverLimits = z.infer<typeof receiverLimits>;

/**
 * Rejects configured framing headers: with two different lengths, a client would take part of one response for the
 * next.
 */
function rejectFramingHeaders(configured: Readonly<Record<string, string>>, context: z.RefinementCtx): void {
  for (const name of Object.keys(configured)) {
    if (/^(content-length|transfer-encoding)$/i.test(name))
      context.addIssue({ code: "custom", path: [name], message: "expected no header that says where an answer ends" });
  }
}

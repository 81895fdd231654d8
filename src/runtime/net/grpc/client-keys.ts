import { z } from "zod";
import { authReference, caseInsensitiveEnum, duration, ignored, lazySection, unsupported } from "#contract/schema";
import { grpcTarget } from "../endpoint.js";
import { httpHeaders } from "../http-client-keys.js";
import { availableCompression, wordOrNone } from "../otlp/sending.js";
import { tlsClient } from "../tls-config.js";

const keepalive = () =>
  z.strictObject({
    time: duration().default(10_000).meta({ description: "Idle time after which the server is pinged." }),
    timeout: duration().default(20_000).meta({ description: "How long the server may take to answer a ping." }),
    permit_without_stream: z.boolean().default(false).meta({ description: "Ping also while nothing is being sent." }),
  });

export type ClientKeepalive = z.infer<ReturnType<typeof keepalive>>;

const ONE_CONNECTION = "there is one connection to one address";

/** Config keys of every gRPC exporter. */
export function grpcClientKeys() {
  return {
    endpoint: grpcTarget().meta({ description: "host:port; http:// in front means without TLS, https:// with." }),
    headers: httpHeaders()
      .superRefine(refuseReserved)
      .nullish()
      .meta({ description: "Metadata that every call gets, such as credentials." }),
    compression: availableCompression(wordOrNone(caseInsensitiveEnum(["none", "gzip", "snappy", "zstd"])))
      .default("gzip")
      .meta({
        description: "Compression of messages; snappy means its framing format, as in the Collector.",
      }),
    tls: lazySection(tlsClient).optional().meta({ description: "TLS settings; insecure: true means no TLS." }),
    keepalive: lazySection(keepalive).optional().meta({ description: "Pings that detect a dead connection." }),
    authority: z.string().optional().meta({ description: "The :authority to send instead of the endpoint." }),
    auth: authReference("client").nullish().meta({ description: "Authentication to the server." }),
    middlewares: unsupported("middlewares are extensions of the Collector that do not exist here"),
    balancer_name: ignored(ONE_CONNECTION),
    wait_for_ready: ignored("a send waits for the connection until its timeout in any case"),
    read_buffer_size: ignored("Node.js sizes its own socket buffers"),
    write_buffer_size: ignored("Node.js sizes its own socket buffers"),
    user_agent: z.string().optional().meta({ description: "The user agent of calls." }),
  };
}

export type GrpcClientConfig = z.infer<z.ZodObject<ReturnType<typeof grpcClientKeys>>>;

/** Headers that HTTP/2 or gRPC sets itself; Node.js would fail every call that sets them again. */
const RESERVED =
  /^(connection|keep-alive|proxy-connection|transfer-encoding|upgrade|http2-settings|te|content-type|content-length|grpc-.*)$/i;

function refuseReserved(configured: Readonly<Record<string, string>>, context: z.RefinementCtx): void {
  for (const name of Object.keys(configured)) {
    if (RESERVED.test(name))
      context.addIssue({ code: "custom", path: [name], message: "expected no header that gRPC sets itself" });
  }
}

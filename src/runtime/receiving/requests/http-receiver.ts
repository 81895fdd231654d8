import type { Receiver, ReceiverContext } from "#contract";
import type { Listener } from "#contract/built-in";
import { listenAddress, protectionOf } from "#net";
import { HttpEndpoint, type HttpEndpointSettings } from "./http-endpoint.js";
import type { HttpServerConfig } from "./server-keys.js";
import { UploadRoom } from "./upload.js";

interface HttpReceiverSettings extends Pick<HttpEndpointSettings, "config" | "format" | "paths" | "anyPath"> {
  /** Names what it listens for in the log. */
  readonly of: string;
}

const LIMITS = { max_connections: 10_000, max_connections_per_client: 2500 };
const MAX_CLIENT_UPLOAD_BYTES = 32 * 1024 * 1024;

/** A receiver that is one HTTP server of one format. `port` tells where it listens, which matters with port 0. */
export class HttpReceiver implements Receiver {
  private readonly context: ReceiverContext;
  private readonly endpoint: HttpEndpoint;
  private readonly of: string;

  constructor({ of, ...settings }: HttpReceiverSettings, context: ReceiverContext) {
    this.context = context;
    this.of = of;
    const uploadRoom = new UploadRoom(MAX_CLIENT_UPLOAD_BYTES, context.clock);
    this.endpoint = new HttpEndpoint({ ...settings, configPath: [], limits: LIMITS, uploadRoom }, context);
  }

  get port(): number {
    return this.endpoint.port;
  }

  async start(): Promise<void> {
    await this.endpoint.start();
    const { config, port } = this.endpoint;
    this.context.logger.info({ endpoint: config.endpoint, port }, `listening for ${this.of}`);
  }

  stop(): Promise<void> {
    return this.endpoint.stop();
  }
}

/** The place where such a receiver listens. */
export function listensAtEndpoint(
  config: Pick<HttpServerConfig, "endpoint" | "transport" | "tls" | "auth">,
): Listener[] {
  const { endpoint, transport, tls, auth } = config;
  return [{ address: listenAddress(endpoint, transport), key: ["endpoint"], protection: protectionOf({ tls, auth }) }];
}

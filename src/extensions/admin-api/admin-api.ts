import type { Server as TlsServer } from "node:tls";
import { z } from "zod";
import { defineExtension, type Extension, type ExtensionContext, section } from "../../plugin.js";
import {
  formatAddress,
  type HostPort,
  hostPort,
  isLoopbackHost,
  loadServerTls,
  parseHostPort,
  reloadServerTls,
  startUnlessPortTaken,
  tlsServer,
} from "../../runtime/kit.js";
import { type AdminServer, startAdminServer } from "./server.js";

const DEFAULT_ENDPOINT = "127.0.0.1:55679";

const schema = z.strictObject({
  endpoint: hostPort(DEFAULT_ENDPOINT)
    .optional()
    .meta({ description: `Default ${DEFAULT_ENDPOINT}; left out, a taken port is only a warning.` }),
  allowed_hosts: z
    .array(z.string())
    .default([])
    .meta({ description: "Host names under which it may be asked, besides localhost, its own and IP addresses." }),
  tls: section(tlsServer()).optional().meta({ description: "Answer over https." }),
});

type AdminApiConfig = z.infer<typeof schema>;

/** Serves what operators see and do as JSON over HTTP; see docs/openapi.yaml. */
export const adminApi = defineExtension<AdminApiConfig>({
  type: "admin",
  onByDefault: true,
  summary: "An HTTP API to look at exporters and dead letters, and to replay them.",
  schema,
  listensAt: (config) => [{ address: endpointOf(config), key: ["endpoint"] }],
  create: (config, context) => new AdminApi(config, context),
});

class AdminApi implements Extension {
  private readonly config: AdminApiConfig;
  private readonly context: ExtensionContext;
  private server: AdminServer | undefined;

  constructor(config: AdminApiConfig, context: ExtensionContext) {
    this.config = config;
    this.context = context;
  }

  async start(): Promise<void> {
    const { logger, clock, host } = this.context;
    const endpoint = endpointOf(this.config);
    const { tls: tlsConfig, allowed_hosts: allowedHosts } = this.config;
    const tls = tlsConfig && (await loadServerTls(tlsConfig, ["tls"]));
    const renewTls = (server: TlsServer) => reloadServerTls(server, tlsConfig!, clock, logger);
    const settings = { endpoint, allowedHosts, logger, clock, host, ...(tls && { tls, renewTls }) };
    const start = () => startAdminServer(settings);
    this.server = await (this.config.endpoint === undefined
      ? startUnlessPortTaken(start, "admin API", logger)
      : start());
    if (this.server === undefined) return;
    const address = formatAddress(this.server.endpoint);
    logger.info({ endpoint: address }, "admin API is listening");
    if (!isLoopbackHost(endpoint.host)) {
      logger.warn({ endpoint: address }, "everyone who reaches the admin API can read and delete telemetry");
    }
  }

  async stop(): Promise<void> {
    await this.server?.close();
    this.server = undefined;
  }
}

function endpointOf({ endpoint = DEFAULT_ENDPOINT }: AdminApiConfig): HostPort {
  return parseHostPort(endpoint)!;
}

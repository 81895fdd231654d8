import { type BuiltInExtensionContext, defineBuiltInExtension } from "#contract/built-in";
import {
  formatAddress,
  type HostPort,
  isLoopbackHost,
  type ListeningServer,
  listenAddress,
  protectionOf,
  startSimpleHttpServer,
} from "#net";
import { rejectUnauthenticated, serverAuthenticator } from "#net/auth";
import { type Extension, StartError } from "../../../plugin.js";
import { DEFAULT_ENDPOINT } from "../config.js";
import { type ZpagesConfig, zpagesSchema } from "./config.js";
import { pageAt } from "./pages.js";
import { adminAddress, sharePages } from "./shared-address.js";

/** Shows pipelines, extensions and numbers of records as plain pages, at the Collector's paths. */
export const zpages = defineBuiltInExtension<ZpagesConfig>({
  type: "zpages",
  summary: "Shows pipelines, extensions and numbers of records as plain pages under /debug.",
  runsIn: "parent",
  schema: zpagesSchema,
  // The admin API shares its port.
  listensAt: (config) =>
    isAdminPort(addressOf(config))
      ? []
      : [{ address: addressOf(config), key: ["endpoint"], protection: protectionOf(config) }],
  create: (config, context) => new Zpages(config, context),
});

type PageAddress = ReturnType<typeof listenAddress>;

class Zpages implements Extension {
  private readonly config: ZpagesConfig;
  private readonly context: BuiltInExtensionContext;
  private server: ListeningServer | undefined;
  private isShared = false;

  constructor(config: ZpagesConfig, context: BuiltInExtensionContext) {
    this.config = config;
    this.context = context;
  }

  async start(): Promise<void> {
    const { logger } = this.context;
    const address = addressOf(this.config);
    const admin = adminAddress(this.context.host);
    if (admin !== undefined && "port" in address && admin.port === address.port && address.port !== 0)
      return this.share(address, admin);
    this.server = await this.listen(address);
    logger.info({ endpoint: formatAddress(this.server.address) }, "zpages is listening");
  }

  async stop(): Promise<void> {
    if (this.isShared) sharePages(this.context.host, undefined);
    await this.server?.close();
    this.server = undefined;
  }

  /** The port is the admin API's, which serves the pages to clients on this machine. */
  private share(address: HostPort, admin: HostPort): void {
    const { tls, auth } = this.config;
    if (tls !== undefined || auth !== undefined)
      throw new StartError(
        `the admin API has the port ${admin.port}: give zpages another one, so that its tls and auth apply`,
        ["endpoint"],
      );
    const { host, logger, clock } = this.context;
    sharePages(host, (path) => pageAt(path, host, clock.now()));
    this.isShared = true;
    logger.info({ endpoint: formatAddress(admin) }, "zpages are served by the admin API, at /debug");
    if (!isLoopbackHost(address.host))
      logger.warn(
        { endpoint: formatAddress(address) },
        "zpages share the port of the admin API, so only this machine can reach them: to change that, give zpages another port",
      );
  }

  private listen(address: PageAddress): Promise<ListeningServer> {
    const { tls, auth } = this.config;
    const { clock, logger, sockets, host } = this.context;
    return startSimpleHttpServer({
      address,
      configPath: ["endpoint"],
      tls,
      clock,
      logger,
      sockets,
      answer: async (path: string) => {
        await host.refresh?.();
        return pageAt(path, host, clock.now()) ?? { status: 404, type: "text/plain", body: "not found\n" };
      },
      refuse: auth && rejectUnauthenticated(serverAuthenticator(auth, this.context)),
    });
  }
}

function addressOf({ endpoint, transport }: ZpagesConfig): PageAddress {
  return listenAddress(endpoint, transport);
}

function isAdminPort(address: PageAddress): boolean {
  return "port" in address && DEFAULT_ENDPOINT.endsWith(`:${address.port}`);
}

import { type BuiltInExtensionContext, defineBuiltInExtension } from "#contract/built-in";
import {
  formatAddress,
  type HostPort,
  isLoopbackHost,
  type ListeningServer,
  parseHostPort,
  startUnlessPortTaken,
} from "#net";
import { type Extension, StartError } from "../../plugin.js";
import { AdminAccess } from "./access.js";
import { OtherAgents } from "./agents/other-agents.js";
import { type AdminApiConfig, adminApiSchema, DEFAULT_ENDPOINT, DEFAULT_TOKEN_FILE } from "./config.js";
import { type TokenFile, tokenFileOf } from "./token-file.js";
import { claimAddress } from "./zpages/shared-address.js";

/** Serves the operators' view of the agent, and their actions, as JSON over HTTP; see docs/openapi.yaml. */
export const adminApi = defineBuiltInExtension<AdminApiConfig>({
  type: "admin",
  onByDefault: true,
  summary: "An HTTP API to look at exporters and dead letters, and to replay them.",
  runsIn: "parent",
  schema: adminApiSchema,
  listensAt: (config) => [
    { address: endpointOf(config), key: ["endpoint"], protection: { tls: config.tls !== undefined, auth: true } },
  ],
  create: (config, context) => new AdminApi(config, context),
});

class AdminApi implements Extension {
  private readonly config: AdminApiConfig;
  private readonly context: BuiltInExtensionContext;
  private server: ListeningServer | undefined;
  private readonly access: AdminAccess;
  private readonly tokenFile: TokenFile | undefined;
  private hasTokenFile = false;

  constructor(config: AdminApiConfig, context: BuiltInExtensionContext) {
    this.config = config;
    this.context = context;
    this.access = new AdminAccess(config, context);
    claimAddress(context.host, endpointOf(config));
    const { tokens, auth, token_file: file } = config;
    const isByFile = file !== undefined || (tokens === undefined && auth === undefined);
    this.tokenFile = isByFile ? tokenFileOf(context.host, file ?? DEFAULT_TOKEN_FILE) : undefined;
  }

  async start(): Promise<void> {
    const { logger, clock, host } = this.context;
    const address = endpointOf(this.config);
    const { access } = this;
    const tokenFile = () => this.tokenFile?.path;
    const { tls, allowed_hosts: allowedHosts, trace_url: traceUrl } = this.config;
    const { sockets } = this.context;
    // Loaded here, because the routes and their schemas would slow down every command that only reads a config.
    const { startAdminServer } = await import("./server.js");
    const agents = await OtherAgents.load(this.config.agents, clock);
    const settings = { address, tls, allowedHosts, logger, clock, host, access, tokenFile, traceUrl, sockets, agents };
    const start = () => startAdminServer(settings);
    this.server = await (this.config.endpoint === undefined
      ? startUnlessPortTaken(start, "admin API", logger)
      : start());
    if (this.server === undefined) return;
    const endpoint = formatAddress(this.server.address);
    const console = `${tls === undefined ? "http" : "https"}://${endpoint}/`;
    await this.writeTokenFile();
    const file = tokenFile();
    logger.info({ console, ...(file && { tokenFile: file }), endpoint }, "admin API is listening");
    if (!isLoopbackHost(address.host) && tls === undefined) {
      logger.warn({ endpoint }, "the admin API receives tokens from other machines in plain text: configure tls");
    }
    this.warnOfPlainTokens();
  }

  private warnOfPlainTokens(): void {
    for (const { name, url, token, token_file: file } of this.config.agents) {
      if ((token ?? file) === undefined || url.protocol === "https:" || isLoopbackHost(url.hostname)) continue;
      this.context.logger.warn({ agent: name }, "the token of this agent is sent in plain text: use https");
    }
  }

  /** Call this only once the server listens: without a server there is nothing to ask with the token. */
  private async writeTokenFile(): Promise<void> {
    const { tokenFile } = this;
    if (tokenFile === undefined) return;
    try {
      await tokenFile.write();
      this.hasTokenFile = true;
      this.access.addOwner(tokenFile.token);
      this.tellOfOtherName(tokenFile);
    } catch (error) {
      const why = (error as NodeJS.ErrnoException).code ?? (error as Error).message;
      const message = `the token of the admin API cannot be written to ${tokenFile.wanted} (${why})`;
      if (this.config.token_file !== undefined) {
        await this.server?.close();
        throw new StartError(message, ["token_file"], { cause: error });
      }
      this.context.logger.warn({ file: tokenFile.wanted }, `${message}: the API cannot be used; see admin.token_file`);
    }
  }

  private tellOfOtherName({ wanted, path }: TokenFile): void {
    if (path === wanted) return;
    const message = `another agent uses ${wanted}: the token of this agent is in ${path}`;
    this.context.logger.warn({ tokenFile: path }, message);
  }

  /** The file goes first: an agent that takes over the address finds its name free. */
  async stop(): Promise<void> {
    const { server } = this;
    if (server === undefined) return;
    this.server = undefined;
    if (this.hasTokenFile) await this.tokenFile?.remove();
    await server.close();
  }
}

function endpointOf({ endpoint = DEFAULT_ENDPOINT }: AdminApiConfig): HostPort {
  return parseHostPort(endpoint)!;
}

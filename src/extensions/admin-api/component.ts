import { randomBytes } from "node:crypto";
import { readFile, rename, rm, writeFile } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import {
  formatAddress,
  type HostPort,
  isLoopbackHost,
  type ListeningServer,
  parseHostPort,
  startUnlessPortTaken,
} from "#net";
import { createAdminToken } from "#net/auth";
import { makePrivateDirectory } from "#system";
import { defineExtension, type Extension, type ExtensionContext, StartError } from "../../plugin.js";
import { AdminAccess } from "./access.js";
import { OtherAgents } from "./agents/other-agents.js";
import { type AdminApiConfig, adminApiSchema, DEFAULT_ENDPOINT, DEFAULT_TOKEN_FILE } from "./config.js";
import { claimAddress } from "./zpages/shared-address.js";

/** Serves the operators' view of the agent, and their actions, as JSON over HTTP; see docs/openapi.yaml. */
export const adminApi = defineExtension<AdminApiConfig>({
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
  private readonly context: ExtensionContext;
  private server: ListeningServer | undefined;
  private readonly access: AdminAccess;
  private readonly tokenFile: TokenFile | undefined;

  constructor(config: AdminApiConfig, context: ExtensionContext) {
    this.config = config;
    this.context = context;
    this.access = new AdminAccess(config, context);
    claimAddress(context.host, endpointOf(config));
    const { tokens, auth, token_file: file } = config;
    const isByFile = file !== undefined || (tokens === undefined && auth === undefined);
    this.tokenFile = isByFile ? new TokenFile(file ?? DEFAULT_TOKEN_FILE) : undefined;
  }

  async start(): Promise<void> {
    const { logger, clock, host } = this.context;
    const address = endpointOf(this.config);
    const { access } = this;
    const tokenFile = this.tokenFile?.path;
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
    logger.info({ console, ...(tokenFile && { tokenFile }), endpoint }, "admin API is listening");
    if (!isLoopbackHost(address.host) && tls === undefined) {
      logger.warn({ endpoint }, "the admin API receives tokens from other machines in plain text: configure tls");
    }
    this.warnOfPlainTokens();
    await this.writeTokenFile();
  }

  private warnOfPlainTokens(): void {
    for (const { name, url, token, token_file: file } of this.config.agents) {
      if ((token ?? file) === undefined || url.protocol === "https:" || isLoopbackHost(url.hostname)) continue;
      this.context.logger.warn({ agent: name }, "the token of this agent is sent in plain text: use https");
    }
  }

  /** Call this only once the server listens: if another agent has the port, the file belongs to that agent. */
  private async writeTokenFile(): Promise<void> {
    const { tokenFile } = this;
    if (tokenFile === undefined) return;
    try {
      await tokenFile.write();
      this.access.addOwner(tokenFile.token);
    } catch (error) {
      const why = (error as NodeJS.ErrnoException).code ?? (error as Error).message;
      const message = `the token of the admin API cannot be written to ${tokenFile.path} (${why})`;
      if (this.config.token_file !== undefined) {
        await this.server?.close();
        throw new StartError(message, ["token_file"], { cause: error });
      }
      this.context.logger.warn({ file: tokenFile.path }, `${message}: the API cannot be used; see admin.token_file`);
    }
  }

  async stop(): Promise<void> {
    if (this.server === undefined) return;
    await this.server.close();
    this.server = undefined;
    await this.tokenFile?.remove();
  }
}

function endpointOf({ endpoint = DEFAULT_ENDPOINT }: AdminApiConfig): HostPort {
  return parseHostPort(endpoint)!;
}

const OWNER_ONLY = 0o600;

/**
 * A token that is created at every start, in a file that only its owner can read. The user who runs the agent may do
 * everything with it, and other users of the machine nothing.
 */
export class TokenFile {
  readonly path: string;
  readonly token = createAdminToken();

  constructor(path: string) {
    this.path = resolve(path);
  }

  /**
   * Replaces whatever exists at the path with a new file, so nothing is written through a link that another user has
   * made.
   */
  async write(): Promise<void> {
    await makePrivateDirectory(dirname(this.path));
    const part = `${this.path}.${randomBytes(6).toString("hex")}.part`;
    await writeFile(part, `${this.token}\n`, { flag: "wx", mode: OWNER_ONLY });
    await rename(part, this.path).catch(async (error: unknown) => {
      await rm(part, { force: true });
      throw error;
    });
  }

  /** Removes the file, unless another agent has written its own token there. */
  async remove(): Promise<void> {
    const text = await readFile(this.path, "utf8").catch(() => "");
    if (text.trim() === this.token) await rm(this.path, { force: true }).catch(() => {});
  }
}
